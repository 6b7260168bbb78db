"""What the clients do beside the operations: names, settings, errors, repeated requests."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import threading
import typing
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

import generate
import oxbow
from conftest import searchable


def test_every_operation_has_a_typed_method() -> None:
    operations = generate.operations()
    assert len(operations) > 40
    for kind in (oxbow.Client, oxbow.AsyncClient):
        for operation in operations:
            method = getattr(kind, operation.name, None)
            assert method is not None, f"{kind.__name__} has no method for {operation.id}"
            hints = typing.get_type_hints(method)
            assert set(inspect.signature(method).parameters) - {"self"} == set(hints) - {"return"}
            assert hints["return"] not in (Any, None)
        theirs = {n for n in vars(kind) if not n.startswith("_")}
        assert theirs == {o.name for o in operations}, "a method without an operation"


def test_generated_files_are_up_to_date() -> None:
    subprocess.run([sys.executable, generate.__file__, "--check"], check=True)


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OXBOW_API_KEY", raising=False)
    with pytest.raises(oxbow.OxbowError, match="OXBOW_API_KEY"):
        oxbow.Client()
    monkeypatch.setenv("OXBOW_API_KEY", "from the environment")
    monkeypatch.setenv("OXBOW_URL", "http://127.0.0.1:1/v1/")
    with oxbow.Client(timeout=5, max_retries=0) as client:
        assert client.user is None
        assert client.for_user("ada").user == "ada"
        with pytest.raises(oxbow.ConnectionFailedError, match=r"http://127\.0\.0\.1:1: "):
            client.health()


def test_values(client: oxbow.Client) -> None:
    before = datetime.now(timezone.utc)
    zone = timezone(timedelta(hours=8))
    id = client.add("Ada rows", valid_at=datetime(2024, 5, 1, 12, tzinfo=zone), metadata={"at": before}).id
    memory = client.get(id)
    assert memory.valid_at == datetime(2024, 5, 1, 4, tzinfo=timezone.utc)
    assert memory.created_at >= before
    assert memory.metadata == {"at": before.isoformat()}
    assert client.add("a local time", valid_at=datetime(2024, 5, 1)).id
    with pytest.raises(TypeError, match="object is not a JSON value"):
        client.add("x", metadata={"no": object()})
    assert [f.content for f in client.list_facts(valid_as_of=datetime(2030, 1, 1, tzinfo=zone))]


def test_an_error_names_field_value_and_rule(client: oxbow.Client) -> None:
    with pytest.raises(oxbow.InvalidError) as raised:
        client.add("x", importance=2)
    assert (raised.value.status, raised.value.field, raised.value.value) == (422, "importance", 2)
    assert raised.value.rule
    assert "importance" in str(raised.value)
    assert raised.value.request_id
    with pytest.raises(oxbow.NotFoundError):
        client.get("3f2b8c9e-6a34-4b3c-8f57-2a4c1d9e0b11")


def test_pages_are_read_as_needed(client: oxbow.Client) -> None:
    asked: list[str] = []
    client._http.event_hooks = {"request": [lambda r: asked.append(str(r.url))], "response": []}
    client.add_many([{"content": f"note {i}", "memory_type": "document"} for i in range(5)])
    memories = client.list_memories(limit=2)
    assert len(asked) == 1
    assert next(memories).content == "note 4"
    assert len(asked) == 2
    assert [m.content for m in memories] == ["note 3", "note 2", "note 1", "note 0"]
    assert len(asked) == 4


def test_export_and_import(client: oxbow.Client, user: str) -> None:
    client.add("Ada lives in Lisbon", external_id="1")
    lines = [line for line in client.export() if line.get("content")]
    assert [line["content"] for line in lines] == ["Ada lives in Lisbon"]
    other = client.for_user(user + " 2")
    assert other.import_memories(lines).new == 1
    assert other.import_memories(lines).new == 0, "the ids exist"
    assert other.import_memories([{"content": "one"}, '{"content": "二"}']).new == 2
    assert other.import_memories('{"content": "three"}').new == 1


async def test_async_export(async_client: oxbow.AsyncClient) -> None:
    await async_client.add("Ada lives in Lisbon")
    assert [line["content"] async for line in async_client.export() if line.get("content")] == ["Ada lives in Lisbon"]


def test_threads_share_a_client(client: oxbow.Client) -> None:
    errors: list[Exception] = []

    def add() -> None:
        try:
            for _ in range(5):
                client.add("Ada rows", memory_type="document")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert len(list(client.list_memories())) == 20


Answer = Callable[[BaseHTTPRequestHandler], None]


class Flaky:
    """A server in front of nothing, which answers as the test says."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        flaky = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                flaky.requests.append({"path": self.path, "key": self.headers.get("Idempotency-Key"), "body": body})
                flaky.answers.pop(0)(self)

            do_GET = do_POST = do_PUT = answer  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def says(status: int, body: object, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        text = json.dumps(body).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    return answer


def hangs_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


@pytest.fixture
def flaky() -> Iterator[Flaky]:
    server = Flaky()
    yield server
    server.close()


ADDED = {"id": "1", "operation_id": "1"}
BUSY = {"status": 429, "title": "Too Many Requests", "detail": "wait"}


def test_a_safe_request_is_repeated(flaky: Flaky) -> None:
    with oxbow.Client("k", url=flaky.url, user="ada b/c") as client:
        flaky.answers = [hangs_up, says(503, {"detail": "later"}), says(429, BUSY, Retry_After="0"), says(200, ADDED)]
        assert client.add("Ada rows").id == "1"
        assert len(flaky.requests) == 4
        assert flaky.requests[0]["path"] == "/v1/users/ada%20b%2Fc/memories"
        assert len({r["key"] for r in flaky.requests}) == 1, "one key for all attempts"
        flaky.answers = [says(200, ADDED)]
        client.add("Ada rows")
        assert flaky.requests[-1]["key"] != flaky.requests[0]["key"]
        flaky.answers = [says(503, {}), says(200, {"memories": None})]
        assert client.recall("x").memories == []
        flaky.answers = [says(503, {}), says(200, {"items": None})]
        assert client.list_facts() == []


def test_other_requests_are_not_repeated(flaky: Flaky) -> None:
    with oxbow.Client("k", url=flaky.url) as client:
        flaky.answers = [says(503, {"detail": "later"})]
        with pytest.raises(oxbow.UnavailableError, match="later"):
            client.supersede("1", "x")
        flaky.answers = [hangs_up]
        with pytest.raises(oxbow.ConnectionFailedError):
            client.merge(["1", "2"])
        flaky.answers = [says(500, "no problem")]
        with pytest.raises(oxbow.ServerError, match="HTTP status 500"):
            client.get_settings()
        assert len(flaky.requests) == 3


def test_repeating_ends(flaky: Flaky) -> None:
    with oxbow.Client("k", url=flaky.url, max_retries=1) as client:
        flaky.answers = [says(429, BUSY), says(429, BUSY)]
        with pytest.raises(oxbow.RateLimitError, match="wait"):
            client.get_settings()


async def test_async_requests_are_repeated(flaky: Flaky) -> None:
    async with oxbow.AsyncClient("k", url=flaky.url) as client:
        flaky.answers = [hangs_up, says(503, {}), says(200, ADDED)]
        assert (await client.add("Ada rows")).id == "1"
        flaky.answers = [hangs_up]
        with pytest.raises(oxbow.ConnectionFailedError):
            await client.forget("1")


def test_a_slow_server_times_out(flaky: Flaky) -> None:
    release = threading.Event()

    def slow(handler: BaseHTTPRequestHandler) -> None:
        release.wait(30)

    flaky.answers = [slow]
    with oxbow.Client("k", url=flaky.url, timeout=0.05, max_retries=0) as client:
        with pytest.raises(oxbow.ConnectionFailedError):
            client.get_settings()
        release.set()


def test_a_client_of_httpx_may_be_passed() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"status": "ok", "writes": True, "new_field": 1}, request=request)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        with oxbow.Client("k", http_client=http) as client:
            assert client.health().model_dump()["new_field"] == 1, "of a newer server"
        assert not http.is_closed


def test_first_steps(client: oxbow.Client) -> None:
    searchable(client, client.add("Ada lives in Lisbon").id, client.add("我女儿喜欢紫色的兰花").id)
    assert client.recall("Where does Ada live?").memories[0].content == "Ada lives in Lisbon"
    assert client.recall("女儿喜欢什么花？").memories[0].content == "我女儿喜欢紫色的兰花"


def test_the_package_is_typed() -> None:
    assert (Path(oxbow.__file__).parent / "py.typed").exists()
