"""A replacement of mem0: `from oxbow.mem0 import Memory` instead of `from mem0 import Memory`."""

from oxbow._async_mem0 import AsyncMemory, AsyncMemoryClient
from oxbow._mem0 import Memory, MemoryClient

__all__ = ["AsyncMemory", "AsyncMemoryClient", "Memory", "MemoryClient"]
