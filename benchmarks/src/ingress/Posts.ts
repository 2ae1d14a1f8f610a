/** Posts callbacks to a server: at a steady rate, or mutated ones as fast as it responds. */
import { Effect } from "effect"
import { Agent, request } from "node:http"
import { performance } from "node:perf_hooks"
import { mutatedBody } from "../harness/Fixtures.ts"
import type { Callback } from "./Callbacks.ts"

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Posts a callback, and returns the status; 0 if there was no response. */
const post = (url: string, { body, signature }: Callback): Promise<number> =>
  new Promise((resolve) => {
    const headers = { "content-type": "application/json", "x-hub-signature-256": signature }
    request(`${url}/ingress/graph`, { method: "POST", agent, headers }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode ?? 0))
    }).once("error", () => resolve(0)).end(body)
  })

/** The status of a response, and the time since its request was due. */
export interface TimedResponse {
  readonly status: number
  readonly elapsed_ms: number
}

/** Posts at a steady rate, regardless of response times. */
export const postSteadily = (url: string, callbacks: ReadonlyArray<Callback>, per_second: number) =>
  Effect.promise(() =>
    new Promise<ReadonlyArray<TimedResponse>>((resolve) => {
      const responses: Array<TimedResponse> = []
      const started_at = performance.now()
      let next = 0
      const timer = setInterval(() => {
        const due = Math.min(callbacks.length, Math.floor((performance.now() - started_at) / 1000 * per_second))
        for (; next < due; next++) {
          const callback = callbacks[next]
          if (callback === undefined) continue
          const due_at = started_at + next / per_second * 1000
          void post(url, callback).then((status) => {
            responses.push({ status, elapsed_ms: performance.now() - due_at })
            if (responses.length === callbacks.length) resolve(responses)
          })
        }
        if (next === callbacks.length) clearInterval(timer)
      }, 5)
    })
  )

/**
 * Posts mutated bodies, a few concurrently, each with an invalid signature, without one, and with a valid one. Returns the
 * statuses.
 */
export const postMutated = Effect.fnUntraced(
  function*(url: string, account: string, count: number, sign: (text: string) => Callback) {
    const bodies = yield* Effect.forEach(
      Array.from({ length: count }, (_, index) => index),
      (index) => mutatedBody(account, index)
    )
    const postAll = (signatureOf: (callback: Callback) => string) =>
      Effect.forEach(bodies, ({ text }) => {
        const callback = sign(text)
        return Effect.promise(() => post(url, { ...callback, signature: signatureOf(callback) }))
      }, { concurrency: 16 })
    const unsigned = [
      ...yield* postAll(() => `sha256=${"0".repeat(64)}`),
      ...yield* postAll(() => "")
    ]
    return { signed: yield* postAll(({ signature }) => signature), unsigned }
  }
)
