/**
 * The upgrade drill: clients write, read, and receive events while two servers and two workers of one database are
 * replaced, one process at a time, by another version and back, until every mix of both has run.
 */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Exit, Redacted, Ref, Schedule, Schema, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { pick } from "../../../packages/server/testing/Pick.ts"
import * as Api from "../../../packages/server/testing/processes/Api.ts"
import * as Cluster from "../../../packages/server/testing/processes/Cluster.ts"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import * as Subscribers from "../../../packages/server/testing/processes/Subscribers.ts"
import * as StoredWrites from "../harness/StoredWrites.ts"
import { occurredViolations } from "../harness/Violations.ts"
import * as Writes from "../harness/Writes.ts"

/** The path of the command line of each version. */
export interface Versions {
  readonly before: string
  readonly now: string
}

export interface Options {
  readonly versions: Versions
  readonly clients: number
  readonly mix_seconds: number
  readonly onMix?: (mix: string) => void
}

/** A process that the drill replaces. */
interface Slot {
  readonly name: string
  readonly start: (main: string) => Effect.Effect<Started, never, Scope.Scope>
}

type Started = Effect.Success<ReturnType<typeof Processes.start>>

const slotsOf = ({ environment, servers }: Cluster.Cluster): ReadonlyArray<Slot> => [
  ...servers.map((server, index) => ({
    name: `server ${index + 1}`,
    start: (main: string) => Servers.serveApi(environment, server, main)
  })),
  ...[1, 2].map((number) => ({
    name: `worker ${number}`,
    start: (main: string) => Effect.tap(Processes.start(main, ["worker", "--json"], environment), Processes.untilOutput)
  }))
]

/** Returns every mix of versions in the order of a Gray code, so that each differs from the previous one in one slot. */
const mixesOf = (count: number): ReadonlyArray<ReadonlyArray<keyof Versions>> =>
  Array.from({ length: 2 ** count }, (_, index) => {
    const code = index ^ (index >> 1)
    return Array.from({ length: count }, (_, slot) => (code >> slot) & 1 ? "now" : "before")
  })

/** Runs a process in a slot. `replace` stops it with SIGTERM, as a deployment does, and starts another version. */
const running = Effect.fnUntraced(function*({ start }: Slot, main: string) {
  const parent = yield* Effect.scope
  const begin = Effect.fnUntraced(function*(main: string) {
    const scope = yield* Scope.fork(parent)
    return { scope, started: yield* Scope.provide(start(main), scope) }
  })
  const current = yield* Ref.make(yield* begin(main))
  return {
    /** Returns the exit code of the process that was stopped. */
    replace: Effect.fnUntraced(function*(main: string) {
      const { scope, started } = yield* Ref.get(current)
      started.child.kill("SIGTERM")
      const code = yield* started.exited
      yield* Scope.close(scope, Exit.void)
      yield* Ref.set(current, yield* begin(main))
      return code
    })
  }
})

const Page = Schema.fromJsonString(Schema.Struct({ next_cursor: Schema.NullOr(Schema.String) }))

/** Reads all pages of the contacts repeatedly, each from a random server. Counts pages by their status. */
const read = Effect.fnUntraced(function*({ acme, servers }: Cluster.Cluster, pages: Map<number, number>) {
  let cursor: string | null = null
  while (true) {
    const path: string = `/contacts?page_size=20${cursor === null ? "" : `&cursor=${cursor}`}`
    const server = yield* pick(servers)
    const { status, text }: Api.Response = yield* Api.request(server, "GET", path, { key: acme.key }).pipe(
      // A server that is being replaced accepts no connections. A proxy would use another server.
      Effect.retry({ schedule: Schedule.spaced("50 millis") })
    )
    pages.set(status, (pages.get(status) ?? 0) + 1)
    cursor = status === 200 ? Schema.decodeUnknownSync(Page)(text).next_cursor : null
    yield* Effect.sleep("20 millis")
  }
})

