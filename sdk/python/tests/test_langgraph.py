"""Compares the store with LangGraph's own, and uses it in a graph."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypedDict

import pytest
from langgraph.config import get_store
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore, GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import oxbow
from conftest import searchable
from oxbow.adapters.langgraph import OxbowStore


def seen(result: Any) -> Any:
    """Returns what both stores must agree on."""
    if isinstance(result, list):
        return [seen(r) for r in result]
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result


def everything(store: BaseStore) -> list[Any]:
    """Does what can be done with a store, and returns what it answered."""
    got: list[Any] = []
    values: list[dict[str, Any]] = [
        {"text": "likes tea", "n": 1, "nested": {"a": [1, {"b": None}]}, "键": "值 🌸"},
        {"text": "likes\ncoffee \x00", "n": 2.5, "big": 12345678901234567890, "nested": {"a": [2]}},
        {},
    ]
    for i, value in enumerate(values):
        store.put(("users", "ada"), f"key {i}", value)
        store.put(("users", "bob"), f"key {i}", {**value, "n": 10 + i})
        store.put(("users", "ada", "deep/er"), "键 'quoted\"", value)
    store.put(("docs",), "key 0", {"text": "a document"})
    store.put(("x" * 2000,), "k" * 2000, {"long": "name"})
    for namespace in [("users", "ada"), ("users", "bob"), ("docs",), ("x" * 2000,)]:
        got += [store.get(namespace, key) for key in ("key 0", "key 1", "key 2", "none", "k" * 2000)]
    got.append(store.get(("users", "ada", "deep/er"), "键 'quoted\""))
    # another value, the same value, another key with the same value
    store.put(("users", "ada"), "key 0", {"text": "likes nothing", "n": 3})
    store.put(("users", "ada"), "key 1", values[1])
    store.put(("users", "ada"), "key 3", values[1])
    got += [store.get(("users", "ada"), f"key {i}") for i in range(4)]
    # deletion, also of what does not exist, and a new beginning
    store.delete(("users", "bob"), "key 1")
    store.delete(("users", "bob"), "key 1")
    got.append(store.get(("users", "bob"), "key 1"))
    store.put(("users", "bob"), "key 1", {"text": "back", "n": 5})
    got.append(store.get(("users", "bob"), "key 1"))
    filters: list[dict[str, Any]] = [
        {"n": 3}, {"n": {"$ne": 3}}, {"text": "likes tea"}, {"nested": {"a": [2]}}, {"n": "3"}, {"n": {"$eq": 12}},
        {"nested": {"a": [1, {"b": None}]}}, {"text": {"$ne": "likes tea"}, "n": 2.5},
    ]  # fmt: skip
    for filter in filters:
        got.append(sorted(seen(store.search(("users",), filter=filter, limit=100)), key=str))
    for filter in ({"n": {"$gt": 10, "$lte": 12}}, {"n": {"$gte": "11"}}, {"n": {"$lt": 5}}):
        got.append(sorted(seen(store.search(("users", "bob"), filter=filter)), key=str))
    everywhere = store.search((), limit=100)
    got.append(sorted(seen(everywhere), key=str))
    got.append(sorted(seen(store.search(("users",), limit=100)), key=str))
    got.append(len(store.search(("users",), limit=3)))
    got.append(len(store.search(("users",), limit=100, offset=4)))
    got.append(store.search(("user",)))
    got.append(store.list_namespaces())
    got.append(store.list_namespaces(prefix=("users",)))
    got.append(store.list_namespaces(prefix=("users", "*", "deep/er")))
    got.append(store.list_namespaces(suffix=("ada",)))
    got.append(store.list_namespaces(max_depth=1))
    got.append(store.list_namespaces(prefix=("users",), max_depth=2, limit=1, offset=1))
    got.append(store.list_namespaces(prefix=("nothing",)))
    got += store.batch([
        GetOp(("docs",), "key 0"),
        PutOp(("docs",), "key 0", {"text": "one"}), PutOp(("docs",), "key 0", {"text": "two"}),
        PutOp(("docs",), "key 1", {"text": "three"}), GetOp(("docs",), "key 1"), SearchOp(("docs",)),
        ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("docs",)),)), PutOp(("docs",), "none", None),
    ])  # fmt: skip
    got += [store.get(("docs",), "key 0"), store.get(("docs",), "key 1")]
    return [seen(g) for g in got]


def test_it_does_what_langgraphs_store_does(client: oxbow.Client) -> None:
    ours, theirs = everything(OxbowStore(client)), everything(InMemoryStore())
    assert len(ours) == len(theirs) > 50
    for i, (mine, reference) in enumerate(zip(ours, theirs, strict=True)):
        assert mine == reference, i


def test_what_does_not_exist(client: oxbow.Client) -> None:
    store = OxbowStore(client)
    store.delete(("users", "nobody"), "key")
    assert store.get(("users", "nobody"), "key") is None
    assert store.search(("users",), query="anything") == []
    assert store.list_namespaces() == []


async def test_async(client: oxbow.Client) -> None:
    store = OxbowStore(client)
    await asyncio.gather(*(store.aput(("a",), str(i), {"i": i}) for i in range(20)))
    items = await asyncio.gather(*(store.aget(("a",), str(i)) for i in range(20)))
    assert [i.value if i else None for i in items] == [{"i": i} for i in range(20)]
    assert len(await store.asearch(("a",), limit=30)) == 20
    await store.adelete(("a",), "3")
    assert await store.aget(("a",), "3") is None
    assert await store.alist_namespaces() == [("a",)]


def test_times_and_versions(client: oxbow.Client) -> None:
    store = OxbowStore(client)
    store.put(("a",), "k", {"v": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"v": 2})
    store.put(("a",), "k", {"v": 3})
    last = store.get(("a",), "k")
    assert first is not None
    assert last is not None
    assert first.created_at == first.updated_at == last.created_at < last.updated_at
    current = next(client.list_memories())
    assert len(client.list_versions(current.id)) == 3
    store.delete(("a",), "k")
    assert client.get(current.id).forgotten_at
    client.restore(current.id)
    again = store.get(("a",), "k")
    assert again is not None
    assert again.value == {"v": 3}


def test_search_by_meaning(client: oxbow.Client) -> None:
    store = OxbowStore(client, fields=["text"])
    store.put(("users", "ada"), "home", {"text": "Ada lives in Lisbon", "secret": "cello"})
    store.put(("users", "ada"), "花", {"text": "女儿喜欢紫色的兰花"})
    store.put(("users", "bob"), "home", {"text": "Bob lives in Lisbon too"})
    store.put(("users", "ada"), "hidden", {"text": "Ada lives in Lisbon, hidden"}, index=False)
    store.put(("users", "ada"), "other", {"text": "", "note": "plays the cello"}, index=["note"])
    searchable(client, *(m.id for m in client.list_memories()))
    found = store.search(("users", "ada"), query="where does Ada live?")
    assert found[0].key == "home"
    assert found[0].score is not None
    assert {i.key: i.score is None for i in found}["hidden"], "it comes last, without a score"
    assert len(found) == 4
    assert store.search(("users", "ada"), query="女儿喜欢什么花？", limit=1)[0].key == "花"
    assert store.search(("users", "ada"), query="cello", limit=1)[0].key == "other"
    assert [i.key for i in store.search(("users", "ada"), query="cello", filter={"note": "x"})] == []
    assert store.search(("users", "ada"), query="where does Ada live?", limit=1, offset=1)[0].key != "home"


def test_time_to_live(client: oxbow.Client) -> None:
    store = OxbowStore(client, ttl={"default_ttl": 60.0})
    store.put(("a",), "default", {"v": 1})
    store.put(("a",), "none", {"v": 1}, ttl=None)
    store.put(("a",), "soon", {"v": 1}, ttl=0.0005)
    store.put(("a",), "changed", {"v": 1}, ttl=60)
    store.put(("a",), "changed", {"v": 2}, ttl=None)
    store.put(("a",), "changed", {"v": 3}, ttl=5)
    while store.get(("a",), "soon"):
        pass
    ends = {i["item"]["key"]: m.expires_at for m in client.list_memories() if (i := m.metadata)}
    assert ends["none"] is None
    assert ends["default"] is not None
    assert ends["changed"] is not None
    assert ends["changed"] < ends["default"]
    item = store.get(("a",), "changed")
    assert item is not None
    assert item.value == {"v": 3}
    assert item.created_at < item.updated_at


def test_the_user_may_be_in_the_namespace(client: oxbow.Client, user: str) -> None:
    def who(namespace: tuple[str, ...]) -> str | None:
        return f"{user} {namespace[1]}" if len(namespace) > 1 else None

    store = OxbowStore(client, user=who)
    store.put(("memories", "ada"), "k", {"v": "ada's"})
    store.put(("memories", "bob"), "k", {"v": "bob's"})
    assert [m.user_id for m in client.for_user(f"{user} ada").list_memories()] == [f"{user} ada"]
    assert [i.value for i in store.search(("memories", "bob"))] == [{"v": "bob's"}]
    assert store.list_namespaces(prefix=("memories", "ada")) == [("memories", "ada")]
    with pytest.raises(ValueError, match="does not tell the user"):
        store.search(("memories",))
    fixed = OxbowStore(client, user=f"{user} ada", name="other")
    assert fixed.search(()) == [], "of another name"


def test_many_threads_put_the_same_item(client: oxbow.Client) -> None:
    store = OxbowStore(client)
    errors: list[Exception] = []

    def put(n: int) -> None:
        try:
            store.put(("a",), "k", {"n": n})
        except oxbow.ConflictError as error:
            errors.append(error)

    run_all([partial(put, n) for n in range(8)])
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value["n"] in range(8)
    assert len(store.search(("a",))) == 1
    store.put(("a",), "k", {"n": 9})
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None


def run_all(functions: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=f) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class State(TypedDict):
    question: str
    answer: str


def test_a_graph_remembers(client: oxbow.Client) -> None:
    def remember(state: State) -> State:
        store = get_store()
        store.put(("facts",), state["question"], {"text": state["question"]})
        return {**state, "answer": ", ".join(sorted(i.key for i in store.search(("facts",))))}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(store=OxbowStore(client))
    graph.invoke({"question": "one", "answer": ""})
    assert graph.invoke({"question": "二", "answer": ""})["answer"] == "one, 二"
