/**
 * Attacks a server, and measures another organization during the attacks: `npm run bench:attacks`. `-- 60` attacks for
 * another number of seconds each, `-- --quick` for 5 seconds, and `-- 30 "slow readers"` runs the named attacks only.
 *
 * The other organization reads and writes over a persistent connection, and reads over a new one each time. Its p99 must
 * stay below 500 ms, counted from when they were due. The server's memory must not exceed its peak without attacks by more than 100 MiB, or 150 MiB for a
 * server that has not prepared its pages. Afterward every socket must be released. Attacks come from a separate process, to
 * 127.0.0.1 only. Prints a table, and exits with 1 if a bound is exceeded, or an attack did not reach its target.
 */
import { Effect, Schedule, Schema } from "effect"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as Arguments from "./Arguments.ts"
import * as Attacks from "./attacks/Attacks.ts"
import * as OtherOrganization from "./attacks/OtherOrganization.ts"
import * as Preparation from "./attacks/Preparation.ts"
import { Processes } from "./Fixtures.ts"
import * as Limits from "./Limits.ts"
import * as Service from "./Service.ts"

const { positionals, values: { quick } } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false } }
})
const isNumber = (word: string): boolean => /^\d+$/.test(word)
const { seconds } = Arguments.numbers({ seconds: quick ? 5 : 30 }, positionals.filter(isNumber))
const chosen = Arguments.chosen("The attacks", Attacks.names, positionals.filter((word) => !isNumber(word)))

const attacker = fileURLToPath(new URL("./attacks/attackerProcess.ts", import.meta.url))

const Effects = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Int))

const filesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Runs one attack while the other organization sends requests. */
const attacked = (
  cluster: Service.Cluster,
  other: { readonly key: string },
  pid: number,
  link: string
) =>
  Effect.fnUntraced(function*(name: Attacks.Attack) {
    const { child } = yield* Processes.start(attacker, [name, cluster.server.url, cluster.acme.key, link], {})
    const line = yield* Service.firstLine(child)
    const lastLine = Service.lastLine(child)
    // A burst of more connections than the system queues makes clients connect again after a second, once.
    yield* Effect.sleep("2 seconds")
    if (name === "hostile endpoints") yield* Effect.forkScoped(Preparation.provoke(cluster, line))
    const measured = yield* OtherOrganization.measure(cluster.server, other.key, { pid, seconds })
    if (child.exitCode !== null) return yield* Effect.die(new Error("The attacker ended during its attack."))
    const effects = yield* Schema.decodeUnknownEffect(Effects)(lastLine())
    return { ...measured, effects: JSON.stringify(effects), reached: Attacks.hasReached(name, effects) }
  }, Effect.scoped)

/** Waits until the server has as few files open as before, for 90 s at most. */
const released = (pid: number, before: number) =>
  Effect.sync(() => filesOf(pid) <= before + 5).pipe(
    Effect.repeat({ schedule: Schedule.spaced("250 millis"), times: 360, until: (isReleased) => isReleased })
  )

const chosenOf = (kind: Attacks.Kind): ReadonlyArray<Attacks.Attack> =>
  chosen.filter((name) => Object.hasOwn(Attacks.attacks[kind], name))

/** Runs the chosen attacks on one server, one after the other. */
const attackAll = Effect.fnUntraced(function*(kind: Attacks.Kind) {
  const provider = kind === "cloud" ? "cloud" : "mock"
  const cluster = yield* Service.cluster(1, provider, { RATE_LIMIT_PER_MINUTE: "1000000" })
  const { server } = cluster
  const { child } = yield* Processes.serve(cluster.environment, server)
  const pid = child.pid ?? 0
  const other = yield* Processes.organization(cluster.environment)
  const link = kind === "mock" ? yield* Preparation.linkOf(cluster) : "/"
  if (kind !== "cold") yield* Preparation.warm(server)
  const rest = yield* OtherOrganization.measure(server, other.key, { pid, seconds })
  const rows = yield* Effect.forEach(chosenOf(kind), (name) =>
    Effect.gen(function*() {
      const files = filesOf(pid)
      const measured = yield* attacked(cluster, other, pid, link)(name)
      const grown_mib = measured.memory_mib - rest.memory_mib
      const row = { attack: name, ...measured, grown_mib, released: yield* released(pid, files) }
      return { ...row, within: Limits.isAttackWithin(row, kind === "cold") }
    }))
  return [
    { attack: `none, ${kind}`, ...rest, grown_mib: 0, effects: "", reached: true, released: true, within: true },
    ...rows
  ]
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
  // Mock comes last: after its attacks, thousands of ports are unavailable to a server for a while.
  const kinds = (["cold", "cloud", "mock"] as const).filter((kind) => chosenOf(kind).length > 0)
  const all = yield* Effect.forEach(kinds, (kind) => Effect.tap(attackAll(kind), show))
  const exceeded = all.flat().filter(({ within }) => !within).length
  process.exitCode = exceeded === 0 ? 0 : 1
  return { seconds, bounds: Limits.attacks, exceeded }
})

await Service.run(() => benchmark, { timeout: "20 minutes" })
