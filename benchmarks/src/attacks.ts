/**
 * Attacks a server and measures another organization meanwhile: `npm run bench:attacks`, with other
 * seconds for each attack `-- 60`, or `-- --quick` for 5; `-- 30 "slow readers"` for the attacks that are named.
 *
 * The other organization reads and writes over a kept connection, and reads over a new
 * one each time. Its p99 must stay below 500 ms. The server's memory must not exceed its
 * peak without attacks by more than 100 MiB, or 150 MiB for a server that has prepared
 * nothing yet. Afterward every socket must be released. Attacks come from a separate
 * process, to 127.0.0.1 only. Prints a table, and exits with 1 if a bound is exceeded.
 */
import { Clock, DateTime, Effect, Schedule, Schema } from "effect"
import { readdirSync } from "node:fs"
import { Agent, get, request } from "node:http"
import { fileURLToPath } from "node:url"
import { Processes } from "./Fixtures.ts"
import { memoryOf } from "./Memory.ts"
import { percentile } from "./Percentiles.ts"
import * as Service from "./Service.ts"

const given = process.argv.slice(2)
const seconds = given.includes("--quick") ? 5 : Number(given.find((word) => /^\d+$/.test(word)) ?? 30)
const chosen = given.filter((word) => !word.startsWith("--") && !/^\d+$/.test(word))
const bounds = { p99_ms: 500, memory_mib: 100, cold_memory_mib: 150 }
const endpoints = 16

const attacker = fileURLToPath(new URL("./attackerProcess.ts", import.meta.url))

const filesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

const kept = new Agent({ keepAlive: true, maxSockets: 1 })

/** Sends a request and returns how long its response took, or the time limit without one. */
const timed = (
  url: string,
  options: { readonly method?: string; readonly agent?: Agent; readonly key: string; readonly body?: string }
) =>
  Effect.callback<{ readonly elapsed_ms: number; readonly status: number }>((resume) => {
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

interface Measured {
  readonly requests: number
  readonly failed: number
  readonly p50_ms: number
  readonly p99_ms: number
  readonly memory_mib: number
}

/** Lets the other organization work for the set time. */
const measure = Effect.fnUntraced(function*(server: Processes.Server, key: string, pid: number) {
  const responses: Array<{ readonly elapsed_ms: number; readonly status: number }> = []
  let memory_mib = 0
  const until = (yield* Clock.currentTimeMillis) + seconds * 1000
  const loop = (act: () => Effect.Effect<{ readonly elapsed_ms: number; readonly status: number }>) =>
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
  const measured: Measured = { requests: times.length, failed, p50_ms: at(0.5), p99_ms: at(0.99), memory_mib }
  return measured
})

const Link = Schema.fromJsonString(Schema.Struct({
  data: Schema.Array(Schema.Struct({ media: Schema.NullOr(Schema.Struct({ url: Schema.String })) }))
}))
const Conversations = Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }))

/** A person writes to the attacker's organization now. */
const message = (channel_id: string) =>
  Effect.map(DateTime.now, (sent_at) => ({
    ...Service.messageReceived(channel_id, globalThis.crypto.randomUUID(), "+4915112345678"),
    sent_at
  }))

const largest_file = {
  kind: "video",
  mime_type: "video/mp4",
  filename: null,
  transcript: null,
  bytes: new Uint8Array(16_000_000)
} as const

/** Stores the largest file there is and returns the path of a link to it. */
const linkOf = Effect.fnUntraced(function*({ acme, environment, server }: Service.Cluster) {
  const { channel_id, key } = acme
  const callBack = yield* Processes.callbackSender(environment)
  yield* callBack(server, [{ ...yield* message(channel_id), type: "video", media: largest_file }])
  const conversations = yield* Processes.request(server, "GET", "/conversations", { key })
  const { data: [conversation] } = yield* Schema.decodeUnknownEffect(Conversations)(conversations.text)
  const messages = yield* Processes.request(server, "GET", `/conversations/${conversation?.id}/messages`, { key })
  const { data: [newest] } = yield* Schema.decodeUnknownEffect(Link)(messages.text)
  return new URL(newest?.media?.url ?? "/", server.url).pathname
})

/** Subscribes hostile endpoints and raises events for them until it is interrupted. */
const provoke = Effect.fnUntraced(function*({ acme, environment, server }: Service.Cluster, url: string) {
  const { channel_id, key } = acme
  const callBack = yield* Processes.callbackSender(environment)
  for (let number = 0; number < endpoints; number++) {
    yield* Service.subscribe(server, key, `${url}/${number}`)
  }
  yield* Effect.repeat(
    Effect.flatMap(message(channel_id), (event) => callBack(server, [event])),
    Schedule.spaced("500 millis")
  )
})

