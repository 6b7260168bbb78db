"""A store of LangGraph: `pip install oxbow-memory[langgraph]`."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
)

from oxbow._client import Client
from oxbow.errors import ConflictError
from oxbow.models import Memory, NewMemory
from oxbow.models import Result as Recalled

Namespace = tuple[str, ...]

ATTEMPTS = 5
BATCH = 500


class OxbowStore(BaseStore):
    """Keeps each item as a memory of the type document, whose earlier values are its versions.

    An item is found by its exact namespace and key. Its value is in the metadata of the memory; the content is the text
    of its fields, by which `search` with a query finds it, once the worker has processed it. Deleting an item forgets
    it: it can be restored for 30 days.

    client: The client.
    user: Whose memories the items are: a user's id, or a function that returns it for a namespace or the beginning of
        one, and None if that does not tell. Default: the user of the client.
    fields: The fields to search by, as paths. Default: the whole value. `put` with `index` chooses others.
    name: Distinguishes several stores of one user.
    ttl: The default time to live. It begins when an item is put; reading does not refresh it.
    """

    supports_ttl = True

    def __init__(
        self,
        client: Client,
        *,
        user: str | Callable[[Namespace], str | None] | None = None,
        fields: Sequence[str] = ("$",),
        name: str = "langgraph",
        ttl: TTLConfig | None = None,
    ) -> None:
        self._client = client
        self._user = user
        self._fields = list(fields)
        self._name = name
        self.ttl_config = ttl

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see what was there before the writes of the batch. The last of several puts of an item counts."""
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            result: Result = None
            if isinstance(op, GetOp):
                result = self._get(op)
            elif isinstance(op, SearchOp):
                result = self._search(op)
            elif isinstance(op, ListNamespacesOp):
                result = self._namespaces(op)
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
            else:
                raise ValueError(f"unknown operation {type(op)}")
            results.append(result)
        self._put(list(puts.values()))
        return results

    def _of(self, namespace: Namespace) -> Client:
        """Returns the client for a namespace."""
        user = self._user(namespace) if callable(self._user) else self._user
        if callable(self._user) and user is None:
            raise ValueError(f"the namespace {namespace} does not tell the user")
        return self._client if user is None else self._client.for_user(user)

    def _session(self, namespace: Namespace, key: str) -> str:
        """Returns the name of an item. All versions of a memory have the same session_id."""
        name = f"{self._name}:{json.dumps([*namespace, key], ensure_ascii=False)}"
        if len(name.encode()) > 1000:
            name = f"{self._name}:sha256:{hashlib.sha256(name.encode()).hexdigest()}"
        return name

    def _current(self, client: Client, namespace: Namespace, key: str) -> list[Memory]:
        """Returns the memory of an item, or several, the newest first, if it was first put twice at once."""
        session = self._session(namespace, key)
        return list(client.list_memories(session_id=session, agent_id=self._name, type=["document"]))

    def _get(self, op: GetOp) -> Item | None:
        for memory in self._current(self._of(op.namespace), op.namespace, op.key):
            return _item(memory)
        return None

    # ---- writing ----

    def _put(self, ops: Sequence[PutOp]) -> None:
        new: dict[int, tuple[Client, list[NewMemory]]] = {}
        clients: dict[str | None, Client] = {}
        for op in ops:
            client = self._of(op.namespace)
            client = clients.setdefault(client.user, client)
            if (memory := self._change(client, op)) is not None:
                new.setdefault(id(client), (client, []))[1].append(memory)
        for client, memories in new.values():
            for i in range(0, len(memories), BATCH):
                client.add_many(memories[i : i + BATCH])

    def _change(self, client: Client, op: PutOp) -> NewMemory | None:
        """Writes an item that exists. Returns the memory of one that must be added."""
        for attempt in range(ATTEMPTS):
            current = self._current(client, op.namespace, op.key)
            try:
                if op.value is None:
                    for memory in current:
                        client.forget(memory.id, reason="deleted from the store")
                    return None
                if not current:
                    return self._memory(op, None)
                newest, *others = current
                for memory in others:
                    client.forget(memory.id, reason="put twice at once")
                if newest.expires_at is None and op.ttl is None:
                    made = self._memory(op, newest)
                    client.supersede(newest.id, made["content"], metadata=made["metadata"])
                else:  # a version expires when the first one would have
                    client.add(**self._memory(op, newest))
                    client.forget(newest.id, reason="put again with a time to live")
                return None
            except ConflictError:  # another process put the item
                if attempt == ATTEMPTS - 1:
                    raise
        return None

    def _memory(self, op: PutOp, old: Memory | None) -> NewMemory:
        """Returns the memory of an item."""
        value = dict(op.value or {})
        text = "" if op.index is False else _text(value, op.index or self._fields)
        item: dict[str, Any] = {
            "namespace": {str(i): label for i, label in enumerate(op.namespace)},
            "key": op.key,
            "value": json.dumps(value, ensure_ascii=False),  # as text, so that it comes back as it was
            "indexed": bool(text),
        }
        if old is not None:
            item["created_at"] = old.metadata["item"].get("created_at") or old.created_at.isoformat()
        memory: NewMemory = {
            "content": text or op.key,
            "memory_type": "document",
            "session_id": self._session(op.namespace, op.key),
            "agent_id": self._name,
            "metadata": {"item": item},
        }
        if op.ttl is not None:
            memory["expires_at"] = datetime.now(timezone.utc) + timedelta(minutes=op.ttl)
        return memory

    # ---- searching ----

    def _search(self, op: SearchOp) -> list[SearchItem]:
        client, end = self._of(op.namespace_prefix), op.offset + op.limit
        found: list[SearchItem] = []
        seen: set[tuple[Namespace, str]] = set()

        def keep(memories: Iterable[Memory | Recalled]) -> None:
            for memory in memories:
                if len(found) >= end:
                    return
                item = _item(memory)
                if (item.namespace, item.key) in seen or item.namespace[: len(prefix)] != prefix:
                    continue
                seen.add((item.namespace, item.key))
                if all(_holds(item.value.get(k), v) for k, v in (op.filter or {}).items()):
                    found.append(_found(item, score(memory)))

        def score(memory: Memory | Recalled) -> float | None:
            if isinstance(memory, Recalled):
                return memory.score
            return 0.0 if query and memory.metadata["item"]["indexed"] else None

        prefix, query = tuple(op.namespace_prefix), (op.query or "").strip()
        if query:
            keep(self._recall(client, prefix, query, 1000 if op.filter else min(1000, end)))
        if len(found) < end:  # items without a match, or not processed yet, come last
            keep(self._all(client, 1000 if op.filter or prefix else min(1000, end)))
        return found[op.offset :]

    def _recall(self, client: Client, prefix: Namespace, query: str, limit: int) -> list[Recalled]:
        item: dict[str, Any] = {"indexed": True}
        if prefix:
            item["namespace"] = {str(i): label for i, label in enumerate(prefix)}
        return client.recall(
            query, limit=limit, types=["document"], agent_id=self._name, metadata={"item": item}
        ).memories

    def _all(self, client: Client, limit: int) -> Iterator[Memory]:
        """Returns the memories of all items of a user, the newest first, limit a request."""
        return client.list_memories(agent_id=self._name, type=["document"], limit=limit)

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        prefix: list[str] = []
        for condition in conditions:
            if condition.match_type == "prefix":
                for label in condition.path:
                    if label == "*":
                        break
                    prefix.append(label)
        found = {_item(memory).namespace for memory in self._all(self._of(tuple(prefix)), 1000)}
        found = {n for n in found if all(_matches(n, c) for c in conditions)}
        if op.max_depth is not None:
            found = {n[: op.max_depth] for n in found}
        return sorted(found)[op.offset : op.offset + op.limit]


