/**
 * Loads one process for minutes and shows whether its memory grows:
 * `npm run bench:soak`. `-- 2` sets the number of minutes.
 *
 * It sends all requests of `npm run bench` in turn over 32 connections, without a pause.
 * Every 10 seconds it reads the process's memory and the process's own measurement of the
 * event loop delay. It reads the memory again after two minutes without requests. Load,
 * server, and database share the machine. Prints one JSON document.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Array, Effect, Redacted } from "effect"
import * as Arguments from "./Arguments.ts"
import { Processes } from "./Fixtures.ts"
import * as Load from "./http/Load.ts"
import * as PopulationRows from "./http/PopulationRows.ts"
import * as Targets from "./http/Targets.ts"
import { parts, workloads } from "./http/Workloads.ts"
import { memoryOf } from "./Memory.ts"
import { median } from "./Percentiles.ts"
import * as Service from "./Service.ts"

const { minutes } = Arguments.numbers({ minutes: 10 })
const contacts = 10_000
const connections = 32
/** The time between two samples. */
const seconds = 10

const memory = ({ pid }: Targets.Target): number => Math.round(memoryOf(pid))

/** Returns the 99th percentile of the event loop's delay since it was read last, in milliseconds. */
const delayOf = Effect.fnUntraced(function*({ port }: Targets.Target) {
  const response = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/metrics`))
  const text = yield* Effect.promise(() => response.text())
  return 1000 * Number(/^nodejs_eventloop_lag_p99_seconds\S* (\S+)/m.exec(text)?.[1])
})

const benchmark = (database_url: string) =>
  Effect.gen(function*() {
    const environment = Targets.environmentOf(database_url)
    yield* Processes.command(["migrate"], environment)
    yield* Effect.promise(() => PopulationRows.fill(database_url, contacts))
    const target = yield* Targets.start("service", environment)
    const load = yield* Load.start
    yield* Targets.pin(load.pid, 1)
    const cursor = yield* Targets.cursorOf(target, 100)
    const before = memory(target)
    const requests = workloads.flatMap((workload) =>
      workload.requests(contacts, cursor).slice(0, 64).map((request) =>
        parts(request, `127.0.0.1:${target.port}`, `soak-${workload.name}`)
      )
    )
    const samples = yield* Effect.forEach(Array.range(1, minutes * 60 / seconds), () =>
      Effect.gen(function*() {
        const { responses, failed } = yield* load.run({ port: target.port, requests, connections, seconds })
        return { responses, failed, memory_mib: memory(target), delay_p99_ms: yield* delayOf(target) }
      }))
    yield* Effect.sleep("2 minutes")
    const perMinute = Array.chunksOf(samples, 60 / seconds)
    const delays = samples.map(({ delay_p99_ms }) => delay_p99_ms)
    return {
      responses: samples.reduce((sum, { responses }) => sum + responses, 0),
      failed: samples.reduce((sum, { failed }) => sum + failed, 0),
      memory_mib: {
        before,
        at_most_in_each_minute: perMinute.map((minute) => Math.max(...minute.map(({ memory_mib }) => memory_mib))),
        at_rest: memory(target)
      },
      event_loop_delay_p99_ms: { median: median(delays), at_most: Math.max(...delays) }
    }
  }).pipe(Effect.provide(Client.layer({ url: Redacted.make(database_url), connections: 1 })))

await Service.run(benchmark, {
  settings: { shared_buffers: "1GB", max_wal_size: "4GB" },
  timeout: `${minutes + 7} minutes`
})
