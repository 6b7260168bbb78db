"""The classes of mem0 on Oxbow."""

from __future__ import annotations

import asyncio
import time
import uuid
from datetime import datetime
from typing import Any

from typing_extensions import Self

from oxbow._async_client import AsyncClient
from oxbow._mem0text import (
    changes_of,
    chosen,
    expiry_of,
    item_of,
    joined,
    matches,
    messages_of,
    metadata_of,
    moment_of,
    role_of,
    split,
    user_of,
)
from oxbow.errors import BadRequestError, InvalidError, NotFoundError
from oxbow.models import Memory as StoredMemory
from oxbow.models import NewMemory, NewMessage

TYPES: Any = ("fact", "episodic")
UNKNOWN = (BadRequestError, InvalidError, NotFoundError)  # an id without a user, no UUID, no such memory


class AsyncMemory:
    """mem0's class of the same name: an application changes one import.

    The id of a memory is its id in Oxbow, a colon and the user, because mem0 has methods with an id and without a user.
    Where Oxbow differs: `add` waits for the worker, at most `patience` seconds, instead of calling a model; `update`
    makes a new version, and the old id leads to it; `delete` forgets, so that the memory can be restored for 30 days
    and its history remains.

    config: Only `oxbow` is used, if it is a dictionary: the arguments of the client. Models and stores belong to the
        server.
    client: The client, for an app's key. Default: one with the settings of config or of the environment.
    """

    patience = 30.0

    def __init__(self, config: Any = None, *, client: AsyncClient | None = None) -> None:
        given = config.get("oxbow", {}) if isinstance(config, dict) else {}
        self._client = client or AsyncClient(**given)
        self.config = config

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Self:
        """Returns a memory with a configuration of mem0."""
        return cls(config_dict)

    async def add(
        self,
        messages: str | dict[str, Any] | list[dict[str, Any]],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: float | str | datetime | None = None,
        expiration_date: str | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        filters: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Adds messages and returns the memories that were extracted from them.

        run_id: The conversation, which ends with these messages. A later call may continue it.
        agent_id, metadata: Are stored with the memories if infer is False, otherwise with the messages.
        timestamp: When it was said: seconds, text or a datetime.
        expiration_date: The last day on which memories are recalled; only if infer is False.
        infer: False stores each message as a memory.
        """
        if memory_type is not None:
            raise ValueError("memory_type is not supported: the worker chooses it")
        given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        user, agent, run = chosen({**(filters or {}), **{k: v for k, v in given.items() if v is not None}})
        client, at = self._of(user), moment_of(timestamp)
        said = messages_of(messages)
        if not infer:
            return {"results": await self._as_they_are(client, said, at, agent, run, metadata, expiration_date)}
        if expiration_date is not None:
            raise ValueError("expiration_date needs infer=False")

        session = run or f"mem0-{uuid.uuid4()}"
        before = {m.id async for m in client.list_memories(session_id=session)} if run else set()
        new: list[NewMessage] = []
        for message in said:
            stored: NewMessage = {"session_id": session, "role": role_of(message), "content": message["content"]}
            if metadata or agent:
                stored["metadata"] = {**(metadata or {}), **({"agent_id": agent} if agent else {})}
            if at is not None:
                stored["created_at"] = at
            if message.get("name"):
                stored["speaker"] = str(message["name"])
            new.append(stored)
        ids = set(await client.add_messages(new))
        await client.end_session(session)
        end, pause = time.monotonic() + self.patience, 0.02
        while time.monotonic() < end:
            if all(m.extracted_at for m in await client.list_messages(session) if m.id in ids):
                break
            await asyncio.sleep(pause)
            pause = min(2 * pause, 1.0)
        made = [m async for m in client.list_memories(session_id=session) if m.id not in before]
        for memory in made:
            await client.wait(memory.id, timeout=self.patience)
        made.reverse()
        return {"results": [{"id": joined(m.id, user), "memory": m.content, "event": "ADD"} for m in made]}

    async def _as_they_are(
        self,
        client: AsyncClient,
        said: list[dict[str, Any]],
        at: datetime | None,
        agent: str | None,
        run: str | None,
        metadata: dict[str, Any] | None,
        expiration_date: str | None,
    ) -> list[dict[str, Any]]:
        new: list[NewMemory] = []
        kept = [m for m in said if m["role"] != "system"]
        for message in kept:
            role, name = message["role"], message.get("name")
            memory: NewMemory = {"content": message["content"]}
            memory["metadata"] = {**metadata_of(metadata), "role": role, **({"actor_id": name} if name else {})}
            if name or role != "user":
                memory["speaker"] = str(name or role)
            if agent:
                memory["agent_id"] = agent
            if run:
                memory["session_id"] = run
            if at is not None:
                memory["valid_at"] = at
            if expiration_date is not None:
                memory["expires_at"] = expiry_of(expiration_date)
            new.append(memory)
        added = await client.add_many(new) if new else []
        for a in added:
            await client.wait(a.id, timeout=self.patience)
        return [
            {"id": joined(a.id, client.user), "memory": m["content"], "event": "ADD", "actor_id": m.get("name"),
             "role": m["role"]}
            for a, m in zip(added, kept, strict=True)
        ]  # fmt: skip

    async def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        limit: int | None = None,
        filters: dict[str, Any] | None = None,
        threshold: float | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        **ignored: Any,
    ) -> dict[str, Any]:
        """Returns facts and episodes, best first.

        top_k: At most that many. Default: 20.
        filters: user_id, agent_id, run_id, and what the metadata must have, with mem0's operators.
        threshold: The least score. Scores are between 0 and 1, and order the memories of one query.
        """
        wanted = _scope(filters, user_id, agent_id, run_id)
        most = top_k or limit or 20
        client = self._of(user_of(wanted))
        others = set(wanted) - {"user_id"}
        found = (await client.recall(query, limit=1000 if others else min(1000, most), types=TYPES)).memories
        results = [item_of(m, client.user) for m in found if matches(wanted, m)]
        kept = [r for r in results if threshold is None or r["score"] >= threshold]
        return {"results": kept[:most]}

    async def get_all(
        self,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        **ignored: Any,
    ) -> dict[str, Any]:
        """Lists facts and episodes, the newest first, at most top_k (default: 20)."""
        wanted = _scope(filters, user_id, agent_id, run_id)
        return {"results": await self._listed(wanted, top_k or limit or 20)}

    async def _listed(self, wanted: dict[str, Any], most: int | None) -> list[dict[str, Any]]:
        client = self._of(user_of(wanted))
        results: list[dict[str, Any]] = []
        async for memory in client.list_memories(type=TYPES, limit=200):
            if most is not None and len(results) >= most:
                break
            if matches(wanted, memory):
                results.append(item_of(memory, client.user))
        return results

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """Returns a memory, or None if it does not exist or is deleted. An old id leads to the newest version."""
        client, memory = await self._current(memory_id)
        return None if memory is None else {**item_of(memory, client.user), "score": None}

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        data: str | None = None,
        **ignored: Any,
    ) -> dict[str, Any]:
        """Replaces the text of a memory, or adds to its metadata."""
        await self._update(memory_id, text if text is not None else data, metadata)
        return {"message": "Memory updated successfully!"}

    async def _update(self, memory_id: str, text: str | None, metadata: dict[str, Any] | None) -> str:
        if text is None and metadata is None:
            raise ValueError("text or metadata must be provided")
        client, memory = await self._current(memory_id)
        if memory is None:
            raise ValueError(f"Memory with id {memory_id} not found")
        merged = {**memory.metadata, **metadata_of(metadata)} if metadata is not None else None
        added = await client.supersede(memory.id, text if text is not None else memory.content, metadata=merged)
        await client.wait(added.id, timeout=self.patience)
        return joined(added.id, client.user)

    async def delete(self, memory_id: str) -> dict[str, Any]:
        """Forgets a memory."""
        client, memory = await self._current(memory_id)
        if memory is None:
            raise ValueError(f"Memory with id {memory_id} not found")
        await client.forget(memory.id)
        return {"message": "Memory deleted successfully!"}

    async def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, Any]:
        """Forgets all facts and episodes of a user, an agent or a conversation."""
        wanted = _scope(None, user_id, agent_id, run_id)
        if not wanted:
            raise ValueError("at least one of user_id, agent_id and run_id is required")
        for item in await self._listed(wanted, None):
            await self.delete(item["id"])
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Lists the changes of a memory, also of a deleted one."""
        id, user = split(memory_id)
        client = self._of(user)
        try:
            return changes_of(await client.get_history(id), memory_id, client.user)
        except UNKNOWN:
            return []

    async def reset(self) -> None:
        """Erases everything of the client's user. A client for many users must not: use erase_user of each."""
        user = self._client.user
        if user is None:
            raise ValueError("only a client with a user can be reset: Client(user=…)")
        await self._client.erase_user(user)

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def _of(self, user: str | None) -> AsyncClient:
        return self._client if user is None else self._client.for_user(user)

    async def _current(self, memory_id: str) -> tuple[AsyncClient, StoredMemory | None]:
        """Returns the newest version of a memory, or None if it is forgotten or unknown."""
        id, user = split(memory_id)
        client = self._of(user)
        try:
            memory = await client.get(id)
            while memory.superseded_by:
                memory = await client.get(memory.superseded_by)
        except UNKNOWN:
            return client, None
        return client, None if memory.forgotten_at else memory


class AsyncMemoryClient(AsyncMemory):
    """mem0's class of the same name, for its platform.

    api_key: A key of Oxbow. Default: the variable OXBOW_API_KEY.
    host: The server. Default: the variable OXBOW_URL.
    """

    def __init__(
        self, api_key: str | None = None, host: str | None = None, *, client: AsyncClient | None = None, **ignored: Any
    ) -> None:
        super().__init__(client=client or AsyncClient(api_key, url=host))

    async def get_all(
        self,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        page: int = 1,
        page_size: int = 100,
        **ignored: Any,
    ) -> dict[str, Any]:
        """Lists facts and episodes, the newest first, in pages."""
        found = await self._listed(_scope(filters, user_id, agent_id, run_id), top_k or limit)
        begin, end = (page - 1) * page_size, page * page_size
        following = str(page + 1) if end < len(found) else None
        previous = str(page - 1) if page > 1 else None
        return {"count": len(found), "next": following, "previous": previous, "results": found[begin:end]}

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        data: str | None = None,
        **ignored: Any,
    ) -> dict[str, Any]:
        """Replaces the text of a memory, or adds to its metadata, and returns the memory."""
        new = await self._update(memory_id, text if text is not None else data, metadata)
        return await self.get(new) or {}

    async def delete_users(self, user_id: str) -> dict[str, Any]:
        """Erases everything of a user for ever."""
        await self._of(user_id).erase_user(user_id)
        return {"message": "Entity deleted successfully."}


def _scope(
    filters: dict[str, Any] | None, user_id: str | None, agent_id: str | None, run_id: str | None
) -> dict[str, Any]:
    given = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
    return {**(filters or {}), **{k: v for k, v in given.items() if v is not None}}
