"""Makes the test data of "oxbow import --from": small databases and exports of other memory systems.

    python -m venv venv && venv/bin/pip install PACKAGES
    DATABASE_URL=postgres://postgres@127.0.0.1:5432/postgres venv/bin/python make.py SOURCE

SOURCE and its PACKAGES, each with Python 3.11; the server needs pgvector:

    mem0       mem0ai==2.2.1 psycopg[binary,pool]==3.3.9      mem0.sql, mem0-history.sql, mem0.json
    zep        graphiti-core==0.31.2                          zep.json
    langgraph  langgraph-checkpoint-postgres==3.2.0 psycopg[binary,pool]==3.3.9   langgraph.sql
    letta      letta==0.16.8 psycopg2-binary pgvector asyncpg letta.sql, letta.af
    hindsight  hindsight-api-slim==1.1.0                      hindsight.sql, hindsight.zip

The packages write the data themselves, except for the rows of Hindsight and Letta, which are written here into their
schema, because their own code needs a language model. Each source gets a new database, which is dropped
in the end. zep-apoc.jsonl and zep-ce.sql are written by hand: the first as apoc.export.json of Neo4j 5 does it, the
second with the tables of Zep's community edition 1.0.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = pathlib.Path(__file__).parent
URL = os.environ.get("DATABASE_URL", "")


def at(day, hour=9):
    return datetime(2025, 3, 1, hour, tzinfo=timezone.utc) + timedelta(days=day - 1)


def database(name):
    """Makes a new database and returns its URL."""
    subprocess.run(["psql", "-qX", URL, "-c", f"drop database if exists {name}", "-c", f"create database {name}"], check=True)
    return re.sub(r"/[^/]*$", "/" + name, URL)


def dump(url, file, *tables):
    """Writes tables as SQL and drops the database."""
    args = [arg for table in tables for arg in ("-t", table)]
    text = subprocess.run(["pg_dump", "--inserts", "--no-owner", "--no-acl", "--section=pre-data", "--section=data", *args, url], check=True, capture_output=True,
                          text=True).stdout
    text = "".join(line + "\n" for line in text.splitlines()
                   if line and not line.startswith(("--", "\\", "SET ", "SELECT pg_catalog.set_config")))
    (HERE / file).write_text(text)
    subprocess.run(["psql", "-qX", URL, "-c", f"drop database {url.rsplit('/', 1)[1]}"], check=True)


class Provider(BaseHTTPRequestHandler):
    """An OpenAI API that returns the same vector for every text, and one memory for every conversation."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if self.path.endswith("/embeddings"):
            answer = {"object": "list", "model": "fake", "usage": usage,
                      "data": [{"object": "embedding", "index": i, "embedding": [1, 0, 0]} for i in range(len(asked["input"]))]}
        else:
            memory = {"memory": [{"id": "0", "text": "Ada plays the cello.", "attributed_to": "user"}]}
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake", "usage": usage, "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(memory)}}]}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *args):
        pass


def mem0():
    os.environ["MEM0_TELEMETRY"] = "False"
    import sqlite3
    import tempfile

    from mem0 import Memory

    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = database("movein_mem0")
    openai = {"api_key": "none", "openai_base_url": f"http://127.0.0.1:{server.server_port}/v1"}
    with tempfile.TemporaryDirectory() as directory:
        history = os.path.join(directory, "history.db")
        m = Memory.from_config({
            "vector_store": {"provider": "pgvector", "config": {"connection_string": url, "collection_name": "mem0",
                                                                "embedding_model_dims": 3, "hnsw": False}},
            "embedder": {"provider": "openai", "config": {**openai, "model": "fake"}},
            "llm": {"provider": "openai", "config": {**openai, "model": "fake"}},
            "history_db_path": history,
        })

        def add(text, user, **more):
            metadata = more.pop("metadata", None)
            return m.add(text, user_id=user, infer=False, metadata=metadata, **more)["results"][0]["id"]

        home = add("Ada lives in Lisbon.", "ada", metadata={"category": "home", "confidence": 0.9})
        add("Ada's boat is called Heron.", "ada", run_id="chat-1", agent_id="coach")
        add([{"role": "user", "content": "I am allergic to walnuts.", "name": "Ada"}], "ada")
        add("林的船叫白鹭。", "林", metadata={"来源": "微信"})
        gone = add("Ada owes Ben 20 euros.", "ada")
        m.update(home, text="Ada lives in Porto.")
        m.update(home, text="Ada lives in Oslo.")
        m.delete(gone)
        m.add("The coach answers in short sentences.", agent_id="coach", infer=False)
        m.add([{"role": "user", "content": "I practise the cello every day."}], user_id="ada", run_id="chat-2")
        everything = m.get_all(filters={"user_id": "ada"}, top_k=1000)
        (HERE / "mem0.json").write_text(json.dumps(everything, ensure_ascii=False, indent=1) + "\n")
        with sqlite3.connect(history) as db:
            (HERE / "mem0-history.sql").write_text("\n".join(db.iterdump()) + "\n")
        m.vector_store.connection_pool.close()
    dump(url, "mem0.sql", "mem0")


