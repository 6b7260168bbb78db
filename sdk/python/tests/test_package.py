"""Builds the package as users install it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import oxbow

ROOT = Path(__file__).parents[1]


def test_the_wheel_has_everything(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    wheel = tmp_path / f"oxbow_memory-{oxbow.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(archive.read(n).decode() for n in names if n.endswith("/METADATA"))
    modules = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src").rglob("*") if p.suffix in (".py", ".typed")}
    assert modules <= names
    assert all(n.startswith(("oxbow/", "oxbow_memory-")) for n in names)
    assert "Name: oxbow-memory\n" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    # Without the extras, nothing but the client is needed.
    code = f"import sys; sys.path.insert(0, {str(wheel)!r}); import oxbow, oxbow.mem0; print(oxbow.__file__)"
    code += (
        "; assert not {'psycopg', 'langgraph', 'langchain_core', 'agents', 'llama_index', 'mem0'} & set(sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-I", "-c", code], check=True, capture_output=True, text=True)
    assert str(wheel) in shown.stdout
