// The model of the examples: a mock.
import { MockLanguageModelV3 } from "ai/test"

export const model = new MockLanguageModelV3({
  doGenerate: {
    content: [{ type: "text", text: "The cello." }],
    finishReason: { unified: "stop", raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  },
})
