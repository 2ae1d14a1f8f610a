/** The requests of another organization, and the callbacks of a network, during an attack. */
import { Effect } from "effect"
import { Agent, request } from "node:http"
import type { Servers } from "../harness/Fixtures.ts"
import { memoryDuring } from "../harness/Memory.ts"
import { summaryOf } from "../harness/Percentiles.ts"
import * as Callbacks from "../ingress/Callbacks.ts"

const persistent = new Agent({ keepAlive: true })

type Account = Effect.Success<ReturnType<typeof Callbacks.accountOf>>

interface TimedResponse {
  readonly elapsed_ms: number
  readonly status: number
}

/** A request that is sent repeatedly. */
interface Request {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The connection that it shares. By default, each request opens its own. */
  readonly agent?: Agent
  /** The body of a write. */
  readonly body?: string | Buffer
}

/** Sends a request, and returns how long after `due_at` its response ended, or failed. */
const sendTimed = (url: string, due_at: number, { agent, body, headers, path }: Request) =>
  Effect.callback<TimedResponse>((resume) => {
    const finish = (status: number) => resume(Effect.succeed({ elapsed_ms: performance.now() - due_at, status }))
    const options = { method: body === undefined ? "GET" : "POST", headers, agent: agent ?? false, timeout: 10_000 }
    const sent = request(`${url}${path}`, options, (response) => {
      response.resume().once("end", () => finish(response.statusCode ?? 0))
    })
    sent.once("timeout", () => sent.destroy(new Error("late")))
    sent.once("error", () => finish(0))
    sent.end(body)
  })

/**
 * The time between two requests of one kind. Without an attack, the connection that two kinds share is idle for most of this
 * time.
 */
const interval_ms = 100

/** Sends requests at a fixed pace, regardless of response times, so that a request that had to wait counts as slow. */
const sendSteadily = (url: string, seconds: number, requestOf: (index: number) => Request) =>
  Effect.suspend(() => {
    const started_at = performance.now()
    const times = Array.from({ length: seconds * 1000 / interval_ms }, (_, index) => started_at + index * interval_ms)
    return Effect.forEach(
      times,
      (due_at, index) => Effect.delay(sendTimed(url, due_at, requestOf(index)), due_at - started_at),
      { concurrency: "unbounded" }
    )
  })

/** Makes the signed callbacks of a network: nine of ten with one message or status, the tenth with 200, 90 KB in total. */
const callbacksOf = ({ account, sign }: Account) => (index: number): Request => {
  const { body, signature } = sign(Callbacks.bodyAt(account, index, index % 10 === 9 ? 200 : 1))
  return { path: "/ingress/graph", headers: { "x-hub-signature-256": signature }, body }
}

/** The other organization's key, and the account whose callbacks the server receives, if any. */
export interface Other {
  readonly key: string
  readonly account: Account | null
}

/** Lets the other organization send requests for some seconds, and measures them and the server's process. */
export const measure = Effect.fnUntraced(function*(
  { url }: Servers.Server,
  { account, key }: Other,
  { pid, seconds }: { readonly pid: number; readonly seconds: number }
) {
  const authorized = { path: "/v1/contacts", headers: { authorization: `Bearer ${key}` } }
  const created = () => ({
    ...authorized,
    headers: {
      ...authorized.headers,
      "content-type": "application/json",
      "idempotency-key": globalThis.crypto.randomUUID()
    },
    agent: persistent,
    body: "{\"first_name\":\"Kim\"}"
  })
  const { peak_mib, result } = yield* memoryDuring(
    pid,
    Effect.all({
      first: sendSteadily(url, seconds, () => ({ ...authorized, agent: persistent })),
      second: sendSteadily(url, seconds, () => authorized),
      writes: sendSteadily(url, seconds, created),
      callbacks: account === null ? Effect.succeed([]) : sendSteadily(url, seconds, callbacksOf(account))
    }, { concurrency: "unbounded" })
  )
  const { callbacks, writes } = result
  const reads = [...result.first, ...result.second]
  const responses = [...reads, ...writes, ...callbacks]
  const summarize = (timed: ReadonlyArray<TimedResponse>) =>
    summaryOf(timed.map(({ elapsed_ms }) => Math.round(elapsed_ms)))
  const { count, max_ms, p50_ms } = summarize(responses)
  return {
    requests: count,
    failed: responses.filter(({ status }) => status === 0 || status >= 400).length,
    p50_ms,
    reads_p99_ms: summarize(reads).p99_ms,
    writes_p99_ms: summarize(writes).p99_ms,
    callbacks_max_ms: Math.max(0, ...callbacks.map(({ elapsed_ms }) => Math.round(elapsed_ms))),
    max_ms,
    memory_mib: peak_mib
  }
})
