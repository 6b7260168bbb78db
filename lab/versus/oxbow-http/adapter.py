"""Oxbow: "oxbow dev", which runs a server and a worker, called with the Python SDK."""

import os
import subprocess
import time

import oxbow
from protocol import DATABASE_URL, run


class Oxbow:
    def __init__(self):
        # A new database expects the model local-v1.
        self.command("migrate", "up")
        self.command("reembed")
        self.server = subprocess.Popen(self.line("dev", "--addr", "127.0.0.1:0"), stdout=subprocess.PIPE, text=True)
        for line in self.server.stdout:
            if line.startswith("Serving "):
                url = line.split()[1].removesuffix("/v1")
                break
        self.client = oxbow.Client(self.key("app"), url=url)
        self.operator = oxbow.Client(self.key("operator"), url=url)

    def line(self, *arguments):
        return [os.environ["OXBOW"], *arguments, "--database-url", DATABASE_URL]

    def command(self, *arguments):
        return subprocess.run(self.line(*arguments), check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def key(self, role):
        return self.command("keys", "api", "create", "--role", role, "--name", "versus")

    def add(self, user, memories):
        new = [{"content": m["content"], "external_id": m["id"]} for m in memories]
        for n, m in zip(new, memories):
            n.update({k: v for k, v in (("session_id", m["session"]), ("speaker", m["speaker"]), ("valid_at", m["at"])) if v})
        self.client.for_user(user).add_many(new)

    def settle(self):
        while self.operator.get_status().embedding_lag_seconds > 0:
            time.sleep(0.02)

    def search(self, user, question, limit):
        return [m.external_id for m in self.client.for_user(user).recall(question, limit=limit).memories]

    def close(self):
        self.server.terminate()
        self.server.wait()


run(Oxbow)