def _item(memory: Memory | Recalled) -> Item:
    item = memory.metadata["item"]
    labels = item["namespace"]
    return Item(
        namespace=tuple(labels[str(i)] for i in range(len(labels))),
        key=item["key"],
        value=json.loads(item["value"]),
        created_at=item.get("created_at") or memory.created_at,
        updated_at=memory.created_at,
    )


def _found(item: Item, score: float | None) -> SearchItem:
    return SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)


def _text(value: dict[str, Any], fields: Sequence[str]) -> str:
    """Returns the text of fields."""
    texts: list[str] = []
    for field in fields:
        texts += get_text_at_path(value, field if field == "$" else tokenize_path(field))
    return "\n".join(t for t in texts if t.strip()).replace("\0", " ")


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    labels = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(expected in ("*", label) for label, expected in zip(labels, path, strict=True))


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: bool(value == other),
    "$ne": lambda value, other: bool(value != other),
    "$gt": lambda value, other: float(value) > float(other),
    "$gte": lambda value, other: float(value) >= float(other),
    "$lt": lambda value, other: float(value) < float(other),
    "$lte": lambda value, other: float(value) <= float(other),
}


def _holds(value: Any, expected: Any) -> bool:
    """Reports whether a value fulfils a filter: the same value, or an object of operators."""
    if isinstance(expected, dict) and any(k.startswith("$") for k in expected):
        if unknown := set(expected) - set(_OPERATORS):
            raise ValueError(f"unsupported operator: {', '.join(sorted(unknown))}")
        return all(_OPERATORS[name](value, other) for name, other in expected.items())
    if isinstance(expected, dict):
        return isinstance(value, dict) and all(_holds(value.get(k), v) for k, v in expected.items())
    if isinstance(expected, (list, tuple)):
        same = isinstance(value, (list, tuple)) and len(value) == len(expected)
        return same and all(_holds(v, e) for v, e in zip(value, expected, strict=True))
    return bool(value == expected)
