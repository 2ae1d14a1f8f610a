/** Writers whose commits overlap, stall, and are rolled back, while followers read and lose responses (contract §13.5). */
import { assert } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Changes from "@messaging-crm/core/Changes"
import { EventFollowers } from "@messaging-crm/core/EventFollowers"
import { EventId, type OrganizationId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Fiber } from "effect"
import * as Fixtures from "./Fixtures.ts"
import { randomNumbers } from "./RandomNumbers.ts"

/** A commit as a store runs it: it stalls for some steps before it ends, and may be rolled back. */
export interface StalledCommit<R> {
  readonly commit: Effect.Effect<void, never, R>
  readonly stalls: number
  readonly isRolledBack: boolean
}

interface Race<R, Services> {
  readonly seed: number
  readonly writers: number
  readonly commits: number
  readonly followers: number
  readonly run: (stalled: StalledCommit<R>) => Effect.Effect<void, never, Services>
}

const newEvent = Effect.gen(function*() {
  const [id, conversation_id] = [EventId.make(yield* Fixtures.uuid), yield* Fixtures.uuid]
  const created_at = yield* DateTime.now
  const type = "conversation.closed"
  const body = JSON.stringify({ id, type, timestamp: DateTime.formatIso(created_at), data: { conversation_id } })
  return yield* Fixtures.newEvent({ id, type, body, created_at })
})

type Commits = Effect.Services<ReturnType<typeof Fixtures.mustCommit>>

/**
 * Commits events of an organization, and returns the IDs of those that were not rolled back. `onCommitted` gets those of each
 * commit.
 */
export const write = Effect.fnUntraced(function*<Services>(
  organization_id: OrganizationId,
  { commits, run }: Pick<Race<Commits, Services>, "commits" | "run">,
  random: () => number,
  onCommitted: (ids: ReadonlyArray<string>) => void = () => {}
) {
  const written: Array<string> = []
  for (let round = 0; round < commits; round++) {
    const events = yield* Effect.replicateEffect(newEvent, 1 + Math.floor(random() * 3))
    const isRolledBack = random() < 0.2
    const commit = Effect.asVoid(Fixtures.mustCommit(organization_id, ...events.map(Changes.raise)))
    yield* run({ commit, stalls: Math.floor(random() * 8), isRolledBack })
    if (isRolledBack) continue
    const ids = events.map(({ id }) => id)
    onCommitted(ids)
    written.push(...ids)
  }
  return written
})

/** Follows events until all writers have ended and all of their events are read. Loses some responses. */
const follow = Effect.fnUntraced(function*(random: () => number, total: () => number) {
  const followers = yield* EventFollowers
  const read: Array<string> = []
  for (let after = "start"; read.length < total();) {
    const { data, next_cursor } = yield* followers.follow({
      after,
      type: null,
      page_size: 1 + Math.floor(random() * 5)
    })
    yield* Effect.yieldNow
    // A lost response: the follower connects again with the cursor that it has.
    if (random() < 0.2) continue
    read.push(...data.map(({ id }) => id))
    after = next_cursor
  }
  return read
})

/** Checks that every follower reads each event once, and all in the same order. */
export const race = Effect.fnUntraced(function*<Services>(
  options: Race<Commits, Services>
) {
  const random = randomNumbers(options.seed)
  const organization_id = yield* Fixtures.organization
  let total = Infinity
  const following = yield* Effect.forkChild(
    Effect.all(Array.from({ length: options.followers }, () => follow(random, () => total)), {
      concurrency: "unbounded"
    }).pipe(Effect.provideService(CurrentActor, { organization_id, member_id: null }))
  )
  const written = yield* Effect.all(
    Array.from({ length: options.writers }, () => write(organization_id, options, random)),
    { concurrency: "unbounded" }
  )
  const expected = written.flat()
  total = expected.length
  const orders = yield* Fiber.join(following)
  for (const order of orders) {
    assert.deepStrictEqual(order.toSorted(), expected.toSorted())
    assert.deepStrictEqual(order, orders[0])
  }
})
