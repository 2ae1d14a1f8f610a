import type { ErrorCode } from "./Contract.ts"

/** The context of a failed request. */
interface RequestContext {
  /** The request's ID in the service's log. */
  readonly requestId: string
  readonly cause?: unknown
}

/** The service rejected the request, or failed. `code` is the reason. */
export class MessagingCrmError extends Error {
  override readonly name = "MessagingCrmError"
  readonly status: number
  /** The error code. `unexpected_response` means that the response was not from the API, but from a proxy for example. */
  readonly code: ErrorCode | "unexpected_response"
  /** The parameter or field at fault, as a dotted path; null if the error concerns none. */
  readonly param: string | null
  /** The request's ID in the service's log. */
  readonly requestId: string
  /** The seconds of the `Retry-After` header; null without one. */
  readonly retryAfter: number | null

  constructor(
    message: string,
    rejection: RequestContext & Pick<MessagingCrmError, "code" | "param" | "retryAfter" | "status">
  ) {
    super(message, rejection)
    this.status = rejection.status
    this.code = rejection.code
    this.param = rejection.param
    this.requestId = rejection.requestId
    this.retryAfter = rejection.retryAfter
  }
}

/** No response arrived. A write can have taken effect. Repeating it with the same idempotency key is safe. */
export class ConnectionError extends Error {
  override readonly name: string = "ConnectionError"
  /** The `X-Request-Id` that was sent. The service logs it, if the request arrived. */
  readonly requestId: string

  constructor(message: string, context: RequestContext) {
    super(message, context)
    this.requestId = context.requestId
  }
}

/** No response arrived within the time limit. */
export class TimeoutError extends ConnectionError {
  override readonly name = "TimeoutError"
}
