/**
 * When a failed attempt is repeated, and after which pause.
 *
 * Every write carries an idempotency key that all its attempts share, so that
 * repeating one whose answer was lost has no second effect.
 */
import { ConnectionError, MessagingCrmError } from "./Errors.ts"

const first_pause = 500
const longest_pause = 8000
/** Who is asked to wait for longer decides for themselves whether to. */
const longest_retry_after = 60_000

const repeatable: ReadonlySet<number> = new Set([429, 500, 502, 503, 504])

const isRepeatable = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof MessagingCrmError && (repeatable.has(error.status) || error.code === "request_processing"))

/** Returns a random half to whole of a time, so that clients that failed together do not come back together. */
export const jittered = (milliseconds: number): number => milliseconds * (1 + Math.random()) / 2

/** Returns the milliseconds to wait after a failed attempt, counted from 1, or null when it is not to be repeated. */
export const pauseAfter = (error: unknown, attempts: number): number | null => {
  if (!isRepeatable(error)) return null
  const backoff = jittered(Math.min(first_pause * 2 ** (attempts - 1), longest_pause))
  if (!(error instanceof MessagingCrmError) || error.retryAfter === null) return backoff
  const asked = error.retryAfter * 1000
  return asked > longest_retry_after ? null : asked + backoff
}

/** Waits, or rejects with the reason of the caller who gives up. */
export const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const giveUp = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", giveUp)
      resolve()
    }, milliseconds)
    if (signal?.aborted === true) giveUp()
    else signal?.addEventListener("abort", giveUp, { once: true })
  })
