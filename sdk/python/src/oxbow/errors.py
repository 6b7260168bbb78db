"""Errors of requests. All are an `OxbowError`."""

from __future__ import annotations

import re
from typing import Any


class OxbowError(Exception):
    """An error of this package."""


class ConnectionFailedError(OxbowError):
    """The server could not be reached, or did not answer in time."""


class APIError(OxbowError):
    """The server refused a request, with a problem of RFC 9457.

    status: The HTTP status.
    detail: What is wrong, as a sentence.
    field, value, rule: For a value that is not allowed, its name, the value, and what it must be.
    errors: All such values, each with the keys location, value and message.
    request_id: The id under which the server logged the request.
    """

    def __init__(self, status: int, problem: dict[str, Any], request_id: str | None = None) -> None:
        self.status = status
        self.title = str(problem.get("title") or "")
        self.detail = str(problem.get("detail") or self.title or f"HTTP status {status}")
        self.errors: list[dict[str, Any]] = problem.get("errors") or []
        self.request_id = request_id
        self.field: str | None = None
        self.value: Any = None
        self.rule: str | None = None
        if self.errors:
            first = self.errors[0]
            self.field = re.sub(r"^(body|query|path|header)\.", "", first.get("location") or "") or None
            self.value, self.rule = first.get("value"), first.get("message")
        super().__init__(self.detail if self.rule is None or self.rule in self.detail else self._named())

    def _named(self) -> str:
        return f"{self.detail}: {self.field} {self.rule}, got {self.value!r}"


class BadRequestError(APIError):
    """The request cannot be understood (400)."""


class UnauthorizedError(APIError):
    """The key is missing, unknown, expired or revoked (401)."""


class ForbiddenError(APIError):
    """The key does not allow this (403)."""


class NotFoundError(APIError):
    """The user has no such memory, trait or file (404)."""


class ConflictError(APIError):
    """The memory is superseded, or forgotten, or not forgotten (409)."""


class TooLargeError(APIError):
    """The request is too large (413)."""


class InvalidError(APIError):
    """A value is not allowed: `field`, `value` and `rule` (422)."""


class RateLimitError(APIError):
    """Too many requests (429)."""


class ServerError(APIError):
    """The server failed (5xx)."""


class UnavailableError(ServerError):
    """The server or its database cannot be used now (503)."""


_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    422: InvalidError,
    429: RateLimitError,
    503: UnavailableError,
}


def error_of(status: int, problem: dict[str, Any], request_id: str | None = None) -> APIError:
    """Returns the error for a problem."""
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else APIError)
    return kind(status, problem, request_id)
