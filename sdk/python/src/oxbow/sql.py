"""Oxbow without a server: the SQL functions on a connection of psycopg 3, in the caller's transaction."""

from oxbow._async_sql import AsyncMemory
from oxbow._sql import Memory

__all__ = ["AsyncMemory", "Memory"]
