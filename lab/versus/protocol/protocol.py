"""What the adapter of a rival does: it defines a class with add and search, and calls run with it.

The driver writes a request per line to standard input, as JSON, and reads an answer per line:

    {"do": "add", "user": U, "memories": [{"id": ID, "text": TEXT, …}, …]}    {}
    {"do": "settle"}                                                          {}, when all of them can be found
    {"do": "search", "user": U, "question": Q, "limit": K}                    {"ids": [ID, …]}, the best first
"""

import json
import os
import sys
import traceback
from http.client import HTTPConnection
from urllib.parse import urlsplit

DATABASE_URL = os.environ.get("DATABASE_URL", "")
EMBEDDING_URL = os.environ["EMBEDDING_URL"]
EMBEDDING_MODEL = os.environ["EMBEDDING_MODEL"]
DIMENSION = int(os.environ["EMBEDDING_DIMENSION"])
QUERY_PREFIX = os.environ["QUERY_PREFIX"]
PASSAGE_PREFIX = os.environ["PASSAGE_PREFIX"]


class Embedder:
    """The embedding model for rivals that leave the call to the application."""

    def __init__(self):
        self.url = urlsplit(EMBEDDING_URL)
        self.connection = HTTPConnection(self.url.netloc)

    def embed(self, texts):
        body = json.dumps({"model": EMBEDDING_MODEL, "input": texts})
        self.connection.request("POST", self.url.path + "/embeddings", body, {"Content-Type": "application/json"})
        with self.connection.getresponse() as response:
            answer = json.load(response)
        return [item["embedding"] for item in answer["data"]]

    def passages(self, texts):
        return self.embed([PASSAGE_PREFIX + text for text in texts])

    def query(self, text):
        return self.embed([QUERY_PREFIX + text])[0]


def run(make):
    """Answers requests until standard input ends. What the rival prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(do):
        try:
            given = do() or {}
        except Exception:
            given = {"error": traceback.format_exc()}
        answers.write(json.dumps(given) + "\n")
        answers.flush()

    rival = None

    def start():
        nonlocal rival
        rival = make()

    def respond(asked):
        if asked["do"] == "add":
            rival.add(asked["user"], asked["memories"])
        elif asked["do"] == "search":
            return {"ids": rival.search(asked["user"], asked["question"], asked["limit"])}
        elif hasattr(rival, "settle"):
            rival.settle()

    answer(start)
    for line in sys.stdin:
        answer(lambda: respond(json.loads(line)))
    if hasattr(rival, "close"):
        rival.close()
