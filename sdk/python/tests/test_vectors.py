"""Runs sdk/vectors, which sdk/README.md describes, with the sync and the async client."""

from __future__ import annotations

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import oxbow
from conftest import person_key, setting
from generate import NAMES

FILES = sorted((Path(__file__).parents[2] / "vectors").glob("*.json"))
CASES = [
    pytest.param(case, id=f"{file.stem}: {case['name']}")
    for file in FILES
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]
]


class Run:
    """A run of a case."""

    def __init__(self, asynchronous: bool) -> None:
        self.kind: Any = oxbow.AsyncClient if asynchronous else oxbow.Client
        self.user = f"用户 {uuid.uuid4()}"
        self.saved: dict[str, Any] = {"user": self.user}
        self.clients: dict[str, Any] = {}

    def client(self, key: str) -> Any:
        if key not in self.clients:
            text = {"app": setting("OXBOW_API_KEY"), "operator": setting("OXBOW_OPERATOR_KEY"), "wrong": "wrong"}.get(
                key
            )
            text = text or person_key(self.user)
            self.clients[key] = self.kind(text, user=None if key == "person" else self.user, url=setting("OXBOW_URL"))
        return self.clients[key]

    async def close(self) -> None:
        for client in self.clients.values():
            if isinstance(client, oxbow.AsyncClient):
                await client.aclose()
            else:
                client.close()

    async def step(self, step: dict[str, Any]) -> None:
        name = NAMES.get(step["call"]) or step["call"].removesuffix("-memory").replace("-", "_")
        method = getattr(self.client(step.get("key", "app")), name)
        limit = time.monotonic() + 60
        while True:
            try:
                got = plain(await result(method(**self.resolve(step.get("args", {})))))
            except oxbow.APIError as error:
                if "error" not in step:
                    raise
                self.match(step["error"], {k: getattr(error, k) for k in step["error"]})
                return
            assert "error" not in step, got
            try:
                self.match(step.get("expect"), got)
                break
            except AssertionError:
                if not step.get("until") or time.monotonic() > limit:
                    raise
            await asyncio.sleep(0.05)
        for variable, path in step.get("save", {}).items():
            value = got
            for part in path.split("."):
                value = value[int(part)] if isinstance(value, list) else value[part]
            self.saved[variable] = value

    def resolve(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith("$"):
            return self.saved.get(value[1:], value)
        if isinstance(value, list):
            return [self.resolve(v) for v in value]
        if isinstance(value, dict):
            return {k: self.resolve(v) for k, v in value.items()}
        return value

    def match(self, expected: Any, got: Any) -> None:
        expected = self.resolve(expected)
        if isinstance(expected, dict) and any(k.startswith("$") for k in expected):
            for condition, value in expected.items():
                assert self.holds(condition, value, got), f"{condition} {value} does not hold for {got}"
        elif isinstance(expected, dict):
            for key, value in expected.items():
                if value == {"$absent": True}:
                    assert not got.get(key), f"{key} is {got[key]}"
                else:
                    assert key in got, f"{key} is missing in {got}"
                    self.match(value, got[key])
        elif isinstance(expected, list):
            assert isinstance(got, list)
            assert len(got) == len(expected), got
            for e, g in zip(expected, got, strict=True):
                self.match(e, g)
        elif expected is not None:
            assert got == expected

    def matches(self, expected: Any, got: Any) -> bool:
        try:
            self.match(expected, got)
        except AssertionError:
            return False
        return True

    def holds(self, condition: str, value: Any, got: Any) -> bool:
        if condition == "$uuid":
            return re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", got) is not None
        if condition == "$time":
            return moment(got).tzinfo is not None
        if condition == "$includes":
            return all(any(self.matches(e, g) for g in got) for e in value)
        if condition == "$excludes":
            return not any(self.matches(e, g) for e in value for g in got)
        if condition == "$length":
            return bool(len(got) == value)
        if condition == "$contains":
            return bool(value in got)
        if condition == "$from":
            return bool(got >= value)
        if condition == "$to":
            return bool(got <= value)
        assert condition == "$same", condition
        return bool(moment(got) == moment(value))


def moment(text: str) -> datetime:
    text = re.sub(r"(\.\d{1,6})\d*", lambda m: m[1].ljust(7, "0"), text.replace("Z", "+00:00"))
    return datetime.fromisoformat(text)


async def result(made: Any) -> Any:
    """Returns what a method returned, with all items of an iterator."""
    if isinstance(made, AsyncIterator):
        return [item async for item in made]
    if isinstance(made, Iterator):
        return list(made)
    return await made if asyncio.iscoroutine(made) else made


def plain(value: Any) -> Any:
    """Returns models as JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("case", CASES)
async def test_vectors(case: dict[str, Any], asynchronous: bool) -> None:
    run = Run(asynchronous)
    try:
        for number, step in enumerate(case["steps"], 1):
            try:
                await run.step(step)
            except AssertionError as error:
                raise AssertionError(f"step {number}: {step['call']}: {error}") from error
    finally:
        await run.close()