def zep():
    from graphiti_core.edges import EntityEdge, EpisodicEdge
    from graphiti_core.nodes import EntityNode, EpisodeType, EpisodicNode

    def episode(group, text, day, kind=EpisodeType.message):
        return EpisodicNode(name=f"message {day}", group_id=group, source=kind, source_description="chat", content=text,
                            created_at=at(day), valid_at=at(day))

    episodes = [episode("ada", "Ada: I moved from Lisbon to Oslo in March.", 10),
                episode("林", "林: 我的船叫白鹭。", 11),
                episode("ada", '{"event": "sale", "boat": "Heron"}', 12, EpisodeType.json)]
    ada = EntityNode(name="Ada", group_id="ada", labels=["Entity", "Person"], summary="Ada lives in Oslo.", created_at=at(1))
    oslo = EntityNode(name="Oslo", group_id="ada", labels=["Entity"], created_at=at(10))

    def fact(group, name, text, created, episodes, **times):
        return EntityEdge(group_id=group, source_node_uuid=ada.uuid, target_node_uuid=oslo.uuid, name=name, fact=text,
                          fact_embedding=[1.0, 0.0, 0.0], created_at=created, episodes=[e.uuid for e in episodes], **times)

    edges = [fact("ada", "LIVES_IN", "Ada lives in Lisbon.", at(1), [], valid_at=at(-700), invalid_at=at(9), expired_at=at(10)),
             fact("ada", "LIVES_IN", "Ada lives in Oslo.", at(10), episodes[:1], valid_at=at(9),
                  attributes={"since": "March"}),
             fact("林", "OWNS", "林的船叫白鹭。", at(11), episodes[1:2]),
             fact("ada", "SOLD", "Ada sold her boat Heron.", at(12), episodes[2:], valid_at=at(12), invalid_at=at(2))]
    mentions = [EpisodicEdge(group_id="ada", source_node_uuid=episodes[0].uuid, target_node_uuid=ada.uuid, created_at=at(10))]
    export = {"edges": edges + mentions, "episodes": episodes, "nodes": [ada, oslo]}
    (HERE / "zep.json").write_text(json.dumps({name: [x.model_dump(mode="json") for x in list] for name, list in export.items()},
                                              ensure_ascii=False, indent=1) + "\n")


def langgraph():
    from langgraph.store.postgres import PostgresStore

    url = database("movein_langgraph")
    with PostgresStore.from_conn_string(url) as store:
        store.setup()
        # as LangMem stores memories, as the documentation of LangGraph does, and as a profile
        store.put(("memories", "ada"), "1", {"kind": "Memory", "content": {"content": "Ada's boat is called Heron."}})
        store.put(("memories", "ada"), "2", {"text": "Ada is allergic to walnuts.", "source": "chat"})
        store.put(("memories", "林"), "1", {"data": "林的船叫白鹭。"})
        store.put(("profiles", "ada"), "profile", {"name": "Ada", "home": {"city": "Oslo"}, "age": 36})
        store.put(("settings",), "theme", {"text": "dark"})
        store.put(("memories", "ada"), "3", {"text": "Ada waits for a parcel."}, ttl=60)
    dump(url, "langgraph.sql", "store")


