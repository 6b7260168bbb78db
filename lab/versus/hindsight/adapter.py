"""Hindsight without a language model, which stores texts as they are ("chunks"), and without a reranker."""

import asyncio
import logging
import os
from datetime import datetime

from protocol import DATABASE_URL, EMBEDDING_MODEL, EMBEDDING_URL, PASSAGE_PREFIX, QUERY_PREFIX, run

os.environ.update({
    "HINDSIGHT_API_DATABASE_URL": DATABASE_URL,
    "HINDSIGHT_API_LLM_PROVIDER": "none",
    "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "openai",
    "HINDSIGHT_API_EMBEDDINGS_OPENAI_API_KEY": "none",
    "HINDSIGHT_API_EMBEDDINGS_OPENAI_BASE_URL": EMBEDDING_URL,
    "HINDSIGHT_API_EMBEDDINGS_OPENAI_MODEL": EMBEDDING_MODEL,
    "HINDSIGHT_API_EMBEDDINGS_QUERY_PREFIX": QUERY_PREFIX,
    "HINDSIGHT_API_EMBEDDINGS_PASSAGE_PREFIX": PASSAGE_PREFIX,
    "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
})

from hindsight_api import MemoryEngine, RequestContext  # noqa: E402

logging.disable(logging.WARNING)


class Hindsight:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.engine = MemoryEngine()
        self.loop.run_until_complete(self.engine.initialize())
        self.request = RequestContext()

    def add(self, user, memories):
        contents = []
        for m in memories:
            contents.append({"content": m["text"], "document_id": m["id"]})
            if m["at"]:
                contents[-1]["event_date"] = datetime.fromisoformat(m["at"])
        self.loop.run_until_complete(self.engine.retain_batch_async(user, contents, request_context=self.request))

    def search(self, user, question, limit):
        found = self.loop.run_until_complete(
            self.engine.recall_async(
                user, question, request_context=self.request, max_tokens=100_000, reranking="interleave"
            )
        )
        return list(dict.fromkeys(fact.document_id for fact in found.results))[:limit]

    def close(self):
        self.loop.run_until_complete(self.engine.close())


run(Hindsight)
