"""Oxbow: long-term memory about users.

import oxbow

client = oxbow.Client("oxb_…", user="ada")
client.add("Ada lives in Lisbon")
client.recall("Where does Ada live?").memories
"""

from oxbow import errors, models
from oxbow._async_client import AsyncClient
from oxbow._client import Client
from oxbow._version import __version__
from oxbow.errors import (
    APIError,
    BadRequestError,
    ConflictError,
    ConnectionFailedError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    OxbowError,
    RateLimitError,
    ServerError,
    TooLargeError,
    UnauthorizedError,
    UnavailableError,
)

__all__ = [
    "APIError",
    "AsyncClient",
    "BadRequestError",
    "Client",
    "ConflictError",
    "ConnectionFailedError",
    "ForbiddenError",
    "InvalidError",
    "NotFoundError",
    "OxbowError",
    "RateLimitError",
    "ServerError",
    "TooLargeError",
    "UnauthorizedError",
    "UnavailableError",
    "__version__",
    "errors",
    "models",
]
