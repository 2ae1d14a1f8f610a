import type { WithResponse } from "./Attempt.ts"
import type { Send } from "./Contract.ts"
import { TimeoutError } from "./Errors.ts"
import type { Pages } from "./Pages.ts"
import { jittered, pause } from "./Retries.ts"
import { checkLimits, type Query, type RequestOptions, type Transport } from "./Transport.ts"

/** `sends.waitFor` has waited for its time limit, and the send has not ended. It continues. */
export class SendPendingError extends Error {
  override readonly name = "SendPendingError"
  /** The send as it was last read. */
  readonly send: WithResponse<Send>

  constructor(send: WithResponse<Send>, timeout: number) {
    // The status of a response that is not from the API can be any JSON.
    super(`The send was still ${JSON.stringify(send.status)} after ${timeout} ms.`)
    this.send = send
  }
}

/** A send that has ended: `sent` with its message, or `failed` with its reason. */
export type EndedSend =
  & Send
  & ({ readonly status: "sent"; readonly message_id: string } | { readonly status: "failed" })

const first_pause_millis = 250
/** With jitter at most 24 requests a minute, of the 120 that a key may make. */
const longest_pause_millis = 5000

const isEnded = (send: WithResponse<Send>): send is WithResponse<EndedSend> =>
  send.status === "sent" || send.status === "failed"

/** `/sends`: list, get, and wait for the outcome. */
export const sends = ({ list, one }: Transport) => {
  /** Returns a send. */
  const get = (send_id: string, options?: RequestOptions): Promise<WithResponse<Send>> =>
    one("GET /sends/{send_id}", { path: { send_id } }, options)

  return {
    /** Lists sends, the newest first. */
    list: (query: Query<"GET /sends"> = {}, options?: RequestOptions): Pages<Send> =>
      list("GET /sends", { query }, options),
    get,
    /**
     * Polls a send, at growing intervals, until it is `sent` or `failed`.
     *
     * Rejects with `SendPendingError` when it has not ended within `timeout`, two
     * minutes by default. The send itself continues: if the provider's response is
     * lost, it can be `unknown` for 15 minutes, and after `outcome_unknown` a
     * late report can still make it `sent`. To get the outcome later, subscribe to
     * `message.sent` and `send.failed`. A failed call that could be retried only after
     * `timeout` rejects with its own error.
     */
    waitFor: async (
      send_id: string,
      { signal, timeout = 120_000 }: { readonly timeout?: number; readonly signal?: AbortSignal } = {}
    ): Promise<WithResponse<EndedSend>> => {
      checkLimits({ timeout })
      const until = Date.now() + timeout
      const poll = (last: WithResponse<Send> | null) =>
        one("GET /sends/{send_id}", { path: { send_id } }, { ...(signal === undefined ? {} : { signal }), until })
          .catch((error: unknown) => {
            const isOver = Date.now() >= until && error instanceof TimeoutError
            throw last !== null && isOver ? new SendPendingError(last, timeout) : error
          })
      let last: WithResponse<Send> | null = null
      for (let milliseconds = first_pause_millis;; milliseconds = Math.min(milliseconds * 2, longest_pause_millis)) {
        const send: WithResponse<Send> = await poll(last)
        if (isEnded(send)) return send
        last = send
        const left = until - Date.now()
        // The last poll is so early that its response can arrive in time.
        const isLast = left <= first_pause_millis
        await pause(isLast ? left : Math.min(jittered(milliseconds), left - first_pause_millis), signal)
        if (isLast) throw new SendPendingError(send, timeout)
      }
    }
  }
}
