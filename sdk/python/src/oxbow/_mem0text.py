"""The shapes of mem0, for the sync and the async classes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, time, timedelta, timezone
from typing import Any, Literal

from oxbow.models import Change, Memory, Result

IDENTITY = ("user_id", "agent_id", "run_id")


def joined(id: str, user: str | None) -> str:
    """Returns the id that applications see."""
    return id if user is None else f"{id}:{user}"


def split(id: str) -> tuple[str, str | None]:
    """Returns the id in Oxbow, and the user if the id names one."""
    own, colon, user = id.partition(":")
    return own, user if colon else None


def chosen(given: dict[str, Any]) -> tuple[str | None, str | None, str | None]:
    """Returns the ids of the user, the agent and the run, each without space around it."""
    user, agent, run = (str(given[n]).strip() or None if given.get(n) is not None else None for n in IDENTITY)
    return user, agent, run


def user_of(filters: dict[str, Any]) -> str | None:
    """Returns the user that filters name, also inside AND."""
    user = chosen(filters)[0]
    for inner in filters.get("AND", []):
        user = user or user_of(inner)
    return user


def messages_of(messages: Any) -> list[dict[str, Any]]:
    """Returns messages with a role and text."""
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    elif isinstance(messages, dict):
        messages = [messages]
    elif not isinstance(messages, list):
        raise ValueError("messages must be str, dict, or list[dict]")
    said = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):  # of parts
            content = "\n".join(p["text"] for p in content if isinstance(p, dict) and p.get("type") == "text")
        if message.get("role") and isinstance(content, str) and content.strip():
            said.append({**message, "content": content})
    return said


def role_of(message: dict[str, Any]) -> Literal["user", "assistant", "system", "tool"]:
    role = message["role"]
    if role in ("assistant", "system", "tool"):
        return role  # type: ignore[no-any-return]
    return "user"


def metadata_of(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Returns metadata without what only arguments may set."""
    return {k: v for k, v in (metadata or {}).items() if k not in IDENTITY}


def moment_of(timestamp: float | str | datetime | None) -> datetime | None:
    if isinstance(timestamp, (int, float)):
        return datetime.fromtimestamp(timestamp, timezone.utc)
    if isinstance(timestamp, str):
        return datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    return timestamp


def expiry_of(date: str) -> datetime:
    """Returns the end of a day, in UTC."""
    day = datetime.combine(datetime.strptime(str(date)[:10], "%Y-%m-%d"), time.min, timezone.utc)
    return day + timedelta(days=1)


def item_of(memory: Memory | Result, user: str | None) -> dict[str, Any]:
    """Returns a memory as mem0 does."""
    updated = memory.updated_at if isinstance(memory, Memory) and memory.updated_at else memory.created_at
    item: dict[str, Any] = {
        "id": joined(memory.id, user),
        "memory": memory.content,
        "hash": hashlib.md5(memory.content.encode(), usedforsecurity=False).hexdigest(),
        "created_at": memory.created_at.isoformat(),
        "updated_at": updated.isoformat(),
    }
    if isinstance(memory, Result):
        item["score"] = memory.score / (1 + memory.score)
    owner = user or (memory.user_id if isinstance(memory, Memory) else None)
    metadata = dict(memory.metadata)
    promoted = {
        "user_id": owner,
        "agent_id": memory.agent_id,
        "run_id": memory.session_id if memory.session_id and not memory.session_id.startswith("mem0-") else None,
        "actor_id": metadata.pop("actor_id", None),
        "role": metadata.pop("role", None),
    }
    item |= {k: v for k, v in promoted.items() if v is not None}
    item["metadata"] = metadata or None
    return item


def changes_of(changes: Sequence[Change], memory_id: str, user: str | None) -> list[dict[str, Any]]:
    """Returns the history of a memory as mem0 does. A new version is one change."""
    history: list[dict[str, Any]] = []
    for change in changes:
        if change.event == "ADD" and (change.version or 1) > 1:
            continue
        at = change.at.isoformat()
        history.append(
            {
                "id": f"{change.memory_id}:{len(history)}",
                "memory_id": memory_id,
                "old_memory": change.old_content,
                "new_memory": change.new_content,
                "event": {"SUPERSEDE": "UPDATE"}.get(change.event, change.event),
                "created_at": at,
                "updated_at": at,
                "is_deleted": change.event == "DELETE",
                "actor_id": change.actor,
                "role": None,
            }
        )
    return history


def matches(filters: dict[str, Any], memory: Memory | Result) -> bool:
    """Reports whether a memory, which is the right user's, fulfils filters."""
    own = {**memory.metadata, "agent_id": memory.agent_id, "run_id": memory.session_id}
    for name, wanted in filters.items():
        if name == "user_id":
            continue
        if name == "AND":
            holds = all(matches(f, memory) for f in wanted)
        elif name == "OR":
            holds = any(matches(f, memory) for f in wanted)
        elif name == "NOT":
            holds = not any(matches(f, memory) for f in wanted)
        else:
            holds = _holds(own.get(name), wanted)
        if not holds:
            return False
    return True


def _holds(value: Any, wanted: Any) -> bool:
    if wanted == "*":
        return value is not None
    if not isinstance(wanted, dict):
        return bool(value == wanted)
    return all(_compare(value, operator, other) for operator, other in wanted.items())


def _compare(value: Any, operator: str, other: Any) -> bool:
    if operator == "eq":
        return bool(value == other)
    if operator == "ne":
        return bool(value != other)
    if operator == "in":
        return value in other
    if operator == "nin":
        return value not in other
    if operator in ("contains", "icontains"):
        text, part = str(value or ""), str(other)
        return part.lower() in text.lower() if operator == "icontains" else part in text
    if operator not in ("gt", "gte", "lt", "lte"):
        raise ValueError(f"unsupported operator: {operator}")
    if value is None:
        return False
    if operator == "gt":
        return bool(value > other)
    if operator == "gte":
        return bool(value >= other)
    return bool(value < other) if operator == "lt" else bool(value <= other)
