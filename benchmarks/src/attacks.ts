/**
 * Attacks a server, and measures another organization during the attacks: `npm run bench:attacks`. `-- 60` attacks for
 * another number of seconds each, `-- --quick` for 5 seconds, and `-- 30 "slow readers"` runs the named attacks only.
 *
 * The other organization reads and writes over a persistent connection, and reads over a new one each time. A network sends
 * signed callbacks. Their response times, counted from when the requests were due, and the growth of the server's memory have
 * limits (`Limits.attacks`). Afterward every socket must be released. Attacks come from a separate process, to 127.0.0.1 only.
 * Prints a table, and exits with 1 if a limit is exceeded, or an attack did not reach its target.
 */
import { Effect, Schedule, Schema } from "effect"
import { readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as Attacks from "./attacks/Attacks.ts"
import * as OtherOrganization from "./attacks/OtherOrganization.ts"
import * as Preparation from "./attacks/Preparation.ts"
import * as Arguments from "./harness/Arguments.ts"
import * as Benchmark from "./harness/Benchmark.ts"
import { Organizations, Processes, Servers } from "./harness/Fixtures.ts"
import * as Limits from "./harness/Limits.ts"
import * as ProcessOutput from "./harness/ProcessOutput.ts"
import * as Service from "./harness/Service.ts"
import * as Callbacks from "./ingress/Callbacks.ts"

const { positionals, values: { quick } } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false } }
})
const isNumber = (text: string): boolean => /^\d+$/.test(text)
const { seconds } = Arguments.numbers({ seconds: quick ? 5 : 30 }, positionals.filter(isNumber))
const selected = Arguments.select("The attacks", Attacks.names, positionals.filter((text) => !isNumber(text)))

const attackerFile = fileURLToPath(new URL("./attacks/attackerProcess.ts", import.meta.url))

const Effects = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Int))

/** The server under attack, with the inputs of its attacks and measurements. */
interface Subject {
  readonly cluster: Service.Cluster
  readonly pid: number
  readonly other: OtherOrganization.Other
  /** The path of a link to a large file of the attacker's organization. */
  readonly link: string
}

const startSubject = Effect.fnUntraced(function*(kind: Attacks.Kind) {
  const cluster = yield* Service.cluster(1, { RATE_LIMIT_PER_MINUTE: "1000000" })
  const { child } = yield* Servers.serve(cluster.environment, cluster.server)
  const { key } = yield* Organizations.create(cluster.environment)
  const account = kind === "cloud" ? yield* Callbacks.accountOf(cluster.environment) : null
  const link = kind === "cloud" ? "/" : yield* Preparation.linkOf(cluster)
  if (kind === "work") yield* Preparation.addField(cluster)
  if (kind !== "cold") yield* Preparation.warmUp(cluster.server)
  return { cluster, pid: child.pid ?? 0, other: { key, account }, link } satisfies Subject
})

/** Lets the other organization send requests, and measures them and the server's process. */
const measureOther = ({ cluster, other, pid }: Subject) =>
  OtherOrganization.measure(cluster.server, other, { pid, seconds })

/** Runs one attack while the other organization sends requests. */
const measureDuringAttack = Effect.fnUntraced(function*(subject: Subject, name: Attacks.Attack) {
  const { cluster, link } = subject
  const { child } = yield* Processes.start(attackerFile, [name, cluster.server.url, cluster.acme.key, link], {})
  const line = yield* ProcessOutput.firstLine(child)
  const lastLine = ProcessOutput.lastLine(child)
  // A burst of more connections than the system queues makes clients connect again after a second, once.
  yield* Effect.sleep("2 seconds")
  if (name === "hostile endpoints") yield* Effect.forkScoped(Preparation.raiseEvents(cluster, line))
  const measured = yield* measureOther(subject)
  if (child.exitCode !== null) return yield* Effect.die(new Error("The attacker ended during its attack."))
  const effects = yield* Schema.decodeUnknownEffect(Effects)(lastLine())
  return { ...measured, effects: JSON.stringify(effects), reached: Attacks.hasReached(name, effects) }
}, Effect.scoped)

const countOpenFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Waits until the server has as few files open as before, for 90 s at most. Returns whether it has. */
const awaitRelease = (pid: number, before: number) =>
  Effect.sync(() => countOpenFiles(pid) <= before + 5).pipe(
    Effect.repeat({ schedule: Schedule.spaced("250 millis"), times: 360, until: (isReleased) => isReleased })
  )

const selectedOf = (kind: Attacks.Kind): ReadonlyArray<Attacks.Attack> =>
  selected.filter((name) => Object.hasOwn(Attacks.attacks[kind], name))

/** Runs attacks on one server, one after the other. */
const attackWith = Effect.fnUntraced(function*(kind: Attacks.Kind, names: ReadonlyArray<Attacks.Attack>) {
  const subject = yield* startSubject(kind)
  const rest = yield* measureOther(subject)
  const rows = yield* Effect.forEach(names, (name) =>
    Effect.gen(function*() {
      const open_files = countOpenFiles(subject.pid)
      const measured = yield* measureDuringAttack(subject, name)
      const grown_mib = measured.memory_mib - rest.memory_mib
      const row = { attack: name, ...measured, grown_mib, released: yield* awaitRelease(subject.pid, open_files) }
      return { ...row, within: Limits.isAttackWithin(row) }
    }))
  return [
    { attack: `none, ${kind}`, ...rest, grown_mib: 0, effects: "", reached: true, released: true, within: true },
    ...rows
  ]
}, Effect.scoped)

/** Runs the selected attacks of a kind. */
const attackAll = (kind: Attacks.Kind) => {
  const names = selectedOf(kind)
  const servers = kind === "work" ? names.map((name) => [name]) : [names]
  return Effect.map(Effect.forEach(servers, (each) => attackWith(kind, each)), (rows) => rows.flat())
}

const printTable = (rows: Effect.Success<ReturnType<typeof attackAll>>) =>
  Effect.sync(() =>
    console.table(rows.map((row) => ({
      ...row,
      memory_mib: Math.round(row.memory_mib),
      grown_mib: Math.round(row.grown_mib)
    })))
  )

const measureAttacks = Effect.gen(function*() {
  // Warm comes last: after its attacks, thousands of ports are unavailable to a server for a while.
  const kinds = (["cold", "cloud", "work", "warm"] as const).filter((kind) => selectedOf(kind).length > 0)
  const all = yield* Effect.forEach(kinds, (kind) => Effect.tap(attackAll(kind), printTable))
  const exceeded = all.flat().filter(({ within }) => !within).length
  return { seconds, bounds: Limits.attacks, exceeded }
})

await Benchmark.run(() => measureAttacks, { isWithin: ({ exceeded }) => exceeded === 0, timeout: "20 minutes" })
