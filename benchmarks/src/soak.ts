/**
 * Loads one process for minutes and shows whether its memory grows:
 * `npm run bench:soak`. `-- 2` sets the number of minutes.
 *
 * It sends all requests of `npm run bench` in turn, without a pause.
 * At short intervals it reads the process's memory and the process's own measurement of the
 * event loop delay. It reads the memory again after a pause without requests. Load,
 * server, and database share the machine. Prints one JSON document.
 */
import { Array, Effect } from "effect"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { Processes } from "./harness/Fixtures.ts"
import { memoryOf } from "./harness/Memory.ts"
import { median } from "./harness/Percentiles.ts"
import * as Load from "./load/Load.ts"
import * as PopulationRows from "./load/PopulationRows.ts"
import * as Targets from "./load/Targets.ts"
import { parts, workloads } from "./load/Workloads.ts"

const { minutes } = Arguments.numbers({ minutes: 10 })
const contacts = 10_000
const connections = 32
/** The time between two samples. */
const seconds = 10

const memoryMiB = ({ pid }: Targets.Target): number => Math.round(memoryOf(pid))

/** Returns the 99th percentile of the event loop's delay since it was read last, in milliseconds. */
const delayOf = Effect.fnUntraced(function*({ port }: Targets.Target) {
  const response = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/metrics`))
  const text = yield* Effect.promise(() => response.text())
  return 1000 * Number(/^nodejs_eventloop_delay_p99_seconds\S* (\S+)/m.exec(text)?.[1])
})

/** Returns the parts of some requests of every workload. */
const requestsTo = Effect.fnUntraced(function*(target: Targets.Target) {
  const cursor = yield* Targets.cursorOf(target, 100)
  return workloads.flatMap((workload) =>
    workload.requests(contacts, cursor).slice(0, 64).map((request) =>
      parts(request, `127.0.0.1:${target.port}`, `soak-${workload.name}`)
    )
  )
})

/** Loads the service, and returns a sample of each interval. */
const sampleLoad = Effect.fnUntraced(
  function*(load: Load.Load, target: Targets.Target, requests: ReadonlyArray<ReadonlyArray<string>>) {
    const { port } = target
    return yield* Effect.forEach(Array.range(1, minutes * 60 / seconds), () =>
      Effect.gen(function*() {
        const { responses, failed } = yield* load.run({ port, requests, connections, seconds })
        return { responses, failed, memory_mib: memoryMiB(target), delay_p99_ms: yield* delayOf(target) }
      }))
  }
)

const measureSoak = Effect.fnUntraced(function*(database_url: string) {
  const environment = Targets.environmentOf(database_url)
  yield* Processes.command(["migrate"], environment)
  yield* Effect.promise(() => PopulationRows.fill(database_url, contacts))
  const target = yield* Targets.start("service", environment)
  const load = yield* Load.start
  yield* Targets.pin(load.pid, 1)
  const requests = yield* requestsTo(target)
  const before = memoryMiB(target)
  const samples = yield* sampleLoad(load, target, requests)
  yield* Effect.sleep("2 minutes")
  const delays = samples.map(({ delay_p99_ms }) => delay_p99_ms)
  return {
    responses: samples.reduce((sum, { responses }) => sum + responses, 0),
    failed: samples.reduce((sum, { failed }) => sum + failed, 0),
    memory_mib: {
      before,
      at_most_in_each_minute: Array.chunksOf(samples, 60 / seconds)
        .map((minute) => Math.max(...minute.map(({ memory_mib }) => memory_mib))),
      at_rest: memoryMiB(target)
    },
    event_loop_delay_p99_ms: { median: median(delays), at_most: Math.max(...delays) }
  }
})

await Benchmark.run(measureSoak, {
  settings: { shared_buffers: "1GB", max_wal_size: "4GB" },
  timeout: `${minutes + 7} minutes`
})
