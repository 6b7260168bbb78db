"""What the sync and the async client share: requests, answers and when to repeat a request."""

from __future__ import annotations

import json
import os
import random
import urllib.parse
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

import httpx
from pydantic import TypeAdapter

from oxbow._version import __version__
from oxbow.errors import APIError, OxbowError, error_of

T = TypeVar("T")
Value: TypeAlias = Any

Lines: TypeAlias = str | Iterable[str | Mapping[str, Any]]
"""JSON Lines: a text, or lines as text or as objects."""

RETRIED = (429, 503)
TRANSFER = httpx.Timeout(600.0, connect=5.0)  # the server allows that much for an export or an import


def new_key() -> str:
    """Returns a new key of a request that may be repeated."""
    return str(uuid.uuid4())


def quote(value: object) -> str:
    """Returns a part of a path."""
    return urllib.parse.quote(str(value), safe="")


class Settings:
    """How to reach the server.

    api_key: Default: the variable OXBOW_API_KEY.
    url: Default: the variable OXBOW_URL, or http://127.0.0.1:8080.
    user: The user whom requests concern, for an app's or an operator's key.
    timeout: Seconds for one attempt.
    max_retries: How often a request that may be repeated is repeated.
    """

    def __init__(
        self,
        api_key: str | None,
        *,
        url: str | None,
        user: str | None,
        timeout: float,
        max_retries: int,
    ) -> None:
        self.api_key = api_key or os.environ.get("OXBOW_API_KEY") or ""
        if not self.api_key:
            raise OxbowError("an API key is missing: pass api_key, or set OXBOW_API_KEY")
        url = url or os.environ.get("OXBOW_URL") or "http://127.0.0.1:8080"
        self.url = url.rstrip("/").removesuffix("/v1")
        self.user = user
        self.timeout = httpx.Timeout(timeout, connect=min(timeout, 5.0))
        self.max_retries = max_retries

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}", "User-Agent": f"oxbow-python/{__version__}"}

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Value] | None = None,
        body: Mapping[str, Value] | None = None,
        lines: Lines | None = None,
        idempotency_key: str | None = None,
        repeatable: bool = False,
    ) -> Request:
        """Returns a request. Arguments that are None are not sent."""
        prefix = "/v1" if self.user is None else f"/v1/users/{quote(self.user)}"
        headers: dict[str, str] = {}
        content: bytes | None = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = encoded({k: v for k, v in body.items() if v is not None})
        elif lines is not None:
            headers["Content-Type"] = "application/x-ndjson"
            content = b"".join(joined(lines))
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        return Request(
            method=method,
            url=f"{self.url}{prefix}{path}",
            params={k: plain(v) for k, v in (query or {}).items() if v is not None},
            headers=headers,
            content=content,
            timeout=TRANSFER if path in ("/export", "/import") else self.timeout,
            repeatable=repeatable or method in ("GET", "PUT") or idempotency_key is not None,
        )


class Request:
    """A request, and whether repeating it is safe."""

    def __init__(
        self,
        *,
        method: str,
        url: str,
        params: dict[str, str],
        headers: dict[str, str],
        content: bytes | None,
        timeout: httpx.Timeout,
        repeatable: bool,
    ) -> None:
        self.method, self.url, self.params = method, url, params
        self.headers, self.content = headers, content
        self.timeout, self.repeatable = timeout, repeatable

    def delay(self, attempt: int, answer: httpx.Response | None) -> float:
        """Returns the seconds to wait before another attempt, the first of which has the number 0."""
        wait = min(8.0, 0.25 * float(2**attempt)) * random.uniform(0.5, 1.0)
        try:
            return max(wait, min(60.0, float(answer.headers["Retry-After"]))) if answer is not None else wait
        except (KeyError, ValueError):
            return wait


def problem(answer: httpx.Response) -> APIError:
    """Returns the error that an answer describes. Its body has been read."""
    try:
        content = answer.json()
    except ValueError:
        content = {"detail": answer.text[:200]} if answer.text else {}
    if not isinstance(content, dict):
        content = {}
    return error_of(answer.status_code, content, answer.headers.get("X-Request-Id"))


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def parsed(kind: type[T], data: Any) -> T:
    """Returns an answer as its type."""
    result: T = adapter(cast(Any, kind)).validate_python(data)
    return result


def encoded(value: Any) -> bytes:
    return json.dumps(value, default=_default, ensure_ascii=False, separators=(",", ":")).encode()


def _default(value: Any) -> Any:
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


def moment(value: datetime) -> str:
    """Returns a time as RFC 3339. A time without a zone is local, as everywhere in Python."""
    return (value if value.tzinfo else value.astimezone()).isoformat()


def plain(value: Any) -> str:
    """Returns a parameter of a query as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ",".join(plain(v) for v in value)
    return str(value)


def joined(lines: Lines) -> Iterator[bytes]:
    """Returns JSON Lines as bytes."""
    if isinstance(lines, str):
        yield lines.encode()
        return
    for line in lines:
        yield (line.rstrip("\r\n").encode() if isinstance(line, str) else encoded(line)) + b"\n"