/** Compares the stored deliveries with the received events, and returns counts and violations. */
const compareEvents = Effect.fnUntraced(function*({ forged, received }: Subscribers.Subscriber) {
  const sql = yield* SqlClient.SqlClient
  const stored = yield* sql<{ readonly event_id: string; readonly body: string; readonly status: string }>`
    SELECT d.event_id, e.body, d.status
    FROM webhook_deliveries d
    JOIN webhook_events e ON e.organization_id = d.organization_id AND e.id = d.event_id
  `
  const bodies = new Map(received.map(({ body, event_id }) => [event_id, body]))
  const lost = stored.filter(({ event_id }) => !bodies.has(event_id))
  return {
    events: stored.length,
    repeated_events: received.length - bodies.size,
    violations: occurredViolations({
      "no event has a delivery": stored.length === 0,
      [`${lost.length} events never arrived`]: lost.length > 0,
      "an event has different bytes": stored.some(({ body, event_id }) => (bodies.get(event_id) ?? body) !== body),
      "a delivery did not succeed": stored.some(({ status }) => status !== "succeeded"),
      [`${forged.length} signatures were invalid`]: forged.length > 0
    })
  }
})

/** A slot with its running process. */
interface Running {
  readonly name: string
  readonly process: Effect.Success<ReturnType<typeof running>>
}

/** Runs every mix for a time, and at the end the first one again: a complete rollback. Returns failed exits. */
const runMixes = Effect.fnUntraced(function*(all: ReadonlyArray<Running>, { mix_seconds, onMix, versions }: Options) {
  const failed: Array<string> = []
  const mixes = mixesOf(all.length)
  const [first = []] = mixes
  let current = first
  for (const mix of [...mixes, first]) {
    for (const [index, { name, process }] of all.entries()) {
      const version = mix[index]
      if (version === undefined || version === current[index]) continue
      const code = yield* process.replace(versions[version])
      if (code !== 0) failed.push(`${name} ended with ${code}`)
    }
    current = mix
    onMix?.(all.map(({ name }, index) => `${name} ${mix[index]}`).join(", "))
    yield* Effect.sleep(`${mix_seconds} seconds`)
  }
  return { mixes: mixes.length, failed }
})

/** Starts the cluster, its processes of the previous version, and a subscriber. */
const start = Effect.fnUntraced(function*({ versions }: Options) {
  const cluster = yield* Cluster.make({
    servers: 2,
    environment: {
      RATE_LIMIT_PER_MINUTE: "1000000",
      DATABASE_POOL: "6",
      LOG_LEVEL: "error",
      WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
    }
  })
  const all = yield* Effect.forEach(
    slotsOf(cluster),
    (slot): Effect.Effect<Running, never, Scope.Scope> =>
      Effect.map(running(slot, versions.before), (process) => ({ name: slot.name, process })),
    { concurrency: 2 }
  )
  const [server] = cluster.servers
  if (server === undefined) return yield* Effect.die(new Error("The cluster has no server."))
  const subscriber = yield* Subscribers.subscriber(server, cluster.acme.key, {
    event_types: ["contact.created", "conversation.opened", "message.sent", "message.updated"],
    behavior: Subscribers.prompt
  })
  return { all, cluster, subscriber }
})

/** Runs the drill, and returns counts, the lost and duplicated writes, and the failed requests. */
export const drill = Effect.fnUntraced(function*(options: Options) {
  const { all, cluster, subscriber } = yield* start(options)
  const failed: Array<string> = []
  const isStopping = yield* Ref.make(false)
  const writers = yield* Writes.make(cluster, options.clients, ({ status, text }) => {
    if (status >= 500) failed.push(`a write returned ${status}: ${text}`)
  })
  const writing = yield* Effect.forkChild(writers.writeUntil(Ref.get(isStopping)))
  const pages = new Map<number, number>()
  const reading = yield* Effect.forkChild(read(cluster, pages))
  const run = yield* runMixes(all, options)
  const { violations, ...counts } = yield* StoredWrites.finish(cluster, writers, writing, isStopping)
  if (reading.pollUnsafe() !== undefined) failed.push("the reads ended early")
  reading.interruptUnsafe()
  const events = yield* Effect.provide(
    compareEvents(subscriber),
    Client.layer({ url: Redacted.make(cluster.database_url), connections: 1 })
  )
  for (const [status, count] of pages) if (status !== 200) failed.push(`${count} pages returned ${status}`)
  return {
    mixes: run.mixes,
    ...counts,
    pages: pages.get(200) ?? 0,
    events: events.events,
    repeated_events: events.repeated_events,
    violations: [...violations, ...events.violations, ...run.failed, ...failed]
  }
})
