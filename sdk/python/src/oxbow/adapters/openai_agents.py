"""A session of the OpenAI Agents SDK: `pip install oxbow-memory[openai-agents]`."""

from __future__ import annotations

from typing import Any, cast

from agents import TResponseInputItem
from agents.memory import SessionABC, SessionSettings

from oxbow._async_client import AsyncClient
from oxbow.adapters._messages import Role, batches, item_of, stored

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class OxbowSession(SessionABC):
    """Keeps the items of a conversation, from which Oxbow extracts memories.

    `pop_item` and `clear_session` delete items; memories that were extracted stay.

    client: The client, for the user of the conversation.
    session_id: The conversation.
    session_settings: How many items the SDK reads by default.
    """

    def __init__(self, client: AsyncClient, session_id: str, session_settings: SessionSettings | None = None) -> None:
        self._client = client
        self.session_id = session_id
        self.session_settings = session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the items in order, or the last of them."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        messages = await self._client.list_messages(self.session_id)
        if limit is not None:
            messages = messages[max(0, len(messages) - limit) :] if limit > 0 else []
        return [item_of(m) or _item(m.role, m.content) for m in messages]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items."""
        new = []
        for item in items:
            given = cast(dict[str, Any], item)
            role = _ROLES.get(given.get("role", ""), "tool")
            new.append(stored(self.session_id, role, _text(given.get("content")), given))
        for batch in batches(new):
            await self._client.add_messages(batch)

    async def pop_item(self) -> TResponseInputItem | None:
        """Deletes the last item and returns it."""
        messages = await self._client.list_messages(self.session_id)
        if not messages:
            return None
        last = messages[-1]
        await self._client.delete_messages(self.session_id, id=[last.id])
        return cast(TResponseInputItem, item_of(last) or _item(last.role, last.content))

    async def clear_session(self) -> None:
        """Deletes all items."""
        await self._client.delete_messages(self.session_id, all=True)


def _text(content: Any) -> str:
    """Returns the text of an item."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str))


def _item(role: str, content: str) -> TResponseInputItem:
    """Returns the item for a message that another program stored."""
    return cast(TResponseInputItem, {"role": role if role in _ROLES else "system", "content": content})
