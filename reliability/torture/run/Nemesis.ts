/**
 * The nemesis: it injects faults, one after another in each of three groups, so that up to three are active at once. Faults of
 * the database exclude each other, because PostgreSQL cannot start on a full disk, nor be promoted while it is read-only.
 */
import { Effect, Random } from "effect"
import type { Fault } from "../History.ts"
import { database, type FaultGroup, network, type PlannedFault, processes, type Targets } from "./Faults.ts"

interface State {
  readonly targets: Targets
  readonly now: () => number
  readonly faults: Array<Fault>
}

const isPossible = ({ before, cluster }: Targets, kind: string): boolean =>
  (kind !== "older_version" || before !== null) && (kind !== "disk_full" || cluster.has_disk)

/** Injects a fault. An interruption waits for its end, so that every fault ends. */
const inject = Effect.fnUntraced(function*({ faults, now }: State, planned: PlannedFault) {
  const { after = Effect.void, begin, end, kind, millis, target } = planned
  const from = now()
  const duration = millis ?? (yield* Random.nextIntBetween(500, 4000))
  yield* Effect.uninterruptible(Effect.gen(function*() {
    yield* begin
    yield* Effect.sleep(duration)
    yield* end
    faults.push({ kind, target, from, to: now() })
    yield* after
  }))
})

/** Injects the faults of a group, one after another. */
const runGroup = Effect.fnUntraced(function*(state: State, group: FaultGroup, pause_max: number) {
  const kinds = Object.keys(group).filter((kind) => isPossible(state.targets, kind))
  while (true) {
    // Each round has every kind once, so that a short run has every kind.
    for (const kind of yield* Random.shuffle(kinds)) {
      const plan = group[kind]
      if (plan !== undefined) yield* inject(state, yield* plan(state.targets))
      yield* Effect.sleep(yield* Random.nextIntBetween(100, pause_max))
    }
  }
})

/** Makes a nemesis, which injects faults until it is interrupted. */
export const make = (targets: Targets, now: () => number) => {
  const state: State = { targets, now, faults: [] }
  return {
    faults: state.faults as ReadonlyArray<Fault>,
    run: (seed: number) =>
      Effect.forEach(
        [[database, 8000], [network, 3000], [processes, 4000]] as const,
        ([group, pause_max], index) => Random.withSeed(runGroup(state, group, pause_max), `${seed} nemesis ${index}`),
        { concurrency: "unbounded", discard: true }
      )
  }
}
