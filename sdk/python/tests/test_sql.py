"""Calls SQL in transactions of the test."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timezone
from typing import Any

import psycopg
import pytest

import oxbow
from conftest import setting
from oxbow.sql import AsyncMemory, Memory


@pytest.fixture
def connection() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(setting("DATABASE_URL")) as c:
        yield c


@pytest.fixture
async def connection_async() -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(setting("DATABASE_URL")) as c:
        yield c


def test_memories(connection: psycopg.Connection[Any], client: oxbow.Client, user: str) -> None:
    memory = Memory(connection, user)
    home = memory.add("Ada lives in Lisbon", valid_at=datetime(2015, 3, 1, tzinfo=timezone.utc), metadata={"k": ["值"]})
    assert list(client.list_memories()) == [], "not committed"
    connection.commit()
    stored = client.get(home)
    assert (stored.content, stored.metadata, stored.memory_type) == ("Ada lives in Lisbon", {"k": ["值"]}, "fact")
    again = memory.get(home)
    assert again is not None
    assert (again.id, again.content, again.created_at) == (home, stored.content, stored.created_at)
    client.wait(home)

    assert [r.id for r in memory.recall("where does Ada live?", types=["fact"], limit=3, metadata={"k": ["值"]})] == [
        home
    ]
    assert memory.recall("where does Ada live?", agent_id="nobody") == []
    assert "Lisbon" in memory.context("where does Ada live?", max_tokens=100)
    new = memory.supersede(
        home, "Ada lives in Porto", valid_at=datetime(2024, 5, 1, tzinfo=timezone.utc), reason="moved"
    )
    then = datetime(2020, 1, 1, tzinfo=timezone.utc)
    assert [f.content for f in memory.list_facts()] == ["Ada lives in Porto"]
    assert [f.content for f in memory.list_facts(valid_as_of=then)] == ["Ada lives in Lisbon"]
    assert [r.content for r in memory.recall("where does Ada live?", valid_as_of=then)] == ["Ada lives in Lisbon"]
    assert [c.reason for c in memory.get_history(new) if c.event == "SUPERSEDE"] == ["moved"]
    assert home in [e.id for e in memory.timeline("where does Ada live?")]
    memory.forget(new, reason="she asked")
    memory.restore(new)
    memory.report_used([new])
    assert memory.erase(home) > 0
    connection.commit()
    with pytest.raises(oxbow.NotFoundError):
        client.get(home)
    assert memory.get(home) is None
    assert memory.erase_user() > 0


def test_an_external_id_is_added_once(connection: psycopg.Connection[Any], user: str) -> None:
    memory = Memory(connection, user)
    first = memory.add("one", external_id="x", memory_type="episodic", importance=0.2, verified=True)
    assert memory.add("two", external_id="x", memory_type="episodic") == first
    assert memory.add("three", external_id="x") != first, "of another type"
    id = str(uuid.uuid4())
    assert memory.add("four", id=id) == id == memory.add("five", id=id)


def test_an_error_is_psycopgs(connection: psycopg.Connection[Any], user: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="importance must be between 0 and 1"):
        Memory(connection, user).add("x", importance=2)


def test_conversation(connection: psycopg.Connection[Any], client: oxbow.Client, user: str) -> None:
    memory = Memory(connection, user)
    ids = memory.add_messages([{"session_id": "s", "content": "I live in Lisbon.", "metadata": {"a": 1}}])
    assert memory.end_session("s")
    connection.commit()
    assert [m.id for m in client.list_messages("s")] == ids
    limit = time.monotonic() + 60
    while not (facts := memory.list_facts()):
        connection.commit()
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert "Lisbon" in facts[0].content


def test_vectors_and_rows_of_one_user(connection: psycopg.Connection[Any], client: oxbow.Client, user: str) -> None:
    memory = Memory(connection, user)
    id = memory.add("Ada rows")
    connection.commit()
    client.wait(id)
    connection.execute("set role oxbow_app")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        memory.recall("rows")
    connection.rollback()
    connection.execute("set role oxbow_app")
    memory.become()
    found = memory.recall("rows", embedding=[0.5] + [0.0] * 1023)
    assert [r.id for r in found] == [id]
    assert found[0].explain.model_dump()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        Memory(connection, "somebody else").recall("rows")


async def test_async(
    connection_async: psycopg.AsyncConnection[Any], async_client: oxbow.AsyncClient, user: str
) -> None:
    memory = AsyncMemory(connection_async, user)
    id = await memory.add("我住在杭州")
    await connection_async.commit()
    await async_client.wait(id)
    assert [r.id for r in await memory.recall("她住在哪里？杭州")] == [id]
    assert "杭州" in await memory.context()
    await memory.forget(id)
    assert await memory.recall("杭州") == []
    async with connection_async.cursor() as cursor:
        await cursor.execute("select count(*) from oxbow.memories where user_id = %s", [user])
        assert await cursor.fetchone() == (1,)
