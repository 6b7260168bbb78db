"""Makes the same calls of the real mem0, with a model and an embedder that answer offline, and compares the shapes."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import mem0  # type: ignore[import-untyped]
import pytest

import oxbow
from conftest import person_key, setting
from oxbow.mem0 import AsyncMemory, AsyncMemoryClient, Memory, MemoryClient

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Models(BaseHTTPRequestHandler):
    """Answers as OpenAI: vectors of words, and one fact from every conversation."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            data = [{"object": "embedding", "index": i, "embedding": self.vector(t)} for i, t in enumerate(texts)]
            answer: Any = {
                "object": "list",
                "data": data,
                "model": "m",
                "usage": {"prompt_tokens": 1, "total_tokens": 1},
            }
        else:
            memory = {"memory": [{"id": "0", "text": "Lives in Lisbon", "attributed_to": "user"}], "facts": ["x"]}
            message = {"role": "assistant", "content": json.dumps(memory)}
            answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
                      "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}  # fmt: skip
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def vector(self, text: str) -> list[float]:
        values = [0.01] * 64
        for word in text.lower().split():
            values[hashlib.md5(word.encode()).digest()[0] % 64] += 1.0  # noqa: S324
        return values

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Models)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    model = {"api_key": "none", "openai_base_url": url}
    memory = mem0.Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": {"path": str(tmp_path / "q"), "embedding_model_dims": 64}},
            "llm": {"provider": "openai", "config": {"model": "m", **model}},
            "embedder": {"provider": "openai", "config": {"model": "m", "embedding_dims": 64, **model}},
            "history_db_path": str(tmp_path / "history.db"),
        }
    )
    yield memory
    memory.close()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def ours() -> Iterator[Memory]:
    setting("OXBOW_URL")
    with Memory() as memory:
        yield memory


CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "I live in Lisbon and I love sushi.", "name": "Ada"},
    {"role": "assistant", "content": "How nice."},
]


def shape(value: Any) -> Any:
    """Returns the keys and types of a value; texts that applications compare stay."""
    if isinstance(value, dict):
        return {k: v if k in ("event", "message", "role", "is_deleted") else shape(v) for k, v in value.items()}
    if isinstance(value, list):
        return [shape(v) for v in value]
    return type(value).__name__


def calls(memory: Any, user: str) -> dict[str, Any]:
    """Makes calls that do not need a model's judgement."""
    got: dict[str, Any] = {}
    scope = {"user_id": user}
    got["add"] = memory.add(CHAT, infer=False, metadata={"from": "app"}, **scope)
    got["add text"] = memory.add("Has a boat", infer=False, agent_id="guide", run_id="r1", **scope)
    id = got["add text"]["results"][0]["id"]
    got["get"] = memory.get(id)
    got["get none"] = memory.get("3f2b8c9e-6a34-4b3c-8f57-2a4c1d9e0b11")
    got["get_all"] = sorted(memory.get_all(filters=scope)["results"], key=lambda r: str(r["memory"]))
    got["get_all agent"] = memory.get_all(filters={**scope, "agent_id": "guide"})
    got["get_all none"] = memory.get_all(filters={**scope, "agent_id": "other"})
    got["search"] = memory.search("boat", filters={**scope, "run_id": "r1"})
    got["search metadata"] = memory.search("I live in Lisbon", filters={**scope, "from": "app", "role": "user"})
    got["update"] = memory.update(id, "Has two boats")
    got["updated"] = memory.get(id)["memory"]
    got["history"] = memory.history(id)
    got["delete"] = memory.delete(id)
    got["deleted"] = memory.get(id)
    got["history of deleted"] = memory.history(id)
    with pytest.raises(ValueError, match="not found"):
        memory.delete(id)
    with pytest.raises(ValueError):  # noqa: PT011
        memory.update(id)
    got["delete_all"] = memory.delete_all(**scope)
    got["get_all deleted"] = memory.get_all(filters=scope)
    with pytest.raises(ValueError):  # noqa: PT011
        memory.delete_all()
    return got


def test_shapes_are_those_of_mem0(theirs: Any, ours: Memory, user: str) -> None:
    user = user.replace(" ", "-")  # mem0 allows none
    reference, mine = calls(theirs, user), calls(ours, user)
    for name, expected in reference.items():
        got = mine[name]
        if name == "history":  # mem0 has the name of the speaker, Oxbow who changed it
            expected, got = ([{**h, "actor_id": None, "role": None} for h in x] for x in (expected, got))
        if name == "history of deleted":
            expected, got = ([(h["event"], h["old_memory"], h["new_memory"]) for h in x] for x in (expected, got))
            assert got == expected
        assert shape(got) == shape(expected), name
    for name in ("updated", "get none", "deleted", "get_all none", "get_all deleted", "delete"):
        assert mine[name] == reference[name], name
    assert [r["memory"] for r in mine["add"]["results"]] == [r["memory"] for r in reference["add"]["results"]]
    assert mine["get"]["hash"] == reference["get"]["hash"]


