"""Sends the requests of the async client."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, TypeVar

import httpx
from typing_extensions import Self

from oxbow._http import RETRIED, Request, Settings, parsed, problem, quote
from oxbow.errors import ConnectionFailedError
from oxbow.models import Operation

T = TypeVar("T")


class AsyncBase:
    """The client of an Oxbow server.

    api_key: Default: the variable OXBOW_API_KEY.
    url: Default: the variable OXBOW_URL, or http://127.0.0.1:8080.
    user: The user whom requests concern, for an app's or an operator's key.
    timeout: Seconds for one attempt.
    max_retries: How often a request that may be repeated is repeated.
    http_client: Default: a new one, which `aclose` closes.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        url: str | None = None,
        user: str | None = None,
        timeout: float = 30.0,
        max_retries: int = 3,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._settings = Settings(api_key, url=url, user=user, timeout=timeout, max_retries=max_retries)
        self._http = http_client or httpx.AsyncClient()
        self._owns = http_client is None

    @property
    def user(self) -> str | None:
        """The user whom requests concern."""
        return self._settings.user

    def for_user(self, user: str) -> Self:
        """Returns a client for another user, with the same key and connections."""
        client = object.__new__(type(self))
        client._settings = object.__new__(Settings)
        client._settings.__dict__.update(self._settings.__dict__, user=user)
        client._http, client._owns = self._http, False
        return client

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._owns:
            await self._http.aclose()

    async def wait(self, id: str, timeout: float = 60.0) -> Operation:
        """Waits until the work on a memory that was added is done or has failed, and returns its operation.

        timeout: Seconds after which it returns the operation as it is.
        """
        end, pause = time.monotonic() + timeout, 0.02
        while True:
            operation = await self._call(Operation, "GET", f"/operations/{quote(id)}")
            if operation.state in ("done", "failed") or time.monotonic() >= end:
                return operation
            await asyncio.sleep(pause)
            pause = min(2 * pause, 1.0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _send(self, request: Request, stream: bool = False) -> httpx.Response:
        """Returns the answer to a request, which it repeats where that is safe and may help."""
        last = self._settings.max_retries if request.repeatable else 0
        attempt = 0
        while True:
            answer: httpx.Response | None = None
            try:
                answer = await self._http.send(
                    self._http.build_request(
                        request.method,
                        request.url,
                        params=request.params,
                        headers={**self._settings.headers, **request.headers},
                        content=request.content,
                        timeout=request.timeout,
                    ),
                    stream=stream,
                )
                if answer.is_success:
                    return answer
                await answer.aread()
                if answer.status_code not in RETRIED or attempt >= last:
                    raise problem(answer)
            except httpx.TransportError as error:
                if attempt >= last:
                    raise ConnectionFailedError(f"{self._settings.url}: {error or type(error).__name__}") from error
            await asyncio.sleep(request.delay(attempt, answer))
            attempt += 1

    async def _call(self, kind: type[T], method: str, path: str, **request: Any) -> T:
        answer = await self._send(self._settings.request(method, path, **request))
        return parsed(kind, answer.json())

    async def _list(self, kind: type[T], method: str, path: str, **request: Any) -> list[T]:
        answer = await self._send(self._settings.request(method, path, **request))
        return [parsed(kind, item) for item in answer.json()["items"] or []]

    async def _pages(self, kind: type[T], method: str, path: str, *, query: dict[str, Any]) -> AsyncIterator[T]:
        cursor: str | None = None
        while True:
            answer = await self._send(self._settings.request(method, path, query={**query, "cursor": cursor}))
            page = answer.json()
            for item in page["items"] or []:
                yield parsed(kind, item)
            cursor = page.get("next_cursor")
            if not cursor:
                return

    async def _lines(self, method: str, path: str) -> AsyncIterator[dict[str, Any]]:
        answer = await self._send(self._settings.request(method, path), stream=True)
        try:
            async for line in answer.aiter_lines():
                yield json.loads(line)
        except httpx.TransportError as error:
            raise ConnectionFailedError(f"the answer is incomplete: {error}") from error
        finally:
            await answer.aclose()
