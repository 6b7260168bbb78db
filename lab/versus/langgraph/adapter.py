"""LangGraph's PostgresStore with its default index."""

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore
from protocol import DATABASE_URL, DIMENSION, Embedder, run


class E5(Embeddings):
    def __init__(self):
        self.embedder = Embedder()
        self.searching = False  # the store embeds questions as documents too

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts] if self.searching else self.embedder.passages(texts)

    def embed_query(self, text):
        return self.embedder.query(text)


class Store:
    def __init__(self):
        self.model = E5()
        index = {"dims": DIMENSION, "embed": self.model, "fields": ["text"]}
        self.context = PostgresStore.from_conn_string(DATABASE_URL, index=index)
        self.store = self.context.__enter__()
        self.store.setup()

    def add(self, user, memories):
        self.model.searching = False
        self.store.batch([PutOp((user, "memories"), m["id"], {"text": m["text"]}) for m in memories])

    def search(self, user, question, limit):
        self.model.searching = True
        return [item.key for item in self.store.search((user, "memories"), query=question, limit=limit)]


run(Store)
