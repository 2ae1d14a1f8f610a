/** Measures the targets in the order A B C, C B A, A B C, so that a disturbance of the machine affects them alike. */
import { Clock, Effect } from "effect"
import { median } from "../harness/Percentiles.ts"
import * as ProcessorTime from "../harness/ProcessorTime.ts"
import type { Load } from "../load/Load.ts"
import type { Target } from "../load/Targets.ts"

export interface Round {
  readonly per_second: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** CPU time per request. */
  readonly server_us: number
  readonly postgres_us: number
  readonly load_us: number
  /** The mean length of a response. */
  readonly bytes: number
  readonly failed: number
  /** The CPU time of other processes during the round, in percent of one processor. */
  readonly other_processes_percent: number
}

/** A target with its requests. */
export interface Runner<Name extends string> {
  readonly target: Target<Name>
  readonly requests: ReadonlyArray<ReadonlyArray<string>>
  /** Default: those of the options. */
  readonly connections?: number
}

export interface Options {
  /** Returns the CPU time of PostgreSQL. */
  readonly readPostgres: Effect.Effect<number>
  /** Does the work of autovacuum and of the checkpointer, after the warm-up of writes. */
  readonly tidy: Effect.Effect<void>
  readonly rounds: number
  readonly seconds: number
  /** How long each target runs a workload before it is measured, so that V8 optimizes its code. */
  readonly warm_up_seconds: number
  readonly connections: number
}

const runRound = Effect.fnUntraced(function*(
  load: Load,
  { connections, requests, target }: Runner<string>,
  { readPostgres, seconds, ...options }: Options
) {
  const readTimes = Effect.all([
    readPostgres,
    ProcessorTime.ofMachine,
    ProcessorTime.ofProcess(target.pid),
    ProcessorTime.ofProcess(load.pid)
  ])
  const started_at = yield* Clock.currentTimeMillis
  const before = yield* readTimes
  const outcome = yield* load.run({
    port: target.port,
    requests,
    connections: connections ?? options.connections,
    seconds
  })
  const after = yield* readTimes
  const elapsed_ms = (yield* Clock.currentTimeMillis) - started_at
  const [postgres = 0, machine = 0, server = 0, client = 0] = after.map((time, index) => time - (before[index] ?? 0))
  const { bytes, failed, p50_ms, p99_ms, per_second, responses } = outcome
  const round: Round = {
    per_second,
    p50_ms,
    p99_ms,
    server_us: server / responses,
    postgres_us: postgres / responses,
    load_us: client / responses,
    bytes,
    failed,
    other_processes_percent: Math.max(0, machine - server - postgres - client) / elapsed_ms / 10
  }
  return round
})

/** Returns whether a runner sends writes, which contain a number, and which leave dead rows. */
const isWriting = ({ requests }: Runner<string>): boolean => requests.some((parts) => parts.length > 1)

/** The maximum CPU time of other processes in an undisturbed turn, in percent of one processor. */
const undisturbed_max = 20

/** One round of each target. */
interface Turn<Name> {
  readonly rounds: ReadonlyMap<Name, Round>
  /** The CPU time of other processes in the most disturbed round. */
  readonly other_processes_percent: number
}

type Disturbance = Pick<Turn<string>, "other_processes_percent">

/** Returns whether enough turns are undisturbed, or twice as many as count are measured. */
export const areEnough = (turns: ReadonlyArray<Disturbance>, rounds: number): boolean =>
  turns.length >= rounds * 2 ||
  turns.filter(({ other_processes_percent }) => other_processes_percent <= undisturbed_max).length >= rounds

/** Returns the least disturbed turns, as many as `rounds`. */
export const leastDisturbed = <A extends Disturbance>(
  turns: ReadonlyArray<A>,
  rounds: number
) => turns.toSorted((a, b) => a.other_processes_percent - b.other_processes_percent).slice(0, rounds)

/**
 * Returns the rounds of each target, measured in turns. A disturbed turn is repeated, up to twice the number of turns in
 * total. The least disturbed turns count.
 */
export const run = Effect.fnUntraced(function*<Name extends string>(
  load: Load,
  runners: ReadonlyArray<Runner<Name>>,
  options: Options
) {
  for (const runner of runners) yield* runRound(load, runner, { ...options, seconds: options.warm_up_seconds })
  if (runners.some(isWriting)) yield* options.tidy
  const turns: Array<Turn<Name>> = []
  while (!areEnough(turns, options.rounds)) {
    const rounds = new Map<Name, Round>()
    for (const runner of turns.length % 2 === 0 ? runners : runners.toReversed()) {
      rounds.set(runner.target.name, yield* runRound(load, runner, options))
    }
    turns.push({
      rounds,
      other_processes_percent: Math.max(
        ...Array.from(rounds.values(), ({ other_processes_percent }) => other_processes_percent)
      )
    })
  }
  const counted_turns = leastDisturbed(turns, options.rounds)
  return new Map(
    runners.map(({ target: { name } }) => [name, counted_turns.flatMap(({ rounds }) => rounds.get(name) ?? [])])
  )
})

/** The median of each number; failures are added up, and the worst disturbance counts. */
export const medians = (rounds: ReadonlyArray<Round>): Round => {
  const medianOf = (name: keyof Round) => median(rounds.map((round) => round[name]))
  return {
    per_second: medianOf("per_second"),
    p50_ms: medianOf("p50_ms"),
    p99_ms: medianOf("p99_ms"),
    server_us: medianOf("server_us"),
    postgres_us: medianOf("postgres_us"),
    load_us: medianOf("load_us"),
    bytes: medianOf("bytes"),
    failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
    other_processes_percent: Math.max(...rounds.map(({ other_processes_percent }) => other_processes_percent))
  }
}

/** The median of the ratios of a figure of rounds that were next to each other. */
export const ratio = (
  service: ReadonlyArray<Round>,
  baseline: ReadonlyArray<Round>,
  figure: keyof Round = "per_second"
): number => median(service.map((round, index) => round[figure] / (baseline[index]?.[figure] ?? NaN)))
