/**
 * Sends seeded garbage over raw sockets to a server, on its port and its `METRICS_PORT`: `npm run fuzz:sockets`, or for
 * other seconds and with the seed of another run, `-- 300 4711`.
 *
 * The process must live, respond to another client on a kept connection, and stay below its memory at rest and 150 MiB.
 * Prints the seed, the numbers and the violations as JSON; exits with 1 if there are violations. The p99 of the other
 * client is printed and not checked, because it depends on the machine.
 */
import { Clock, Effect, Fiber, Schema } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { fileURLToPath } from "node:url"
import { freePort } from "../../packages/server/src/dev/FreePort.ts"
import { bundled } from "../../packages/server/testing/processes/Bundle.ts"
import * as Cluster from "../../packages/server/testing/processes/Cluster.ts"
import * as Organizations from "../../packages/server/testing/processes/Organizations.ts"
import * as Processes from "../../packages/server/testing/processes/Processes.ts"
import * as Servers from "../../packages/server/testing/processes/Servers.ts"
import { runDrill, withPostgres } from "./harness/Drill.ts"
import { occurredViolations } from "./harness/Violations.ts"

const seconds = Number(process.argv[2] ?? 30)
const seed = Number(process.argv[3] ?? Math.floor(Math.random() * 1_000_000))
const memory_mib_max = 150
const fuzzer = fileURLToPath(new URL("./sockets/fuzzerProcess.ts", import.meta.url))

/** Returns the resident memory of a process in MiB, 0 if it has ended. */
const memoryOf = (pid: number): number => {
  const status = `/proc/${pid}/status`
  return existsSync(status) ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(status, "utf8"))?.[1] ?? 0) / 1024 : 0
}

const kept = new Agent({ keepAlive: true, maxSockets: 1 })

/** Reads contacts over the kept connection, and returns the status, 0 without a response in 10 s, and the milliseconds. */
const ask = (url: string, key: string) =>
  Effect.callback<{ readonly status: number; readonly millis: number }>((resume) => {
    const begun = performance.now()
    const done = (status: number) => resume(Effect.succeed({ status, millis: performance.now() - begun }))
    const asked = request(
      `${url}/v1/contacts`,
      { agent: kept, timeout: 10_000, headers: { authorization: `Bearer ${key}` } },
      (response) => void response.resume().once("end", () => done(response.statusCode ?? 0))
    )
    asked.once("timeout", () => asked.destroy(new Error("late")))
    asked.once("error", () => done(0))
    asked.end()
  })

/** Lets the other client work for so many seconds, and returns its responses and the most memory that the server had. */
const watch = Effect.fnUntraced(function*({ url }: Servers.Server, key: string, pid: number, seconds: number) {
  const until = (yield* Clock.currentTimeMillis) + seconds * 1000
  const responses: Array<{ readonly status: number; readonly millis: number }> = []
  let memory_mib = 0
  while ((yield* Clock.currentTimeMillis) < until) {
    responses.push(yield* ask(url, key))
    memory_mib = Math.max(memory_mib, memoryOf(pid))
    yield* Effect.sleep("10 millis")
  }
  const sorted = responses.map(({ millis }) => millis).toSorted((a, b) => a - b)
  return {
    responses: responses.length,
    failed: responses.filter(({ status }) => status !== 200).length,
    p99_ms: Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
    memory_mib: Math.round(memory_mib)
  }
})

const Counts = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Number))

const fuzz = Effect.fnUntraced(function*(key: string, ports: ReadonlyArray<number>) {
  const { child, exited } = yield* Processes.start(
    fuzzer,
    [String(seconds), String(seed), key, ...ports.map(String)],
    {}
  )
  let text = ""
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
  yield* exited
  return yield* Schema.decodeUnknownEffect(Counts)(text)
}, Effect.scoped)

const drill = Effect.gen(function*() {
  console.log(JSON.stringify({ seed, seconds }))
  const metrics_port = yield* freePort
  const { acme, environment, servers: [server] } = yield* Cluster.make({
    servers: 1,
    environment: { METRICS_PORT: String(metrics_port), RATE_LIMIT_PER_MINUTE: "1000000", LOG_LEVEL: "none" }
  })
  if (server === undefined) return yield* Effect.die(new Error("There is no server."))
  const other = yield* Organizations.create(environment)
  const { child } = yield* Servers.serve(environment, server)
  const pid = child.pid ?? 0
  // Prepared at its first request, and not by an attack.
  yield* Processes.untilUp(`${server.url}/docs`)
  const rest = yield* watch(server, other.key, pid, 5)
  const fuzzing = yield* Effect.forkChild(fuzz(acme.key, [server.port, metrics_port]))
  const during = yield* watch(server, other.key, pid, seconds)
  const counts = yield* Fiber.join(fuzzing)
  const lives = child.exitCode === null && child.signalCode === null
  const metrics = yield* Effect.promise(() =>
    fetch(`http://127.0.0.1:${metrics_port}/metrics`).then(({ ok }) => ok, () => false)
  )
  const violations = occurredViolations({
    [`the process ended with ${child.exitCode ?? child.signalCode}`]: !lives,
    "METRICS_PORT does not respond": lives && !metrics,
    [`${during.failed} requests of the other client failed`]: during.failed > 0,
    [`memory grew to ${during.memory_mib} MiB`]: during.memory_mib >= rest.memory_mib + memory_mib_max,
    "nothing was sent": (counts["sockets"] ?? 0) === 0
  })
  console.log(JSON.stringify({ seed, counts, rest, during, violations }, null, 2))
  return violations.length === 0
})

await runDrill(
  withPostgres(drill).pipe(
    Effect.provideService(Processes.Program, bundled()),
    Effect.timeout(`${seconds + 180} seconds`)
  )
)
