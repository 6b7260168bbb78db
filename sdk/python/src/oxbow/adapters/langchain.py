"""A chat history of LangChain: `pip install oxbow-memory[langchain]`."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    message_to_dict,
    messages_from_dict,
)

from oxbow._client import Client
from oxbow.adapters._messages import Role, batches, item_of, stored
from oxbow.models import Message

_ROLES: dict[str, Role] = {"human": "user", "ai": "assistant", "system": "system"}


class OxbowChatMessageHistory(BaseChatMessageHistory):
    """Keeps the messages of a conversation, from which Oxbow extracts memories.

    `clear` deletes the messages; memories that were extracted stay.

    client: The client, for the user of the conversation.
    session_id: The conversation.
    """

    def __init__(self, client: Client, session_id: str) -> None:
        self._client = client
        self.session_id = session_id

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """The messages in order."""
        return [_message(m) for m in self._client.list_messages(self.session_id)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Adds messages."""
        new = [stored(self.session_id, _ROLES.get(m.type, "tool"), str(m.text), message_to_dict(m)) for m in messages]
        for batch in batches(new):
            self._client.add_messages(batch)

    def clear(self) -> None:
        """Deletes all messages of the conversation."""
        self._client.delete_messages(self.session_id, all=True)


def _message(message: Message) -> BaseMessage:
    item = item_of(message)
    if item is not None:
        return messages_from_dict([item])[0]
    if message.role == "assistant":
        return AIMessage(message.content)
    return HumanMessage(message.content) if message.role == "user" else SystemMessage(message.content)
