/** The requests of another organization during an attack. */
import { Effect } from "effect"
import { Agent, request } from "node:http"
import type { Servers } from "../harness/Fixtures.ts"
import { memoryDuring } from "../harness/Memory.ts"
import { summaryOf } from "../harness/Percentiles.ts"

const persistent = new Agent({ keepAlive: true, maxSockets: 1 })

interface TimedResponse {
  readonly elapsed_ms: number
  readonly status: number
}

interface Options {
  readonly method?: string
  readonly agent?: Agent
  readonly key: string
  readonly body?: string
}

/** Sends a request, and returns how long after `due_at` its response ended, or failed. */
const sendTimed = (url: string, due_at: number, { agent, body = "", key, method = "GET" }: Options) =>
  Effect.callback<TimedResponse>((resume) => {
    const finish = (status: number) => resume(Effect.succeed({ elapsed_ms: performance.now() - due_at, status }))
    const headers = {
      authorization: `Bearer ${key}`,
      ...(method === "GET"
        ? {}
        : { "content-type": "application/json", "idempotency-key": globalThis.crypto.randomUUID() })
    }
    const sent = request(url, { method, headers, agent: agent ?? false, timeout: 10_000 }, (response) => {
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
const sendSteadily = (url: string, seconds: number, options: Options) =>
  Effect.suspend(() => {
    const started_at = performance.now()
    const times = Array.from({ length: seconds * 1000 / interval_ms }, (_, index) => started_at + index * interval_ms)
    return Effect.forEach(times, (due_at) => Effect.delay(sendTimed(url, due_at, options), due_at - started_at), {
      concurrency: "unbounded"
    })
  })

/** Lets the other organization send requests for some seconds, and measures them and the server's process. */
export const measure = Effect.fnUntraced(function*(
  server: Servers.Server,
  key: string,
  { pid, seconds }: { readonly pid: number; readonly seconds: number }
) {
  const url = `${server.url}/v1/contacts`
  const { peak_mib, result } = yield* memoryDuring(
    pid,
    Effect.all([
      sendSteadily(url, seconds, { key, agent: persistent }),
      sendSteadily(url, seconds, { key }),
      sendSteadily(url, seconds, { key, method: "POST", body: "{\"first_name\":\"Kim\"}", agent: persistent })
    ], { concurrency: "unbounded" })
  )
  const [first, second, writes] = result
  const reads = [...first, ...second]
  const responses = [...reads, ...writes]
  const summarize = (timed: ReadonlyArray<TimedResponse>) =>
    summaryOf(timed.map(({ elapsed_ms }) => Math.round(elapsed_ms)))
  const { count, max_ms, p50_ms } = summarize(responses)
  const failed = responses.filter(({ status }) => status === 0 || status >= 400).length
  const [reads_p99_ms, writes_p99_ms] = [summarize(reads).p99_ms, summarize(writes).p99_ms]
  return { requests: count, failed, p50_ms, reads_p99_ms, writes_p99_ms, max_ms, memory_mib: peak_mib }
})
