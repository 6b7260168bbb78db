"""The statements that the sync and the async form of `oxbow.sql` share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

MEMORY = {
    "content", "memory_type", "id", "external_id", "valid_at", "invalid_at", "expires_at", "session_id", "speaker",
    "agent_id", "source", "category", "topic", "verified", "importance", "metadata", "modality", "reference",
    "sensitivity",
}  # fmt: skip
MESSAGE = {"id", "session_id", "role", "speaker", "content", "created_at", "metadata", "sensitivity"}

TYPES = {
    "id": "uuid", "ids": "uuid[]", "embedding": "halfvec", "types": "text[]", "contexts": "text[]",
    "max_results": "int", "max_tokens": "int", "metadata": "jsonb", "metadata_contains": "jsonb", "min_score": "float8",
    "valid_at": "timestamptz", "valid_as_of": "timestamptz", "believed_as_of": "timestamptz", "valid": "timestamptz",
    "believed": "timestamptz", "recalled": "uuid[]", "used": "uuid[]", "answer_id": "uuid", "memory_id": "uuid",
    "adjustment": "uuid", "versions": "boolean", "ended": "boolean", "success": "boolean", "priority": "int",
    "steps": "text[]", "preconditions": "text[]", "include": "text[]", "due_at": "timestamptz", "until": "timestamptz",
    "now": "timestamptz", "value": "jsonb",
}  # fmt: skip

# Columns that the answers of the server name differently.
COLUMNS = {
    "conclusions_of": {"topic_key": "topic"},
    "instructions_of": {"session": "session_id"},
    "profile": {"group": "namespace", "name": "key"},
    "skills_for": {"when": "situation"},
}


def columns(table: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns an INSERT of a row that may exist, and its values."""
    names = list(given)
    assert all(re.fullmatch(r"\w+", n) for n in names)  # noqa: S101
    values = {n: Jsonb(dict(v)) if isinstance(v, Mapping) else v for n, v in given.items()}
    statement = (
        f"insert into {table} (user_id, {', '.join(names)}) "  # noqa: S608
        f"values (%(user)s, {', '.join(f'%({n})s' for n in names)}) on conflict do nothing"
    )
    return statement, values


def named(function: str, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns the call of a function with the user and the named arguments that are not None, and their values."""
    values = {n: list(v) if TYPES.get(n, "").endswith("[]") else v for n, v in arguments.items() if v is not None}
    passed = ["user_id => %(user)s", *(f"{n} => %({n})s::{TYPES.get(n, 'text')}" for n in values)]
    return f"select * from oxbow.{function}({', '.join(passed)})", values  # noqa: S608


def vector(embedding: Sequence[float] | None) -> str | None:
    """Returns a vector in the format of pgvector."""
    return None if embedding is None else "[" + ",".join(str(float(x)) for x in embedding) + "]"


def row_of(row: Mapping[str, Any], function: str = "") -> dict[str, Any]:
    """Returns a row, of a function, with ids as text and the names of the server's answers."""
    names = COLUMNS.get(function, {})
    return {names.get(n, n): _text(v) for n, v in row.items() if v is not None}


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(v) for v in value]
    return str(value) if isinstance(value, UUID) else value
