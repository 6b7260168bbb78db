"""Uses the chat histories in their frameworks, with models that need no network."""

from __future__ import annotations

import time
from typing import Any

import pytest
from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.memory import Session, SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call
from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables.history import RunnableWithMessageHistory
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, ImageBlock, MessageRole, MockLLM, TextBlock
from llama_index.core.memory import ChatMemoryBuffer

import oxbow
from conftest import setting
from oxbow.adapters.langchain import OxbowChatMessageHistory
from oxbow.adapters.llamaindex import OxbowMemory
from oxbow.adapters.openai_agents import OxbowSession

# LangChain wants applications to move to LangGraph.
pytestmark = pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")


def extracted(client: oxbow.Client, word: str) -> None:
    """Waits until a fact with a word exists."""
    limit = time.monotonic() + 60
    while not any(word in f.content for f in client.list_facts()):
        assert time.monotonic() < limit
        time.sleep(0.05)


# ---- LangChain ----

CHAT: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("I live in Lisbon. 我喜欢兰花 🌸\0", id="m1", name="Ada"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"n": 2**60, "city": "Lisbon"}, "id": "c1"}]),
    ToolMessage("22 °C", tool_call_id="c1", artifact={"raw": [22.0, None]}),
    AIMessage([{"type": "text", "text": "It is"}, {"type": "image_url", "image_url": {"url": "http://x/y.png"}}],
              response_metadata={"model": "m"},
              usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
]  # fmt: skip


def test_langchain_history(client: oxbow.Client) -> None:
    history: BaseChatMessageHistory = OxbowChatMessageHistory(client, "chat/1")
    reference = InMemoryChatMessageHistory()
    for h in (history, reference):
        h.add_messages(CHAT)
        h.add_user_message("Thanks")
        h.add_message(AIMessage("Bye"))
    assert history.messages == reference.messages
    assert str(history) == str(reference)
    assert OxbowChatMessageHistory(client, "chat/2").messages == []
    client.end_session("chat/1")
    extracted(client, "Lisbon")
    history.clear()
    history.clear()
    assert history.messages == []
    assert client.list_facts()
    client.add_messages([{"session_id": "chat/1", "content": "from elsewhere"}])
    assert history.messages == [HumanMessage("from elsewhere")]


async def test_langchain_async(client: oxbow.Client) -> None:
    history = OxbowChatMessageHistory(client, "chat")
    await history.aadd_messages(CHAT)
    assert await history.aget_messages() == CHAT
    await history.aclear()
    assert await history.aget_messages() == []


def test_langchain_runs(client: oxbow.Client) -> None:
    model = FakeListChatModel(responses=["Hello Ada", "You are Ada"])
    chain = RunnableWithMessageHistory(model, lambda session_id: OxbowChatMessageHistory(client, session_id))
    config: Any = {"configurable": {"session_id": "s"}}
    chain.invoke([HumanMessage("I am Ada")], config)
    chain.invoke([HumanMessage("Who am I?")], config)
    texts = [m.content for m in OxbowChatMessageHistory(client, "s").messages]
    assert texts == ["I am Ada", "Hello Ada", "Who am I?", "You are Ada"]


# ---- LlamaIndex ----


def test_llamaindex_memory(client: oxbow.Client) -> None:
    memory = OxbowMemory.from_defaults(client, session_id="chat", max_tokens=0)
    reference = ChatMemoryBuffer.from_defaults(token_limit=10_000, tokenizer_fn=str.split)
    messages = [
        ChatMessage("I live in Lisbon. 我喜欢兰花", role=MessageRole.USER),
        ChatMessage("", role=MessageRole.ASSISTANT, additional_kwargs={"tool_calls": [{"id": "1"}]}),
        ChatMessage("22 °C", role=MessageRole.TOOL, additional_kwargs={"tool_call_id": "1"}),
        ChatMessage(role="assistant", blocks=[TextBlock(text="See"), ImageBlock(url="http://x/y.png")]),
    ]
    for m in (memory, reference):
        m.put_messages(messages)
        m.put(ChatMessage("Thanks"))
    assert memory.get_all() == reference.get_all()
    assert memory.get("x") == reference.get("x")
    client.end_session("chat")
    extracted(client, "Lisbon")
    memory.max_tokens, memory.max_messages = 200, 2
    known, *rest = memory.get("Where do I live?")
    assert known.role == MessageRole.SYSTEM
    assert "Lisbon" in (known.content or "")
    assert [m.content for m in rest] == ["See", "Thanks"]
    memory.set(messages[:1])
    assert memory.get_all() == messages[:1]
    memory.reset()
    assert memory.get_all() == []


async def test_llamaindex_chats(client: oxbow.Client) -> None:
    memory = OxbowMemory.from_defaults(client, session_id="chat")
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(max_tokens=4), memory=memory)
    engine.chat("I live in Porto")
    await engine.achat("and I row")
    roles = [m.role for m in await memory.aget_all()]
    assert roles == [MessageRole.USER, MessageRole.ASSISTANT] * 2
    await memory.areset()
    assert await memory.aget() == []


# ---- OpenAI Agents SDK ----


async def test_session(async_client: oxbow.AsyncClient, client: oxbow.Client) -> None:
    session, reference = OxbowSession(async_client, "chat"), SQLiteSession("chat")
    assert isinstance(session, Session)
    items: list[Any] = [
        {"role": "user", "content": "I live in Lisbon. 我喜欢兰花"},
        {"type": "function_call", "call_id": "1", "name": "weather", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": "1", "output": "22 °C"},
        {"type": "message", "role": "assistant", "id": "m", "status": "completed",
         "content": [{"type": "output_text", "text": "Warm.", "annotations": []}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "http://x/y.png", "detail": "auto"}]},
    ]  # fmt: skip
    for s in (session, reference):
        assert await s.get_items() == []
        assert await s.pop_item() is None
        await s.add_items(items)
        await s.add_items([])
    assert await session.get_items() == await reference.get_items() == items
    for limit in (0, 1, 3, 10):
        assert await session.get_items(limit) == await reference.get_items(limit)
    assert await session.pop_item() == await reference.pop_item() == items[-1]
    assert await session.get_items() == items[:-1]
    session.session_settings = SessionSettings(limit=2)
    assert await session.get_items() == items[2:4]
    await async_client.end_session("chat")
    extracted(client, "Lisbon")
    await session.clear_session()
    assert await session.get_items() == []
    await async_client.add_messages([{"session_id": "chat", "content": "from elsewhere"}])
    assert await session.get_items() == [{"role": "user", "content": "from elsewhere"}]
    reference.close()


async def test_an_agent_remembers(async_client: oxbow.AsyncClient) -> None:
    set_tracing_disabled(True)
    setting("OXBOW_URL")

    @function_tool
    def weather(city: str) -> str:
        """Returns the weather."""
        return f"sunny in {city}"

    steps = [function_call("weather", {"city": "Lisbon"}, call_id="1"), assistant_message("Sunny"),
             assistant_message("You asked")]  # fmt: skip
    model = ScriptedModel([[step] for step in steps])
    agent = Agent(name="Guide", model=model, tools=[weather])
    session = OxbowSession(async_client, "chat")
    assert (await Runner.run(agent, "What is the weather?", session=session)).final_output == "Sunny"
    assert (await Runner.run(agent, "What did I ask?", session=session)).final_output == "You asked"
    items = await session.get_items()
    assert [i.get("type", i.get("role")) for i in items] == [
        "user", "function_call", "function_call_output", "message", "user", "message",
    ]  # fmt: skip
    assert len(model.calls[-1].input) == 5
