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


def one(connection: psycopg.Connection[Any], statement: str, values: list[Any]) -> Any:
    row = connection.execute(statement.encode(), values).fetchone()
    assert row is not None
    return row[0]


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


def test_feedback(connection: psycopg.Connection[Any], client: oxbow.Client, user: str) -> None:
    memory = Memory(connection, user)
    home, boat = memory.add("Ada lives in Lisbon"), memory.add("Ada owns a boat called Heron")
    connection.commit()
    client.wait(home)
    answer = memory.report_answer("Where does Ada live?", [home, boat], used=[home], session_id="s")
    signal = memory.give_feedback("wrong", answer_id=answer, external_id="x", reason="she moved")
    assert memory.give_feedback("wrong", answer_id=answer, external_id="x") == signal
    assert home not in [r.id for r in memory.recall("Where does Ada live?")]
    memory.give_feedback("outdated", ids=[home])
    assert [f.id for f in memory.list_facts()] == [boat]
    adjusted = one(
        connection,
        "select oxbow.adjust(%s, 'fact', %s, 0.5, 'a test', '{}', -1, now())",
        [user, boat],
    )
    shown = memory.list_adjustments(memory_id=boat)
    assert [(a.id, a.kind, a.about, a.cause) for a in shown] == [(str(adjusted), "memory_weight", boat, "a test")]
    memory.roll_back_adjustment(shown[0].id)
    connection.commit()
    undone = memory.list_adjustments()
    assert [a.model_dump(exclude={"target"}) for a in undone] == [a.model_dump() for a in client.list_adjustments()]
    assert [a.undone_by for a in undone] == ["person"]
    said = memory.explain(boat)
    assert said == client.explain(boat)
    assert {"origin", "fades"} <= {s.aspect for s in said}


def test_conclusions(connection: psycopg.Connection[Any], client: oxbow.Client, user: str) -> None:
    memory = Memory(connection, user)
    notes = ["Went running in the morning", "Before breakfast I ran along the canal"]
    notes += ["A morning run in the rain", "I went running this morning"]
    for day, note in enumerate(notes, 1):
        memory.add(note, memory_type="episodic", valid_at=datetime(2025, 5, day, tzinfo=timezone.utc), importance=0.8)
    connection.commit()
    limit = time.monotonic() + 60
    while not (drawn := memory.list_conclusions()):
        connection.commit()
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert drawn == client.list_conclusions()
    assert memory.list_conclusions(topic=drawn[0].topic, versions=True, limit=1)
    assert memory.list_conclusions(topic="nothing") == []


def test_procedures(connection: psycopg.Connection[Any], client: oxbow.Client, user: str) -> None:
    memory = Memory(connection, user)
    german = memory.add_instruction("Answer in German", aspect="language", external_id="x")
    assert memory.add_instruction("Answer in Greek", external_id="x") == german
    memory.add_instruction("Be brief", context="work", priority=5, agent_id="a", session_id="s")
    report = memory.add_skill("Report", ["collect", "send"], situation="the weekly report", preconditions=["figures"])
    memory.report_outcome(report, True)
    assert "1. collect; 2. send" in memory.context("write the report", include=["skills"])
    connection.commit()
    assert [i.content for i in memory.list_instructions()] == ["Be brief", "Answer in German"]
    assert memory.list_instructions() == client.list_instructions()
    assert (memory.end_instruction(german), memory.end_instruction(german)) == (True, False)
    assert [i.id for i in memory.list_instructions(ended=True) if i.ended_at] == [german]
    shown = memory.list_skills(situation="a report")
    assert shown == client.list_skills(situation="a report")
    assert [(s.steps, s.situation, s.successes) for s in shown] == [(["collect", "send"], "the weekly report", 1)]
    second = memory.add_skill("report", ["send"], reason="shorter")
    assert [s.version for s in memory.list_skills()] == [2]
    assert (memory.drop_skill(second), memory.list_skills()) == (True, [])


def test_intentions(connection: psycopg.Connection[Any], client: oxbow.Client, user: str) -> None:
    memory = Memory(connection, user)
    soon = datetime(2100, 5, 1, 9, tzinfo=timezone.utc)
    call = memory.add_intention("Call mom", due_at=soon, kind="reminder", external_id="x")
    assert memory.add_intention("Call dad", external_id="x") == call
    move = memory.add_intention("Move to Berlin", due_at=soon.replace(year=2101), precision="month")
    memory.add_intention("Water the plants", due_at=soon.replace(year=2102), recurrence="FREQ=WEEKLY")
    rain = memory.add_intention("Take the umbrella", condition="when it rains")
    connection.commit()
    assert memory.list_upcoming() == client.list_upcoming()
    assert [i.id for i in memory.list_upcoming(until=soon)] == [call]
    assert [i.precision for i in memory.list_upcoming() if i.id == move] == ["month"]
    assert memory.snooze_intention(call, soon.replace(day=2))
    assert [i.remind_at for i in memory.list_upcoming(until=soon)] == [soon.replace(day=2)]
    assert memory.drop_intention(rain, reason="it is dry")
    assert (memory.complete_intention(move), memory.complete_intention(move)) == (True, False)
    assert [i.recurrence for i in memory.list_upcoming(limit=5)] == [None, "FREQ=WEEKLY"]


def test_profile(connection: psycopg.Connection[Any], client: oxbow.Client, user: str) -> None:
    memory = Memory(connection, user)
    assert memory.put_profile("occupation", "baker") == 1
    assert memory.put_profile("pets", ["Rex", None]) == 0
    id = memory.add("The bakery was full", metadata={"emotion": {"valence": 0.8, "arousal": 0.4}})
    connection.commit()
    assert [(v.key, v.value, v.facts) for v in memory.list_profile()] == [
        ("occupation", "baker", 1),
        ("pets", ["Rex", None], 0),
    ]
    assert memory.list_profile() == client.list_profile()
    assert memory.put_profile("pets", None) == 0
    assert [v.key for v in memory.list_profile()] == ["occupation"]
    now = datetime.now(timezone.utc)
    felt = memory.get_emotions(now=now)
    assert felt == client.get_emotions(now=now)
    assert id


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
    instruction = await memory.add_instruction("请用中文回答")
    assert [i.id for i in await memory.list_instructions()] == [instruction]
    assert await memory.end_instruction(instruction)
    await memory.forget(id)
    assert await memory.recall("杭州") == []
    async with connection_async.cursor() as cursor:
        await cursor.execute("select count(*) from oxbow.memories where user_id = %s", [user])
        assert await cursor.fetchone() == (1,)
