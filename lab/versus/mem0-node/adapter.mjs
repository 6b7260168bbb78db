// mem0's package for Node.js, with pgvector and infer: false, its mode without a language model.
import { createInterface } from "node:readline";
import { Memory } from "mem0ai/oss";

const env = process.env;
const server = { apiKey: "none", baseURL: env.EMBEDDING_URL };
const memory = new Memory({
  vectorStore: {
    provider: "pgvector",
    config: {
      connectionString: env.DATABASE_URL,
      collectionName: "memories",
      embeddingModelDims: Number(env.EMBEDDING_DIMENSION),
      hnsw: true,
    },
  },
  embedder: { provider: "openai", config: { model: env.EMBEDDING_MODEL, ...server } },
  llm: { provider: "openai", config: { model: "never called", ...server } },
  disableHistory: true, // its SQLite needs a compiled addon
});
const ids = new Map();
const prefix = { search: env.QUERY_PREFIX };
await memory.getAll({ filters: { user_id: "nobody" } }); // it is ready
const embed = memory.embedder.embed.bind(memory.embedder);
memory.embedder.embed = (text, action) => embed((prefix[action] ?? env.PASSAGE_PREFIX) + text, action);

async function answer(asked) {
  switch (asked.do) {
    case "add": {
      const messages = asked.memories.map((m) => ({ role: "user", content: m.text }));
      const { results } = await memory.add(messages, { userId: asked.user, infer: false });
      if (results.length !== asked.memories.length) throw new Error(`added ${results.length}`);
      results.forEach((r, i) => ids.set(r.id, asked.memories[i].id));
      return {};
    }
    case "search": {
      const { results } = await memory.search(asked.question, { filters: { user_id: asked.user }, topK: asked.limit });
      return { ids: results.map((r) => ids.get(r.id)) };
    }
    default:
      return {};
  }
}

function say(value) {
  process.stdout.write(JSON.stringify(value) + "\n");
}

console.log = console.info = console.error;
say({});
for await (const line of createInterface({ input: process.stdin })) {
  say(await answer(JSON.parse(line)).catch((error) => ({ error: error.stack })));
}
process.exit(0); // connections are open
