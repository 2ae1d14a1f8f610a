import type { ErrorCode } from "./Contract.ts"

/** What is known of a request that went wrong. */
interface Circumstances {
  /** Names the request in the service's log. */
  readonly requestId: string
  readonly cause?: unknown
}

/** The service refused the request, or failed: `code` says why. */
export class MessagingCrmError extends Error {
  override readonly name = "MessagingCrmError"
  readonly status: number
  /** `unexpected_answer` is what something between here and the service answered with. */
  readonly code: ErrorCode | "unexpected_answer"
  /** The parameter or field at fault, as a dotted path, when it is known. */
  readonly param: string | null
  /** Names the request in the service's log. */
  readonly requestId: string
  /** How many seconds the service asks to wait; null when it does not say. */
  readonly retryAfter: number | null

  constructor(
    message: string,
    refusal: Circumstances & Pick<MessagingCrmError, "code" | "param" | "retryAfter" | "status">
  ) {
    super(message, refusal)
    this.status = refusal.status
    this.code = refusal.code
    this.param = refusal.param
    this.requestId = refusal.requestId
    this.retryAfter = refusal.retryAfter
  }
}

/** No answer came. A write may have been done: with the same idempotency key it can be repeated safely. */
export class ConnectionError extends Error {
  override readonly name: string = "ConnectionError"
  /** The `X-Request-Id` that was sent: it names the request in the service's log, if it got there. */
  readonly requestId: string

  constructor(message: string, circumstances: Circumstances) {
    super(message, circumstances)
    this.requestId = circumstances.requestId
  }
}

/** No answer came in time. */
export class TimeoutError extends ConnectionError {
  override readonly name = "TimeoutError"
}