def letta():
    url = database("movein_letta").replace("postgres://", "postgresql://")
    os.environ["LETTA_PG_URI"] = url
    from letta.orm import Base
    from letta.schemas.agent_file import AgentFileSchema, AgentSchema, BlockSchema, MessageSchema
    from sqlalchemy import create_engine, text

    engine = create_engine(url.replace("://", "+psycopg2://"))
    with engine.begin() as db:
        db.execute(text("create extension vector"))
        db.execute(text("create sequence message_seq_id"))
        Base.metadata.create_all(db)
        # The migrations set it; the models only say that the server does.
        db.execute(text("alter table messages alter sequence_id set default nextval('message_seq_id')"))

        def insert(table, **row):
            table = Base.metadata.tables[table]
            db.execute(table.insert().values(row))

        insert("organizations", id="org-1", name="Example", privileged_tools=False)
        for agent, name in (("agent-1", "Ada's assistant"), ("agent-2", "林的助手")):
            insert("agents", id=agent, name=name, organization_id="org-1", agent_type="memgpt_v2_agent", tool_rules=[],
                   message_buffer_autoclear=False, enable_sleeptime=False, created_at=at(1))
        for identity, key, agent in (("identity-1", "ada", "agent-1"), ("identity-2", "林", "agent-2")):
            insert("identities", id=identity, identifier_key=key, name=key, identity_type="user", properties=[],
                   organization_id="org-1")
            insert("identities_agents", identity_id=identity, agent_id=agent)
        for block, label, value, agent in (
                ("block-1", "human", "Ada lives in Oslo.\nHer boat is called Heron.", "agent-1"),
                ("block-2", "persona", "I am a friendly assistant.", "agent-1"),
                ("block-3", "human", "林住在杭州。", "agent-2")):
            insert("block", id=block, label=label, value=value, limit=5000, is_template=False, read_only=False, version=1,
                   organization_id="org-1", metadata_={"topic": "about"}, created_at=at(1), updated_at=at(2))
            insert("blocks_agents", agent_id=agent, block_id=block, block_label=label)
        insert("archives", id="archive-1", name="Ada", organization_id="org-1", vector_db_provider="NATIVE", created_at=at(1))
        insert("archives_agents", agent_id="agent-1", archive_id="archive-1", is_owner=True)
        for passage, words, deleted in (("passage-1", "Ada is allergic to walnuts.", False), ("passage-2", "Ada has a cat.", True)):
            insert("archival_passages", id=passage, text=words, archive_id="archive-1", organization_id="org-1",
                   metadata_={}, tags=["health"], created_at=at(3), is_deleted=deleted)
        said = [("user", [{"type": "text", "text": "I moved to Oslo."}], None),
                ("user", [{"type": "text", "text": json.dumps({"type": "heartbeat", "reason": "none"})}], None),
                ("user", [{"type": "text", "text": json.dumps({"type": "user_message", "message": "What is my boat called?"})}], None),
                ("assistant", [{"type": "text", "text": "She asks for the boat."}],
                 [{"id": "call-1", "type": "function", "function": {"name": "send_message",
                                                                     "arguments": json.dumps({"message": "Heron."})}}]),
                ("tool", [{"type": "text", "text": '{"status": "OK"}'}], None),
                ("system", [{"type": "text", "text": "You are Letta."}], None)]
        for i, (role, content, calls) in enumerate(said):
            values = {"id": f"message-{i}", "agent": "agent-1", "role": role, "content": json.dumps(content),
                      "calls": json.dumps(calls or []), "at": at(4, 9 + i)}
            db.execute(text("insert into messages (id, agent_id, organization_id, role, content, tool_calls, created_at) values "
                            "(:id, :agent, 'org-1', :role, :content, :calls, :at)"), values)
        db.execute(text("alter table messages alter sequence_id drop default"))
        db.execute(text("alter table archives alter vector_db_provider type text"))  # pg_dump leaves the enum out
    engine.dispose()
    dump(url, "letta.sql", "agents", "block", "blocks_agents", "archives", "archives_agents", "archival_passages", "messages",
         "identities", "identities_agents")

    file = AgentFileSchema(
        agents=[AgentSchema(id="agent-0", name="ada-assistant", block_ids=["block-0", "block-1"], tool_ids=[], in_context_message_ids=[],
                            messages=[MessageSchema(id=f"message-{i}", role=role, content=content, tool_calls=calls,
                                                    agent_id="agent-0", created_at=at(4, 9 + i))
                                      for i, (role, content, calls) in enumerate(said)])],
        blocks=[BlockSchema(id="block-0", label="human", value="Ada lives in Oslo.\nHer boat is called Heron."),
                BlockSchema(id="block-1", label="persona", value="I am a friendly assistant.")],
        groups=[], files=[], sources=[], tools=[], mcp_servers=[], metadata={}, created_at=at(5))
    (HERE / "letta.af").write_text(json.dumps(json.loads(file.model_dump_json()), ensure_ascii=False, indent=1) + "\n")


