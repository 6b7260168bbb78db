import {
  APIError,
  ConnectionFailedError,
  OxbowError,
  RateLimitError,
  TimedOutError,
  UnavailableError,
} from "./errors.js"
import { fromWire, toQuery, toWire } from "./wire.js"

/** How a client reaches the server. */
export interface Connection {
  /** The server. Default: the variable OXBOW_URL, in Node.js, or http://127.0.0.1:8080. */
  url?: string
  /** An API key or a token of the server's issuer. Default: the variable OXBOW_API_KEY, in Node.js. */
  apiKey?: string
  /** Milliseconds that a request may take, with its retries. Default: 30,000; 600,000 for an export or an import. */
  timeout?: number
  /** How often a request is repeated that failed and may be repeated. Default: 3. */
  maxRetries?: number
  /** Replaces the global fetch. */
  fetch?: typeof fetch
}

/** Options of every method. */
export interface RequestOptions {
  /** Ends the request. The promise is rejected with the signal's reason. */
  signal?: AbortSignal
  /** Milliseconds that the request may take, instead of those of the client. */
  timeout?: number
}

/** Lines of JSON, such as the content of a file. */
export type Lines = string | Blob | ReadableStream<Uint8Array>

/** A request to the server. */
export interface Call extends RequestOptions {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** The path after /v1. */
  path: string
  query?: object
  /** Is sent as JSON, with names in snake_case. */
  body?: object
  /** Is sent as JSON Lines. */
  lines?: Lines
  idempotencyKey?: string
  /** Reports whether the request may be repeated if it is unknown whether it was done. Default: for GET. */
  safe?: boolean
}

/** Milliseconds that a request may take, if neither the call nor the client says. */
const defaultTimeout = 30_000
const longTimeout = 600_000

/** Sends requests, and repeats them where that is safe. */
export class Transport {
  readonly #url: string
  readonly #apiKey: string
  readonly #timeout: number | undefined
  readonly #maxRetries: number
  readonly #fetch: typeof fetch

  constructor(options: Connection) {
    const url = options.url ?? variable("OXBOW_URL") ?? "http://127.0.0.1:8080"
    this.#url = url.replace(/\/+$/, "").replace(/\/v1$/, "")
    this.#apiKey = options.apiKey || variable("OXBOW_API_KEY") || ""
    if (!this.#apiKey) throw new OxbowError("an API key is missing: pass apiKey, or set OXBOW_API_KEY")
    this.#timeout = options.timeout
    this.#maxRetries = options.maxRetries ?? 3
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init))
  }

  /** Returns the answer, with names in camelCase. */
  json<T>(call: Call): Promise<T> {
    return this.#retrying(call, async (response) => fromWire(await response.json()) as T)
  }

  /** Returns the lines of the answer as they arrive. */
  async *lines(call: Call): AsyncGenerator<string, void, undefined> {
    const body = await this.#retrying(call, async (response) => response.body)
    let rest = ""
    try {
      for await (const text of textOf(body)) {
        const lines = (rest + text).split("\n")
        rest = lines.pop() ?? ""
        yield* lines
      }
    } catch (error) {
      call.signal?.throwIfAborted()
      throw this.#failed(error)
    }
    if (rest) yield rest
  }

  async #retrying<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const timeout = AbortSignal.timeout(call.timeout ?? this.#timeout ?? (isLong(call) ? longTimeout : defaultTimeout))
    const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout
    const url = `${this.#url}/v1${call.path}${toQuery(call.query ?? {})}`
    const request = this.#request(call, signal)
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(url, request, read)
      } catch (error) {
        const wait = attempt < this.#maxRetries && !signal.aborted ? backoff(error, call, attempt) : undefined
        if (wait !== undefined) await sleep(wait, signal)
        call.signal?.throwIfAborted()
        if (timeout.aborted) throw new TimedOutError(`${call.method} ${call.path} took too long`, { cause: error })
        if (wait === undefined) throw error
      }
    }
  }

  #request(call: Call, signal: AbortSignal): RequestInit {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.#apiKey}` }
    if (call.body) headers["Content-Type"] = "application/json"
    if (call.lines) headers["Content-Type"] = "application/x-ndjson"
    if (call.idempotencyKey) headers["Idempotency-Key"] = call.idempotencyKey
    const body = call.lines ?? (call.body && JSON.stringify(toWire(call.body)))
    const duplex = call.lines instanceof ReadableStream && { duplex: "half" } // fetch wants to know
    return { method: call.method, headers, body, signal, ...duplex }
  }

  async #once<T>(url: string, request: RequestInit, read: (response: Response) => Promise<T>): Promise<T> {
    try {
      const response = await this.#fetch(url, request)
      if (!response.ok) throw await APIError.from(response)
      return await read(response)
    } catch (error) {
      throw error instanceof OxbowError ? error : this.#failed(error)
    }
  }

  /** fetch hides the reason of a failed connection in the cause. */
  #failed(error: unknown): ConnectionFailedError {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause)
    return new ConnectionFailedError(`${this.#url}: ${reason}`, { cause: error })
  }
}

function isLong(call: Call): boolean {
  return call.lines !== undefined || call.path.endsWith("/export")
}

/** Returns the milliseconds to wait before a retry, or undefined if the request must not be repeated. */
function backoff(error: unknown, call: Call, attempt: number): number | undefined {
  const refused = error instanceof RateLimitError // before anything was done
  const failed = error instanceof ConnectionFailedError || error instanceof UnavailableError
  const safe = call.safe ?? (call.method === "GET" || call.idempotencyKey !== undefined)
  const spent = call.lines instanceof ReadableStream
  if (spent || !(refused || (failed && safe))) return undefined
  const asked = error instanceof APIError ? Math.min(error.retryAfter ?? 0, 60) * 1000 : 0
  return asked + Math.min(250 * 2 ** attempt, 8_000) * (0.5 + Math.random() / 2)
}

/** Waits, or until the signal is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    if (signal?.aborted) end()
    else signal?.addEventListener("abort", end)
  })
}

/** Not every browser can iterate over a stream. */
async function* textOf(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<string, void, undefined> {
  if (!stream) return
  const reader = stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel()
  }
}

/** Returns an environment variable of Node.js; browsers have none. */
function variable(name: string): string | undefined {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.[name]
}

/** Returns a random text of 32 digits. Unlike crypto.randomUUID it exists on pages without TLS. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("")
}
