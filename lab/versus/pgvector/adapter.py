"""One table with a column of pgvector, searched by cosine distance without an index, which is exact."""

import psycopg
from pgvector.psycopg import register_vector
from protocol import DATABASE_URL, DIMENSION, Embedder, run


class Table:
    def __init__(self):
        self.embedder = Embedder()
        self.db = psycopg.connect(DATABASE_URL, autocommit=True)
        self.db.execute("create extension if not exists vector")
        register_vector(self.db)
        self.db.execute(f"""create table memories (user_id text, id text, content text, embedding vector({DIMENSION}),
            primary key (user_id, id))""")

    def add(self, user, memories):
        vectors = self.embedder.passages([m["text"] for m in memories])
        with self.db.transaction(), self.db.cursor() as cursor:
            cursor.executemany(
                "insert into memories values (%s, %s, %s, %s::vector)",
                [(user, m["id"], m["text"], v) for m, v in zip(memories, vectors)],
            )

    def search(self, user, question, limit):
        rows = self.db.execute(
            "select id from memories where user_id = %s order by embedding <=> %s::vector limit %s",
            (user, self.embedder.query(question), limit),
        )
        return [id for (id,) in rows]


run(Table)