def hindsight():
    import asyncio

    import asyncpg
    from hindsight_api.engine.memories.postgres import PostgresMemories
    from hindsight_api.engine.transfer.export import stream_export_bank
    from hindsight_api.engine.transfer.schema import TransferScope
    from hindsight_api.migrations import run_migrations

    url = database("movein_hindsight")
    run_migrations(url)

    facts = [("Ada lives in Oslo.", "world", at(9), None, ["user:ada"]),
             ("Ada sold her boat Heron at the harbour.", "experience", at(12), at(12, 17), ["user:ada"]),
             ("林的船叫白鹭。", "world", None, None, ["user:林"]),
             ("Ada likes to live near the water.", "observation", None, None, ["user:ada"])]

    async def fill():
        db = await asyncpg.connect(url)
        await db.execute("insert into banks (bank_id, name) values ('family', 'Family')")
        await db.execute("insert into documents (id, bank_id, original_text, created_at) values "
                         "('chat-1', 'family', 'Ada: I moved to Oslo.', $1)", at(10))
        for i, (text, kind, start, end, tags) in enumerate(facts):
            await db.execute(
                "insert into memory_units (bank_id, document_id, text, context, fact_type, event_date, occurred_start, occurred_end, "
                "mentioned_at, tags, metadata, created_at) values ('family', $1, $2, 'a talk', $3, $4, $5, $6, $4, $7, "
                """'{"channel": "phone"}', $8)""",
                None if kind == "observation" else "chat-1", text, kind, at(10), start, end, tags, at(10, 10 + i))
        await db.execute("update memory_units set source_memory_ids = (select array_agg(id) from memory_units where text like "
                         "'%Oslo.') where fact_type = 'observation'")
        await db.execute("insert into memory_units (bank_id, text, fact_type, event_date, mentioned_at, created_at) values "
                         "('family', 'Ada lives in Bergen.', 'world', $1, $1, $1)", at(5))
        columns = [r[0] for r in await db.fetch(
            "select a.column_name from information_schema.columns a join information_schema.columns b using (column_name, table_schema)"
            " where a.table_name = 'memory_units' and b.table_name = 'invalidated_memory_units' and a.is_generated = 'NEVER'")]
        columns = ", ".join(columns)
        await db.execute(f"with gone as (delete from memory_units where text like '%Bergen%' returning *) "
                         f"insert into invalidated_memory_units ({columns}, invalidation_reason, invalidated_at) "
                         f"select {columns}, 'a joke', $1::timestamptz from gone", at(6))
        for name in ("json", "jsonb"):
            await db.set_type_codec(name, encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
        archive = stream_export_bank(db, "family", scope=TransferScope(), bank_rows_json_encoding="decoded",
                                     memories=PostgresMemories({}))
        (HERE / "hindsight.zip").write_bytes(b"".join([chunk async for chunk in archive]))
        await db.close()

    asyncio.run(fill())
    dump(url, "hindsight.sql", "memory_units", "invalidated_memory_units", "documents", "mental_models")


if __name__ == "__main__":
    makers = {f.__name__: f for f in (mem0, zep, langgraph, letta, hindsight)}
    if len(sys.argv) != 2 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    makers[sys.argv[1]]()
