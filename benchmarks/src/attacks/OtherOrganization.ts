/** The requests of another organization during an attack. */
import { Effect } from "effect"
import { Agent, request } from "node:http"
import type { Processes } from "../Fixtures.ts"
import { memoryDuring } from "../Memory.ts"
import { summaryOf } from "../Percentiles.ts"

const kept = new Agent({ keepAlive: true, maxSockets: 1 })

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
const timed = (url: string, due_at: number, { agent, body = "", key, method = "GET" }: Options) =>
  Effect.callback<TimedResponse>((resume) => {
    const done = (status: number) => resume(Effect.succeed({ elapsed_ms: performance.now() - due_at, status }))
    const headers = {
      authorization: `Bearer ${key}`,
      ...(method === "GET"
        ? {}
        : { "content-type": "application/json", "idempotency-key": globalThis.crypto.randomUUID() })
    }
    const sent = request(url, { method, headers, agent: agent ?? false, timeout: 10_000 }, (response) => {
      response.resume().once("end", () => done(response.statusCode ?? 0))
    })
    sent.once("timeout", () => sent.destroy(new Error("late")))
    sent.once("error", () => done(0))
    sent.end(body)
  })

/** The time between two requests of one kind. The connection that two kinds share is idle for most of it without an attack. */
const interval_ms = 100

/** Sends requests at a fixed pace, whatever their responses take, so that a request that had to wait counts as slow. */
const send = (url: string, seconds: number, options: Options) =>
  Effect.suspend(() => {
    const begun = performance.now()
    const dues = Array.from({ length: seconds * 1000 / interval_ms }, (_, index) => begun + index * interval_ms)
    return Effect.forEach(dues, (due_at) => Effect.delay(timed(url, due_at, options), due_at - begun), {
      concurrency: "unbounded"
    })
  })

/** Lets the other organization send requests for some seconds, and measures them and the server's process. */
export const measure = Effect.fnUntraced(function*(
  server: Processes.Server,
  key: string,
  { pid, seconds }: { readonly pid: number; readonly seconds: number }
) {
  const url = `${server.url}/v1/contacts`
  const { peak_mib, result } = yield* memoryDuring(
    pid,
    Effect.all([
      send(url, seconds, { key, agent: kept }),
      send(url, seconds, { key }),
      send(url, seconds, { key, method: "POST", body: "{\"first_name\":\"Kim\"}", agent: kept })
    ], { concurrency: "unbounded" })
  )
  const responses = result.flat()
  const { count, max_ms, p50_ms, p99_ms } = summaryOf(responses.map(({ elapsed_ms }) => Math.round(elapsed_ms)))
  const failed = responses.filter(({ status }) => status === 0 || status >= 400).length
  return { requests: count, failed, p50_ms, p99_ms, max_ms, memory_mib: peak_mib }
})
