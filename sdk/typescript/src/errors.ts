import type { ErrorDetail } from "./schema.js"

/** The base of every error of this package. */
export class OxbowError extends Error {
  override readonly name = this.constructor.name
}

/** No complete answer arrived: the network or the server failed. Its cause says why. */
export class NoAnswerError extends OxbowError {}

/** No answer arrived in time. */
export class TimedOutError extends NoAnswerError {}

/** The server refused the request or could not do it. It describes why as an RFC 9457 problem. */
export class ProblemError extends OxbowError {
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
    super([`${status} ${detail || title}`, ...errors.map(describe)].join("; "))
  }

  /** The first field that is not allowed, such as `validAt`'s `valid_at`. */
  get field(): string | undefined {
    return this.errors[0]?.location?.replace(/^(body|query|path|header)\./, "")
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
  static async from(response: Response): Promise<ProblemError> {
    const text = await response.text()
    let problem: { title?: string; detail?: string; errors?: ErrorDetail[] } = {}
    if (response.headers.get("Content-Type")?.startsWith("application/problem+json")) problem = JSON.parse(text)
    else problem.detail = text.trim().slice(0, 200) // of a proxy, or for a path that does not exist
    const kind = byStatus[response.status] ?? (response.status >= 500 ? ServerError : ProblemError)
    const wait = Number(response.headers.get("Retry-After") ?? Number.NaN)
    return new kind(
      response.status,
      problem.title ?? response.statusText,
      problem.detail ?? "",
      problem.errors ?? [],
      response.headers.get("X-Request-Id") ?? undefined,
      Number.isNaN(wait) ? undefined : wait,
    )
  }
}

/** 400, 413 and 422: a value is not allowed. */
export class InvalidError extends ProblemError {}

/** 401: the key or token is missing, wrong, expired or revoked. */
export class UnauthorizedError extends ProblemError {}

/** 403: the credential does not allow this. */
export class ForbiddenError extends ProblemError {}

/** 404: it does not exist, or is another user's. */
export class NotFoundError extends ProblemError {}

/** 409: its state does not allow this, such as superseding a memory that is superseded. */
export class ConflictError extends ProblemError {}

/** 429: too many requests. */
export class RateLimitError extends ProblemError {}

/** 500 and above: the server or its database failed. */
export class ServerError extends ProblemError {}

const byStatus: Record<number, typeof ProblemError> = {
  400: InvalidError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  413: InvalidError,
  422: InvalidError,
  429: RateLimitError,
}

function describe(error: ErrorDetail): string {
  return [error.location, error.message].filter(Boolean).join(": ")
}
