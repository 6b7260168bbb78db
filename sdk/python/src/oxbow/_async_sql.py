"""Calls the SQL functions of Oxbow on a connection of psycopg."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from oxbow._sqltext import MEMORY, MESSAGE, columns, named, row_of, vector
from oxbow.models import (
    Adjusted,
    Change,
    Conclusion,
    Feeling,
    Instruction,
    Intention,
    KnownFact,
    NewMessage,
    ProfileValue,
    Result,
    Sentence,
    Skill,
    TimelineEntry,
)
from oxbow.models import Memory as StoredMemory

T = TypeVar("T")


class AsyncMemory:
    """The memory of a user in a database, without a server.

    Every method runs in the transaction of the connection, which the caller commits: the memory and the work that it
    causes exist together with the caller's other rows, or not at all. A worker must run.

    connection: A connection of psycopg 3.
    user: The user whom the memories are about.
    """

    def __init__(self, connection: AsyncConnection[Any], user: str) -> None:
        self.connection = connection
        self.user = user

    async def become(self) -> None:
        """Sets `oxbow.user_id` until the transaction ends, which a login of the role oxbow_app needs to read."""
        await self._run("select set_config('oxbow.user_id', %(user)s, true)", {})

    async def add(
        self,
        content: str,
        *,
        memory_type: str | None = None,
        id: str | None = None,
        external_id: str | None = None,
        valid_at: datetime | None = None,
        invalid_at: datetime | None = None,
        expires_at: datetime | None = None,
        session_id: str | None = None,
        speaker: str | None = None,
        agent_id: str | None = None,
        source: str | None = None,
        category: str | None = None,
        topic: str | None = None,
        verified: bool | None = None,
        importance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        modality: str | None = None,
        reference: str | None = None,
        sensitivity: int | None = None,
    ) -> str:
        """Adds a memory and returns its id. One whose id or external_id exists is not added again."""
        given = {name: value for name, value in locals().items() if name in MEMORY and value is not None}
        given["id"] = str(given.get("id") or uuid.uuid4())
        added = await self._run(*columns("oxbow.memories", given))
        if not added and "external_id" in given:
            found = await self._rows(
                "select id from oxbow.memories where user_id = %(user)s and external_id = %(external_id)s"
                " and memory_type = %(memory_type)s",
                {"external_id": external_id, "memory_type": given.get("memory_type", "fact")},
            )
            return str(found[0]["id"]) if found else str(given["id"])
        return str(given["id"])

    async def add_messages(self, messages: Sequence[NewMessage]) -> list[str]:
        """Adds messages of conversations, from which memories are extracted, and returns their ids."""
        ids = []
        for message in messages:
            given = {name: value for name, value in message.items() if name in MESSAGE}
            given["id"] = str(given.get("id") or uuid.uuid4())
            await self._run(*columns("oxbow.messages", given))
            ids.append(str(given["id"]))
        return ids

    async def end_session(self, session_id: str) -> bool:
        """Ends a conversation, so that memories are extracted at once. Returns False if it had ended."""
        return bool(await self._value("end_session", {"session_id": session_id}))

    async def recall(
        self,
        query: str,
        *,
        embedding: Sequence[float] | None = None,
        limit: int = 10,
        types: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        agent_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        valid_as_of: datetime | None = None,
        believed_as_of: datetime | None = None,
        min_score: float | None = None,
        mode: str | None = None,
    ) -> list[Result]:
        """Recalls memories, best first.

        embedding: The vector of the query, from the model of the database. Without it, only words are searched.
        """
        return await self._list(
            Result,
            "recall",
            {
                "query": query,
                "embedding": vector(embedding),
                "max_results": limit,
                "types": types,
                "contexts": contexts,
                "agent": agent_id,
                "metadata_contains": None if metadata is None else Jsonb(dict(metadata)),
                "valid_as_of": valid_as_of,
                "believed_as_of": believed_as_of,
                "min_score": min_score,
                "mode": mode,
            },
        )

    async def context(
        self,
        query: str | None = None,
        *,
        embedding: Sequence[float] | None = None,
        max_tokens: int = 1000,
        types: Sequence[str] | None = None,
        contexts: Sequence[str] | None = None,
        agent_id: str | None = None,
        include: Sequence[str] | None = None,
    ) -> str:
        """Returns a block of a prompt that describes the user.

        include: What else to include: profile, emotion, communities, skills.
        """
        arguments = {
            "query": query,
            "embedding": vector(embedding),
            "max_tokens": max_tokens,
            "types": types,
            "contexts": contexts,
            "agent": agent_id,
            "include": include,
        }
        return str(await self._value("context", arguments))

    async def timeline(
        self,
        topic: str,
        *,
        embedding: Sequence[float] | None = None,
        types: Sequence[str] | None = None,
        limit: int = 50,
    ) -> list[TimelineEntry]:
        """Shows how knowledge about a topic changed."""
        arguments = {"topic": topic, "embedding": vector(embedding), "types": types, "max_results": limit}
        return await self._list(TimelineEntry, "timeline", arguments)

    async def list_facts(
        self, *, valid_as_of: datetime | None = None, believed_as_of: datetime | None = None
    ) -> list[KnownFact]:
        """Lists the facts that were true at one time, as believed at another. Default: now."""
        return await self._list(KnownFact, "facts_as_of", {"valid": valid_as_of, "believed": believed_as_of})

    async def get(self, id: str) -> StoredMemory | None:
        """Returns a memory, or None."""
        found = await self._rows("select * from oxbow.memories where user_id = %(user)s and id = %(id)s", {"id": id})
        return StoredMemory.model_validate(row_of(found[0])) if found else None

    async def supersede(
        self,
        id: str,
        content: str,
        *,
        valid_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        reason: str | None = None,
    ) -> str:
        """Replaces a memory with a new version and returns its id."""
        arguments = {
            "id": id,
            "content": content,
            "valid_at": valid_at,
            "metadata": None if metadata is None else Jsonb(dict(metadata)),
            "reason": reason,
        }
        return str(await self._value("supersede", arguments))

    async def forget(self, id: str, *, reason: str | None = None) -> None:
        """Forgets a memory. It can be restored for 30 days."""
        await self._value("forget", {"id": id, "reason": reason})

    async def restore(self, id: str) -> None:
        """Restores a forgotten memory."""
        await self._value("restore", {"id": id})

    async def get_history(self, id: str) -> list[Change]:
        """Lists the changes of a memory and its versions."""
        return await self._list(Change, "history", {"id": id})

    async def report_used(self, ids: Sequence[str]) -> None:
        """Reports that a reply used memories, which strengthens them."""
        await self._value("touch", {"ids": list(ids)})

    async def erase(self, id: str) -> int:
        """Erases a memory and everything that refers to it, and returns the number of rows."""
        return int(await self._value("erase_memory", {"id": id}))

    async def erase_user(self) -> int:
        """Erases everything of the user, and returns the number of rows."""
        rows = await self._rows(*named("erase_user", {}))
        return sum(row["rows"] for row in rows)

    # ---- feedback ----

    async def report_answer(
        self, query: str, recalled: Sequence[str], *, session_id: str | None = None, used: Sequence[str] | None = None
    ) -> str:
        """Reports a reply and the memories that were recalled for it, best first, and returns its id.

        used: Those that the reply used. Default: unknown.
        """
        arguments = {"query": query, "recalled": recalled, "session_id": session_id, "used": used}
        return str(await self._value("answered", arguments))

    async def give_feedback(
        self,
        kind: str,
        *,
        answer_id: str | None = None,
        external_id: str | None = None,
        ids: Sequence[str] | None = None,
        query: str | None = None,
        reason: str | None = None,
    ) -> str:
        """Stores what the user said about memories, traits or a reply, and returns the id of the signal.

        kind: helpful, wrong, outdated, not_about_me or too_much.
        external_id: A repeated call returns the earlier signal.
        ids: The memories and traits. Default: those of the answer.
        """
        arguments = {
            "kind": kind,
            "answer_id": answer_id,
            "external_id": external_id,
            "ids": ids,
            "query": query,
            "reason": reason,
        }
        return str(await self._value("feedback", arguments))

    async def list_adjustments(self, *, memory_id: str | None = None, limit: int = 100) -> list[Adjusted]:
        """Lists what feedback changed, the newest first."""
        return await self._list(Adjusted, "adjustments_of", {"memory_id": memory_id, "max_results": limit})

    async def roll_back_adjustment(self, id: str) -> None:
        """Undoes what feedback changed."""
        await self._value("rollback", {"adjustment": id})

    async def list_conclusions(
        self, *, topic: str | None = None, versions: bool = False, limit: int = 100
    ) -> list[Conclusion]:
        """Lists conclusions from several memories of one topic, the surest first. versions: Include earlier ones."""
        arguments = {"topic": topic, "versions": versions, "max_results": limit}
        return await self._list(Conclusion, "conclusions_of", arguments)

    async def explain(self, id: str) -> list[Sentence]:
        """Explains why something is known, why it is kept, and when it fades.

        id: A memory, trait, adjustment, instruction, skill or intention.
        """
        return await self._list(Sentence, "why", {"id": id})

    # ---- procedures ----

    async def list_instructions(self, *, ended: bool = False) -> list[Instruction]:
        """Lists how the user wants to be answered, the most important first. ended: Include those that ended."""
        return await self._list(Instruction, "instructions_of", {"ended": ended})

    async def add_instruction(
        self,
        content: str,
        *,
        agent_id: str | None = None,
        aspect: str | None = None,
        context: str | None = None,
        external_id: str | None = None,
        priority: int | None = None,
        session_id: str | None = None,
    ) -> str:
        """Stores a standing instruction and returns its id.

        aspect: language, length, address, tone, format, avoid or other. Default: other.
        context: Where it holds: work, personal, social or learning. Default: everywhere.
        external_id: A repeated call returns the earlier one.
        priority: -100 to 100. Higher ones come first.
        """
        arguments = {
            "content": content,
            "agent": agent_id,
            "aspect": aspect,
            "context": context,
            "external_id": external_id,
            "priority": priority,
            "session_id": session_id,
        }
        return str(await self._value("instruct", arguments))

    async def end_instruction(self, id: str) -> bool:
        """Ends a standing instruction. Returns False if it had ended."""
        return bool(await self._value("end_instruction", {"id": id}))

    async def list_skills(self, *, situation: str | None = None, limit: int = 20) -> list[Skill]:
        """Lists skills for a situation in words, the best first. Default: all skills."""
        return await self._list(Skill, "skills_for", {"situation": situation, "max_results": limit})

    async def add_skill(
        self,
        name: str,
        steps: Sequence[str],
        *,
        preconditions: Sequence[str] | None = None,
        reason: str | None = None,
        situation: str | None = None,
    ) -> str:
        """Stores a skill, or the next version of the one of this name, and returns its id."""
        arguments = {
            "name": name,
            "steps": steps,
            "preconditions": preconditions,
            "reason": reason,
            "situation": situation,
        }
        return str(await self._value("learn_skill", arguments))

    async def drop_skill(self, id: str) -> bool:
        """Ends a skill. Returns False if it had ended."""
        return bool(await self._value("drop_skill", {"id": id}))

    async def report_outcome(self, id: str, success: bool) -> None:
        """Counts that a skill worked or did not."""
        await self._value("skill_outcome", {"id": id, "success": success})

    # ---- intentions ----

    async def list_upcoming(self, *, until: datetime | None = None, limit: int = 100) -> list[Intention]:
        """Lists what is open or due, the earliest first. until: Only what is due until then."""
        return await self._list(Intention, "upcoming", {"until": until, "max_results": limit})

    async def add_intention(
        self,
        content: str,
        *,
        condition: str | None = None,
        due_at: datetime | None = None,
        external_id: str | None = None,
        kind: str | None = None,
        precision: str | None = None,
        recurrence: str | None = None,
    ) -> str:
        """Stores a reminder, a plan or a goal, and returns its id.

        condition: When it is due instead, in words.
        external_id: A repeated call returns the earlier one.
        kind: intention, goal or reminder. Default: intention.
        precision: Of due_at: minute, day, week, month or year. Default: minute.
        recurrence: An RRULE of iCalendar, which begins at due_at.
        """
        arguments = {
            "content": content,
            "condition": condition,
            "due_at": due_at,
            "due_precision": precision,
            "external_id": external_id,
            "kind": kind,
            "recurrence": recurrence,
        }
        return str(await self._value("intend", arguments))

    async def complete_intention(self, id: str, *, reason: str | None = None) -> bool:
        """Marks it as done. Returns False if it had ended."""
        return bool(await self._value("complete_intention", {"id": id, "reason": reason}))

    async def drop_intention(self, id: str, *, reason: str | None = None) -> bool:
        """Marks it as dropped. Returns False if it had ended."""
        return bool(await self._value("drop_intention", {"id": id, "reason": reason}))

    async def snooze_intention(self, id: str, until: datetime) -> bool:
        """Makes it due again later. Returns False if it had ended."""
        return bool(await self._value("snooze_intention", {"id": id, "until": until}))

    # ---- profile ----

    async def get_emotions(self, *, now: datetime | None = None) -> list[Feeling]:
        """Returns how the user felt: the baseline, the mood, what moves it, what calms, and the last weeks."""
        rows = await self._rows(*named("emotion_profile", {"now": now}))
        return [Feeling(**{"shift": 0.0, **row_of(row)}) for row in rows]

    async def list_profile(self) -> list[ProfileValue]:
        """Lists the profile values of the user."""
        return await self._list(ProfileValue, "profile", {})

    async def put_profile(self, key: str, value: Any) -> int:
        """Stores a profile value, any JSON; None deletes it. Returns the number of facts that changed because of it."""
        return int(await self._value("set_value", {"key": key, "value": Jsonb(value)}))

    async def _run(self, statement: str, values: Mapping[str, Any]) -> int:
        async with self.connection.cursor() as cursor:
            await cursor.execute(statement, {"user": self.user, **values})
            return cursor.rowcount

    async def _rows(self, statement: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        async with self.connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(statement, {"user": self.user, **values})
            return await cursor.fetchall()

    async def _value(self, function: str, arguments: Mapping[str, Any]) -> Any:
        rows = await self._rows(*named(function, arguments))
        return rows[0][function]

    async def _list(self, kind: type[T], function: str, arguments: Mapping[str, Any]) -> list[T]:
        rows = await self._rows(*named(function, arguments))
        return [kind(**row_of(row, function)) for row in rows]
