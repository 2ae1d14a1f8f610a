/** The requests of another organization during an attack. */
import { Clock, Effect } from "effect"
import { Agent, request } from "node:http"
import type { Processes } from "../Fixtures.ts"
import { memoryOf } from "../Memory.ts"
import { percentile } from "../Percentiles.ts"

const kept = new Agent({ keepAlive: true, maxSockets: 1 })

interface TimedResponse {
  readonly elapsed_ms: number
  readonly status: number
}

/** Sends a request and returns how long its response took, or the time limit without one. */
const timed = (
  url: string,
  options: { readonly method?: string; readonly agent?: Agent; readonly key: string; readonly body?: string }
) =>
  Effect.callback<TimedResponse>((resume) => {
    const begun = performance.now()
    const done = (status: number) => resume(Effect.succeed({ elapsed_ms: performance.now() - begun, status }))
    const { agent, body = "", key, method = "GET" } = options
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

/** Lets the other organization send requests for some seconds, and measures them and the server's process. */
export const measure = Effect.fnUntraced(function*(
  server: Processes.Server,
  key: string,
  { pid, seconds }: { readonly pid: number; readonly seconds: number }
) {
  const responses: Array<TimedResponse> = []
  let memory_mib = 0
  const until = (yield* Clock.currentTimeMillis) + seconds * 1000
  const loop = (act: () => Effect.Effect<TimedResponse>) =>
    Effect.gen(function*() {
      while ((yield* Clock.currentTimeMillis) < until) {
        responses.push(yield* act())
        memory_mib = Math.max(memory_mib, memoryOf(pid))
        yield* Effect.sleep("10 millis")
      }
    })
  const url = `${server.url}/v1`
  yield* Effect.all([
    loop(() => timed(`${url}/contacts`, { key, agent: kept })),
    loop(() => timed(`${url}/contacts`, { key })),
    loop(() => timed(`${url}/contacts`, { key, method: "POST", body: "{\"first_name\":\"Kim\"}", agent: kept }))
  ], { concurrency: "unbounded" })
  const times = responses.map(({ elapsed_ms }) => elapsed_ms)
  const at = (share: number) => Math.round(percentile(times, share))
  const failed = responses.filter(({ status }) => status === 0 || status >= 400).length
  return { requests: times.length, failed, p50_ms: at(0.5), p99_ms: at(0.99), memory_mib }
})
