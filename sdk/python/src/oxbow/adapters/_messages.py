"""How adapters store the messages of frameworks, so that they come back as they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from oxbow.models import Message, NewMessage

Role = Literal["user", "assistant", "system", "tool"]

BATCH = 500  # messages a request
LONGEST = 250_000  # characters, at most 1 MB


def stored(session_id: str, role: Role, text: str, item: Any) -> NewMessage:
    """Returns a message whose metadata has the framework's own. Nothing is extracted from the text of a tool."""
    encoded = json.dumps(item, ensure_ascii=False)
    if not text.strip():
        role, text = "tool", encoded
    content = text.replace("\0", " ")[:LONGEST]
    return {"session_id": session_id, "role": role, "content": content, "metadata": {"item": encoded}}


def item_of(message: Message) -> Any:
    """Returns the framework's message, or None if another program stored this one."""
    encoded = message.metadata.get("item")
    return None if encoded is None else json.loads(encoded)


def batches(messages: list[NewMessage]) -> Iterator[list[NewMessage]]:
    for i in range(0, len(messages), BATCH):
        yield messages[i : i + BATCH]