def test_memories_are_extracted(theirs: Any, ours: Memory, user: str) -> None:
    user = user.replace(" ", "-")
    reference, mine = (m.add(CHAT, user_id=user, metadata={"k": 1}) for m in (theirs, ours))
    assert shape(mine["results"][0]) == shape(reference["results"][0])
    texts = {r["memory"] for r in mine["results"]}
    assert any("Lisbon" in t for t in texts)
    assert any("sushi" in t for t in texts)
    found = ours.search("Where does she live?", filters={"user_id": user}, top_k=1)["results"]
    assert "Lisbon" in found[0]["memory"]
    assert 0 < found[0]["score"] < 1
    again = ours.add("I live in Porto now.", user_id=user, run_id="chat")["results"]
    assert [r["memory"] for r in again if "Porto" in r["memory"]]
    more = ours.add([{"role": "user", "content": "我女儿喜欢兰花。"}], user_id=user, run_id="chat")["results"]
    assert ["兰花" in r["memory"] for r in more] == [True]
    assert ours.add("Hello!", user_id=user)["results"] == []
    assert ours.get(again[0]["id"])
    where = ours.search("Where does she live?", user_id=user, limit=1)["results"]
    assert "Porto" in where[0]["memory"], "the newer fact replaced the older one"


def test_old_ids_lead_to_the_newest_version(ours: Memory, user: str) -> None:
    first = ours.add("Has a boat", user_id=user, infer=False, metadata={"a": 1}, expiration_date="2999-12-31")
    id = first["results"][0]["id"]
    ours.update(id, metadata={"b": 2, "user_id": "mallory"})
    ours.update(id, data="Has two boats")
    got = ours.get(id)
    assert got is not None
    assert (got["memory"], got["metadata"], got["user_id"]) == ("Has two boats", {"a": 1, "b": 2}, user)
    assert [h["event"] for h in ours.history(id)] == ["ADD", "UPDATE", "UPDATE"]
    ours.delete(id)
    own, _, owner = id.partition(":")
    with oxbow.Client(user=owner) as client:
        newest = next(m for m in client.list_versions(own) if not m.superseded_by)
        client.restore(newest.id)
    assert ours.get(id)
    assert ours.history("unknown") == []


def test_filters(ours: Memory, user: str) -> None:
    for n in (1, 2, 3):
        ours.add(f"note {n}", user_id=user, infer=False, metadata={"n": n, "tag": f"Tag {n}"}, agent_id=f"a{n % 2}")

    def found(filters: dict[str, Any]) -> list[int]:
        results = ours.get_all(filters={"AND": [{"user_id": user}, filters]})["results"]
        return sorted(r["metadata"]["n"] for r in results)

    assert found({"n": {"gte": 2}}) == [2, 3]
    assert found({"n": {"gt": 1, "lt": 3}}) == [2]
    assert found({"OR": [{"n": 1}, {"n": {"lte": 1}}, {"tag": {"icontains": "tag 3"}}]}) == [1, 3]
    assert found({"NOT": [{"n": {"in": [1, 2]}}]}) == [3]
    assert found({"n": {"nin": [1]}, "agent_id": "a1"}) == [3]
    assert found({"tag": "*", "n": {"ne": 2}}) == [1, 3]
    assert found({"other": "*"}) == []
    assert found({"tag": {"contains": "tag"}}) == []
    with pytest.raises(ValueError, match="unsupported operator"):
        found({"n": {"near": 2}})
    results = ours.search("note", filters={"user_id": user, "n": {"gte": 2}}, threshold=0.01)["results"]
    assert sorted(r["metadata"]["n"] for r in results) == [2, 3]
    assert ours.search("note", filters={"user_id": user}, threshold=0.99)["results"] == []


def test_one_user(user: str) -> None:
    with Memory({"oxbow": {"api_key": person_key(user)}, "llm": {"provider": "none"}}) as memory:
        id = memory.add("Has a boat", infer=False)["results"][0]["id"]
        assert ":" not in id
        assert memory.get(id)
    with Memory.from_config({"oxbow": {"user": user}}) as memory:
        assert len(memory.get_all()["results"]) == 1
        memory.reset()
        assert memory.get_all()["results"] == []
    with Memory() as memory:
        with pytest.raises(ValueError, match="only a client with a user"):
            memory.reset()
        with pytest.raises(ValueError, match="memory_type"):
            memory.add("x", user_id=user, memory_type="procedural_memory")
        with pytest.raises(ValueError, match="infer=False"):
            memory.add("x", user_id=user, expiration_date="2030-01-01")


def test_the_client_of_the_platform(user: str) -> None:
    with MemoryClient(api_key=setting("OXBOW_API_KEY"), host=setting("OXBOW_URL")) as client:
        for n in range(3):
            client.add(f"note {n}", user_id=user, infer=False, timestamp=1714672800)
        page = client.get_all(filters={"user_id": user}, page=2, page_size=2)
        assert (page["count"], page["next"], page["previous"], len(page["results"])) == (3, None, "1", 1)
        id = page["results"][0]["id"]
        assert client.update(id, text="another note")["memory"] == "another note"
        assert client.delete_users(user_id=user)["message"]
        assert client.get_all(user_id=user)["count"] == 0


async def test_async(user: str) -> None:
    async with AsyncMemory() as memory:
        added = await memory.add("I live in Lisbon.", user_id=user, timestamp="2024-05-02T18:00:00Z")
        id = added["results"][0]["id"]
        assert (await memory.search("Lisbon", filters={"user_id": user}))["results"][0]["id"] == id
        await memory.update(id, "Lives in Porto")
        assert [h["event"] for h in await memory.history(id)] == ["ADD", "UPDATE"]
        await memory.delete_all(user_id=user)
        assert await memory.get(id) is None
    async with AsyncMemoryClient() as client:
        assert (await client.get_all(user_id=user))["results"] == []