/** Runs one attack while the other organization sends requests. */
const attacked = (
  cluster: Service.Cluster,
  other: { readonly key: string },
  pid: number,
  link: string
) =>
  Effect.fnUntraced(function*(name: string) {
    const { child } = yield* Processes.start(attacker, [name, cluster.server.url, cluster.acme.key, link], {})
    const line = yield* Service.firstLine(child)
    if (name === "hostile endpoints") yield* Effect.forkScoped(provoke(cluster, line))
    return yield* measure(cluster.server, other.key, pid)
  }, Effect.scoped)

/** Waits until the server has as few files open as before, for 90 s at most. */
const released = (pid: number, before: number) =>
  Effect.sync(() => filesOf(pid) <= before + 5).pipe(
    Effect.repeat({ schedule: Schedule.spaced("250 millis"), times: 360, until: (isReleased) => isReleased })
  )

/** The attacks, by their server: one with that provider, or one that has not prepared the docs page. */
const attacks = {
  mock: [
    "unsigned posts",
    "upgraded sockets",
    "slow readers",
    "slow writers",
    "worst keys",
    "expensive searches",
    "hostile endpoints",
    "pipelined probes",
    "pipelined strangers"
  ],
  cloud: ["signed by nobody"],
  // A server that has prepared nothing yet, so that its memory grows by the docs page too.
  cold: ["pipelined pages"]
} as const

type Kind = keyof typeof attacks

const unknown = chosen.find((name) =>
  !Object.values(attacks).some((names: ReadonlyArray<string>) => names.includes(name))
)
if (unknown !== undefined) {
  throw new Error(`There is no attack "${unknown}": ${Object.values(attacks).flat().join(", ")}`)
}

const isChosen = (name: string): boolean => chosen.length === 0 || chosen.includes(name)

/** Asks for what is prepared at its first request, so that it belongs to the rest. */
const warm = ({ url }: Processes.Server) =>
  Effect.forEach(
    ["/docs", "/v1/openapi.json"],
    (path) =>
      Effect.callback<void>((resume) =>
        void get(`${url}${path}`, (response) => response.resume().once("end", () => resume(Effect.void)))
      )
  )

/** Runs the attacks on a server with one provider, one after the other. */
const attackAll = Effect.fnUntraced(function*(kind: Kind) {
  const provider = kind === "cloud" ? "cloud" : "mock"
  const cluster = yield* Service.cluster(1, provider, { RATE_LIMIT_PER_MINUTE: "1000000" })
  const { server } = cluster
  const { child } = yield* Processes.serve(cluster.environment, server)
  const pid = child.pid ?? 0
  const other = yield* Processes.organization(cluster.environment)
  const link = kind === "mock" ? yield* linkOf(cluster) : "/"
  if (kind !== "cold") yield* warm(server)
  const rest = yield* measure(server, other.key, pid)
  const rows = yield* Effect.forEach(attacks[kind].filter(isChosen), (name) =>
    Effect.gen(function*() {
      const files = filesOf(pid)
      const measured = yield* attacked(cluster, other, pid, link)(name)
      const isReleased = yield* released(pid, files)
      const grown_mib = measured.memory_mib - rest.memory_mib
      const isWithin = measured.p99_ms < bounds.p99_ms &&
        grown_mib < (kind === "cold" ? bounds.cold_memory_mib : bounds.memory_mib) && isReleased &&
        measured.failed === 0
      return { attack: name, ...measured, grown_mib, released: isReleased, within: isWithin }
    }))
  return [{ attack: `none, ${kind}`, ...rest, grown_mib: 0, released: true, within: true }, ...rows]
}, Effect.scoped)

const show = (rows: Effect.Success<ReturnType<typeof attackAll>>) =>
  Effect.sync(() =>
    console.table(rows.map((row) => ({
      ...row,
      memory_mib: Math.round(row.memory_mib),
      grown_mib: Math.round(row.grown_mib)
    })))
  )

const benchmark = Effect.gen(function*() {
  // Mock comes last: its attacks leave thousands of ports that a server may not have for a while.
  const kinds = (["cold", "cloud", "mock"] as const).filter((kind) => attacks[kind].some(isChosen))
  const all = yield* Effect.forEach(kinds, (kind) => Effect.tap(attackAll(kind), show))
  const exceeded = all.flat().filter(({ within }) => !within).length
  process.exitCode = exceeded === 0 ? 0 : 1
  return { seconds, bounds, exceeded }
})

await Service.run(() => benchmark, { timeout: "20 minutes" })
