import type { ErrorDetail } from "./schema.js"

/** The base of every error of this package. */
export class OxbowError extends Error {}

/** The server could not be reached, or gave no complete answer. */
export class ConnectionFailedError extends OxbowError {}

/** The server did not answer in time. */
export class TimedOutError extends ConnectionFailedError {}

/** The server refused the request or could not do it. It describes why as an RFC 9457 problem. */
export class APIError extends OxbowError {
  constructor(
    /** The HTTP status, such as 404. */
    readonly status: number,
    /** The name of the status, such as "Not Found". */
    readonly title: string,
    /** What is wrong with this request. */
    readonly detail: string,
    /** The fields that are not allowed, each with its value and the rule. */
    readonly errors: ErrorDetail[] = [],
    /** The id under which the server's log has the request. */
    readonly requestId?: string,
    /** Seconds to wait before a retry. */
    readonly retryAfter?: number,
  ) {
    super(describe(detail || title || `HTTP status ${status}`, errors[0]))
  }

  /** The first field that is not allowed, as the API names it: `valid_at` is validAt. */
  get field(): string | undefined {
    return fieldOf(this.errors[0])
  }

  /** Its value. */
  get value(): unknown {
    return this.errors[0]?.value
  }

  /** The rule that the value breaks. */
  get rule(): string | undefined {
    return this.errors[0]?.message
  }

  /** Reads a problem from an answer whose status is an error. */
  static async from(response: Response): Promise<APIError> {
    const text = await response.text()
    let problem: { title?: string; detail?: string; errors?: ErrorDetail[] } = {}
    if (response.headers.get("Content-Type")?.startsWith("application/problem+json")) problem = JSON.parse(text)
    else problem.detail = text.trim().slice(0, 200) // of a proxy, or for a path that does not exist
    const kind = byStatus[response.status] ?? (response.status >= 500 ? ServerError : APIError)
    const wait = Number(response.headers.get("Retry-After") ?? Number.NaN)
    return new kind(
      response.status,
      problem.title || response.statusText,
      problem.detail || "",
      problem.errors ?? [],
      response.headers.get("X-Request-Id") ?? undefined,
      Number.isNaN(wait) ? undefined : wait,
    )
  }
}

/** 400: the request cannot be understood. */
export class BadRequestError extends APIError {}

/** 413: the request is too large. */
export class TooLargeError extends APIError {}

/** 422: a value is not allowed. See field, value and rule. */
export class InvalidError extends APIError {}

/** 401: the key or token is missing, wrong, expired or revoked. */
export class UnauthorizedError extends APIError {}

/** 403: the credential does not allow this. */
export class ForbiddenError extends APIError {}

/** 404: it does not exist, or is another user's. */
export class NotFoundError extends APIError {}

/** 409: its state does not allow this, such as superseding a memory that is superseded. */
export class ConflictError extends APIError {}

/** 429: too many requests. */
export class RateLimitError extends APIError {}

/** 500 and above: the server or its database failed. */
export class ServerError extends APIError {}

/** 503: the server or its database cannot be used now. */
export class UnavailableError extends ServerError {}

const byStatus: Record<number, typeof APIError> = {
  400: BadRequestError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  413: TooLargeError,
  422: InvalidError,
  429: RateLimitError,
  503: UnavailableError,
}

function describe(detail: string, error?: ErrorDetail): string {
  if (!error?.message || detail.includes(error.message)) return detail
  return `${detail}: ${fieldOf(error)} ${error.message}, got ${JSON.stringify(error.value)}`
}

function fieldOf(error?: ErrorDetail): string | undefined {
  return error?.location?.replace(/^(body|query|path|header)\./, "")
}

// A bundler may rename the classes. The names of errors must stay.
const classes = {
  OxbowError,
  ConnectionFailedError,
  TimedOutError,
  APIError,
  BadRequestError,
  UnauthorizedError,
  ForbiddenError,
  NotFoundError,
  ConflictError,
  TooLargeError,
  InvalidError,
  RateLimitError,
  ServerError,
  UnavailableError,
}
for (const [name, { prototype }] of Object.entries(classes)) Object.defineProperty(prototype, "name", { value: name })
