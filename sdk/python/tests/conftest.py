"""The server that scripts/test-sdk starts."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

import oxbow


def setting(name: str) -> str:
    """Returns a variable that scripts/test-sdk sets."""
    value = os.environ.get(name)
    if not value:
        pytest.exit(f"{name} is not set: run scripts/test-sdk", returncode=2)
    return value


@pytest.fixture
def user() -> str:
    return f"用户 {uuid.uuid4()}"


@pytest.fixture
def client(user: str) -> Iterator[oxbow.Client]:
    setting("OXBOW_URL")
    with oxbow.Client(user=user) as c:
        yield c


@pytest.fixture
async def async_client(user: str) -> AsyncIterator[oxbow.AsyncClient]:
    async with oxbow.AsyncClient(user=user) as c:
        yield c


def person_key(user: str) -> str:
    """Returns the key of a person."""
    made = subprocess.run(
        [setting("OXBOW_BIN"), "keys", "api", "create", "--user", user, "--name", "test"],
        check=True,
        capture_output=True,
        text=True,
    )
    return made.stdout.strip()


def searchable(client: oxbow.Client, *ids: str) -> None:
    """Waits until the worker has processed memories."""
    for id in ids:
        assert client.wait(id).searchable
