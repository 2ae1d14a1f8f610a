/** The storage of a run: one world in memory that all processes share. Each process reaches it through its own faults. */
import { stores } from "@messaging-crm/adapter-memory"
import { World, type WorldState } from "@messaging-crm/adapter-memory/World"
import type { Changes } from "@messaging-crm/core/Changes"
import { Commit, Unconfirmed } from "@messaging-crm/core/Commit"
import type * as Crm from "@messaging-crm/core/Crm"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { kind_rules } from "@messaging-crm/core/WorkQueue"
import { Context, Effect, Exit, Layer } from "effect"
import type { Faults } from "./Faults.ts"
import type { Host } from "./Host.ts"
import type { SeededRandom } from "./SeededRandom.ts"
import type { Timeline } from "./Timeline.ts"
import type { Trace } from "./Trace.ts"

/** A commit that took effect, with the rows before and after it. */
export interface Committed {
  readonly organization_id: OrganizationId
  readonly changes: Changes
  readonly before: WorldState
  readonly after: WorldState
}

/** The time, randomness, faults, and trace of a run. */
export interface Scene {
  readonly random: SeededRandom
  readonly timeline: Timeline
  readonly trace: Trace
  readonly faults: () => Faults
  /** Called in the same step as each commit that takes effect. */
  readonly onCommit: (committed: Committed) => void
}

/** The world of a run without faults, and the counts that limit and explain faults. */
export interface SharedStore {
  readonly rows: () => WorldState
  readonly world: World["Service"]
  /** The number of statement faults so far. */
  faults: number
  /** The number of ended processes so far. */
  ends: number
}

/** The access of one process to the shared store. */
export interface StoreAccess {
  readonly scene: Scene
  readonly shared: SharedStore
  readonly host: Host
}

/** The start of a process is the slowest part of a run, so only a few processes end. */
const ends_max = 4

export const makeSharedStore = (): SharedStore => {
  const world = Context.get(Effect.runSync(Effect.scoped(Layer.build(World.layer))), World)
  return { world, rows: () => Effect.runSync(world.read((rows) => rows)), faults: 0, ends: 0 }
}

const namesOf = (rows: ReadonlyArray<{ readonly table: { readonly name: string } }> | undefined, sign: string) =>
  (rows ?? []).map(({ table }) => `${sign}${table.name}`)

/** Returns a commit in one line. */
const describe = (changes: Changes): string =>
  [
    ...namesOf(changes.insert, "+"),
    ...namesOf(changes.update, "~"),
    ...namesOf(changes.remove, "-"),
    ...(changes.raise ?? []).map(({ type }) => `!${type}`),
    ...(changes.enqueue ?? []).map(({ kind }) => `enqueue ${kind}`),
    ...changes.settle === undefined ? [] : [`${changes.settle.outcome} ${changes.settle.claimed.kind}`],
    ...changes.response === undefined ? [] : ["response"]
  ].join(" ")

const occurs = ({ scene: { faults, random } }: StoreAccess, name: keyof Faults) => random.chance(faults()[name])

/** Kills or stops the process sometimes. The statement of a dead process never returns. */
const maybeEnd = (access: StoreAccess) =>
  Effect.suspend(() => {
    const { host, shared } = access
    for (const end of ["kill", "stop"] as const) {
      if (!host.is_alive || shared.ends >= ends_max || !occurs(access, end)) continue
      shared.ends++
      host[end]()
    }
    return host.is_alive ? Effect.void : Effect.never
  })

const recordFault = ({ host, scene, shared }: StoreAccess, fault: string) => {
  shared.faults++
  scene.trace.add(host.name, fault)
}

const maybeFail = (access: StoreAccess, name: "failed_statement" | "lost_result", statement: string) =>
  Effect.suspend(() => {
    if (!occurs(access, name)) return Effect.void
    recordFault(access, `${name}: ${statement}`)
    return Effect.die(new Error(`Simulated fault: ${name}`))
  })

/** Delays a statement until it reaches the store. */
const delay = (access: StoreAccess) =>
  Effect.suspend(() => {
    const { random, timeline } = access.scene
    const slow = occurs(access, "slow_statement") ? timeline.wait(random.between(1, 2000)) : Effect.yieldNow
    return Effect.andThen(slow, maybeEnd(access))
  })

/** The shared world through the faults of one process. */
const faultyWorld = (access: StoreAccess): World["Service"] => {
  const { world } = access.shared
  const arrive = (statement: string) => Effect.andThen(delay(access), maybeFail(access, "failed_statement", statement))
  return World.of({
    read: (query) => Effect.andThen(arrive("a read"), world.read(query)),
    modify: (change) =>
      Effect.andThen(arrive("a change"), world.modify(change)).pipe(
        Effect.tap(() => Effect.andThen(maybeFail(access, "lost_result", "a change"), maybeEnd(access)))
      )
  })
}

/** Commits through the faults of one process, and reports each commit that took effect. */
const faultyCommit = (access: StoreAccess, commit: Commit["Service"]["commit"]): Commit["Service"]["commit"] =>
  Effect.fnUntraced(function*(organization_id, changes) {
    const { host, scene, shared } = access
    yield* delay(access)
    yield* maybeFail(access, "failed_statement", "a commit")
    const before = shared.rows()
    const exit = yield* Effect.exit(commit(organization_id, changes))
    scene.trace.add(host.name, Exit.isSuccess(exit) ? describe(changes) : `rejected ${describe(changes)}`)
    if (Exit.isFailure(exit)) return yield* exit
    scene.onCommit({ organization_id, changes, before, after: shared.rows() })
    if (occurs(access, "lost_result")) {
      recordFault(access, "lost_result: a commit")
      return yield* changes.response === undefined
        ? Effect.die(new Error("Simulated fault: lost_result"))
        : new Unconfirmed()
    }
    yield* maybeEnd(access)
    return exit.value
  })

/** Layer for the storage ports of one process. */
export const layer = (access: StoreAccess): Layer.Layer<Crm.StoragePorts> =>
  Layer.effect(Commit, Effect.map(Commit, ({ commit }) => Commit.of({ commit: faultyCommit(access, commit) }))).pipe(
    // Fresh, because `stores` is also built over the world with faults.
    Layer.provide(Layer.fresh(stores)),
    Layer.provide(Layer.succeed(World, access.shared.world)),
    Layer.provideMerge(stores),
    Layer.provide(Layer.succeed(World, faultyWorld(access)))
  )

/** Returns when the next stored work is due: `now` if it can be claimed, and null if there is no work. */
export const nextDue = ({ queue }: WorldState, now: number): number | null => {
  let next: number | null = null
  const earlier = (at: number) => {
    if (next === null || at < next) next = at
  }
  for (const [, lane] of queue.lanes) {
    const paused = lane.until === null ? 0 : lane.until.epochMilliseconds
    const claims = lane.items.flatMap(({ claim }) => claim === null ? [] : [claim.until.epochMilliseconds])
    claims.forEach((until) => earlier(Math.max(until, now)))
    const isFifo = kind_rules[lane.kind].fifo
    if (isFifo && claims.length > 0) continue
    for (const { claim, due_at } of isFifo ? lane.items.slice(0, 1) : lane.items) {
      if (claim === null) earlier(Math.max(due_at.epochMilliseconds, paused, now))
    }
  }
  return next
}
