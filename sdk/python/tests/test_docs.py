"""Runs the examples of the README and of docs/python.md, each document in one namespace."""

from __future__ import annotations

import contextlib
import gc
import io
import re
from pathlib import Path

import pytest

from conftest import setting

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / "sdk" / "python" / "README.md", ROOT / "docs" / "python.md"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.stem)
def test_examples(path: Path, user: str) -> None:
    setting("OXBOW_URL")
    text = path.read_text(encoding="utf-8").replace('"ada"', repr(user))
    blocks = re.findall(r"(<!-- not run: .*? -->\n)?```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 3
    scope: dict[str, object] = {"__name__": "__main__"}
    for skipped, code in blocks:
        if skipped:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(path), "exec"), scope)  # noqa: S102
        expected = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)
        for line in expected:
            assert line.replace(repr(user), '"ada"') in printed.getvalue(), f"{code}\nprinted:\n{printed.getvalue()}"
    scope.clear()
    gc.collect()  # the examples leave it to Python to close what they open
