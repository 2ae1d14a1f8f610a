/** The storage of a run: one world in memory for all processes, which each of them reaches through faults of its own. */
import { stores } from "@messaging-crm/adapter-memory"
import { World, type WorldState } from "@messaging-crm/adapter-memory/World"
import type { Changes } from "@messaging-crm/core/Changes"
import { Commit, Unconfirmed } from "@messaging-crm/core/Commit"
import type * as Crm from "@messaging-crm/core/Crm"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { lanes } from "@messaging-crm/core/WorkQueue"
import { Context, Effect, Exit, Layer } from "effect"
import { layer as memoryCommit } from "../../adapter-memory/src/work/Commit.ts"
import type { Faults } from "./Faults.ts"
import type { Host } from "./Hosts.ts"
import type { Seeded } from "./Seeded.ts"
import type { Timeline } from "./Timeline.ts"
import type { Trace } from "./Trace.ts"

/** A commit that took effect, with the rows before and after it. */
export interface Committed {
  readonly organization_id: OrganizationId
  readonly changes: Changes
  readonly before: WorldState
  readonly after: WorldState
}

export interface Scene {
  readonly random: Seeded
  readonly timeline: Timeline
  readonly trace: Trace
  readonly faults: () => Faults
  /** Called in the same step as each commit that takes effect. */
  readonly onCommit: (committed: Committed) => void
}

/** The world of a run, behind no faults. */
export interface Truth {
  readonly rows: () => WorldState
  readonly world: World["Service"]
  /** How many faults of statements there were so far. */
  faults: number
  /** How many processes have ended so far. */
  ends: number
}

/** To start a process takes as long as all else in a run, so only so many end. */
const ends_max = 4

export const makeTruth = (): Truth => {
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

/** Layer for the storage ports of one process. */
export const layer = (
  { faults, onCommit, random, timeline, trace }: Scene,
  truth: Truth,
  host: Host
): Layer.Layer<Crm.StoragePorts> => {
  const hits = (name: keyof Faults) => random.chance(faults()[name])

  const mayDie = Effect.suspend(() => {
    if (host.isAlive && truth.ends < ends_max && hits("kill")) {
      truth.ends++
      host.kill()
    }
    if (host.isAlive && truth.ends < ends_max && hits("stop")) {
      truth.ends++
      host.stop()
    }
    return host.isAlive ? Effect.void : Effect.never
  })

  const mayFail = (name: "failed_statement" | "lost_result", what: string) =>
    Effect.suspend(() => {
      if (!hits(name)) return Effect.void
      truth.faults++
      trace.add(host.name, `${name} of ${what}`)
      return Effect.die(new Error(`Simulated ${name}`))
    })

  const arrive = Effect.suspend(() => {
    const slow = hits("slow_statement") ? timeline.wait(random.between(1, 2000)) : Effect.yieldNow
    return Effect.andThen(slow, mayDie)
  })

  const world = World.of({
    read: (query) =>
      Effect.andThen(Effect.andThen(arrive, mayFail("failed_statement", "a read")), truth.world.read(query)),
    modify: (change) =>
      Effect.andThen(Effect.andThen(arrive, mayFail("failed_statement", "a change")), truth.world.modify(change)).pipe(
        Effect.tap(() => Effect.andThen(mayFail("lost_result", "a change"), mayDie))
      )
  })

  const commit = Layer.effect(
    Commit,
    Effect.map(Commit, ({ commit }) =>
      Commit.of({
        commit: Effect.fnUntraced(function*(organization_id, changes) {
          yield* arrive
          yield* mayFail("failed_statement", "a commit")
          const before = truth.rows()
          const exit = yield* Effect.exit(commit(organization_id, changes))
          trace.add(host.name, Exit.isSuccess(exit) ? describe(changes) : `rejected ${describe(changes)}`)
          if (Exit.isFailure(exit)) return yield* exit
          onCommit({ organization_id, changes, before, after: truth.rows() })
          if (hits("lost_result")) {
            truth.faults++
            trace.add(host.name, "lost_result of a commit")
            return yield* changes.response === undefined
              ? Effect.die(new Error("Simulated lost_result"))
              : new Unconfirmed()
          }
          yield* mayDie
          return exit.value
        })
      }))
  ).pipe(
    // Fresh, because the stores have the same layer over the world with faults.
    Layer.provide(Layer.fresh(memoryCommit)),
    Layer.provide(Layer.succeed(World, truth.world))
  )

  return commit.pipe(Layer.provideMerge(stores), Layer.provide(Layer.succeed(World, world)))
}

/** Returns when stored work is due next: a time, now for work that could be claimed, or null for none. */
export const nextDue = ({ callbacks, queue }: WorldState, now: number): number | null => {
  let next: number | null = null
  const earlier = (at: number) => {
    if (next === null || at < next) next = at
  }
  for (const [, lane] of queue.lanes) {
    const paused = lane.until === null ? 0 : lane.until.epochMilliseconds
    const claims = lane.items.flatMap(({ claim }) => claim === null ? [] : [claim.until.epochMilliseconds])
    if (claims.length > 0) claims.forEach((until) => earlier(Math.max(until, now)))
    else {
      for (const { due_at } of lanes[lane.kind].fifo ? lane.items.slice(0, 1) : lane.items) {
        earlier(Math.max(due_at.epochMilliseconds, paused, now))
      }
    }
  }
  for (const [, { due_at }] of callbacks) earlier(Math.max(due_at.epochMilliseconds, now))
  return next
}
