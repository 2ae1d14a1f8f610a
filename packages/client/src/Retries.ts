/**
 * Retries: which failed attempts are repeated, and the backoff between them.
 *
 * All attempts of a write share one idempotency key, so repeating an attempt whose
 * response was lost has no second effect.
 */
import { ConnectionError, MessagingCrmError } from "./Errors.ts"

const first_pause_millis = 500
const longest_pause_millis = 8000
/** The client does not wait for a longer `Retry-After`; it throws the error, so that the caller can decide. */
const longest_retry_after_millis = 60_000

const repeatable: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

const isRepeatable = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof MessagingCrmError && (repeatable.has(error.status) || isPassing(error)))

/** Only the 409s that can succeed on a retry have a `Retry-After`: `request_processing`, and a `conflict` with concurrent changes. */
const isPassing = ({ retryAfter, status }: MessagingCrmError): boolean => status === 409 && retryAfter !== null

/** Returns a random number of milliseconds from half to all of the given one, so that clients do not retry at the same moment. */
export const jittered = (milliseconds: number): number => Math.floor(milliseconds * (1 + Math.random()) / 2)

/** Returns the milliseconds to wait after failed attempt number `attempts` (from 1), or null after the last. */
export const pauseAfter = (error: unknown, attempts: number): number | null => {
  if (!isRepeatable(error)) return null
  const backoff = jittered(Math.min(first_pause_millis * 2 ** (attempts - 1), longest_pause_millis))
  if (!(error instanceof MessagingCrmError) || error.retryAfter === null) return backoff
  const retry_after_millis = error.retryAfter * 1000
  return retry_after_millis > longest_retry_after_millis ? null : retry_after_millis + backoff
}

/** Waits, or rejects with the signal's reason when it aborts. */
export const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort)
      resolve()
    }, milliseconds)
    if (signal?.aborted === true) abort()
    else signal?.addEventListener("abort", abort, { once: true })
  })
