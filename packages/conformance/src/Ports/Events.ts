/** Tests of the guarantees of `EventStore`. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { AnyEventType, EventStore, type ListedEvent } from "@messaging-crm/core/Events"
import { nil } from "@messaging-crm/core/Ids"
import type { Position } from "@messaging-crm/core/Page"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { Array, Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"

const [sent, closed, tested] = ["message.sent", "conversation.closed", "webhook.test"] as const

/** The types that the tests select events by. No event has the type of the last selection. */
const selections = [AnyEventType.literals, [sent], [closed, tested], ["send.failed"]] as const

/** Six events of an organization, newest first, of three types and at three times; another one has an event too. */
const makeMixedEvents = Effect.gen(function*() {
  const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
  const rows = yield* Effect.forEach(
    [[0, sent], [2, closed], [1, tested], [2, sent], [0, closed], [2, tested]] as const,
    ([millis, type]) => Fixtures.newEvent({ created_at: afterNoon(millis), type })
  )
  yield* Fixtures.mustCommit(ours, ...rows.map(Changes.raise))
  yield* Fixtures.mustCommit(theirs, Changes.raise(yield* Fixtures.newEvent({ created_at: afterNoon(1) })))
  return { newest: Fixtures.newestFirst(rows, ({ created_at }) => created_at), ours }
})

const positionOf = ({ created_at, id }: ListedEvent): Position => ({ at: created_at, id })

/** The position before every event of the tests. */
const beginning: Position = { at: afterNoon(-1), id: nil }

const purges = (it: It) => {
  it.effect("deletes events that are old enough, the oldest first, with their deliveries, up to the limit", () =>
    Effect.gen(function*() {
      const store = yield* Fixtures.withoutEvents(afterNoon(0))
      const ours = yield* Fixtures.organization
      const to = yield* Fixtures.webhook(ours, { created_at: afterNoon(-3) })
      const raised = yield* Effect.forEach([0, -1, -2, -3], (millis) => Fixtures.raisedDelivery(ours, to, millis))
      for (const [removed, left] of [[2, 2], [1, 1], [0, 1]] as const) {
        assert.strictEqual(yield* store.purge(afterNoon(0), 2), removed)
        const listed = yield* WebhookDeliveryStore.use((deliveries) => deliveries.list(ours, to.id, 9))
        assert.deepStrictEqual(listed, raised.slice(0, left))
        const found = yield* Effect.forEach(raised, ({ event_id }) => store.find(ours, event_id))
        assert.deepStrictEqual(found.map(Option.isSome), raised.map((_, index) => index < left))
      }
    }))
}

const lists = (it: It) => {
  it.effect("finds an event of the organization by its id, without its resource", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const { newest, ours } = yield* makeMixedEvents
      for (const event of newest) {
        assert.deepStrictEqual(yield* store.find(ours, event.id), Option.some(Fixtures.listedEvent(event)))
        assert.deepStrictEqual(yield* store.find(yield* Fixtures.organization, event.id), Option.none())
      }
    }))

  it.effect("lists events of some types since a time, newest first, then by id descending, a page at a time", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const { newest, ours } = yield* makeMixedEvents
      for (const types of selections) {
        for (const since of [null, Fixtures.firstTime, afterNoon(1), afterNoon(2), afterNoon(3), Fixtures.lastTime]) {
          const expected = newest.filter(({ created_at, type }) =>
            types.some((selected) => selected === type) &&
            (since === null || created_at.epochMilliseconds >= since.epochMilliseconds)
          )
          for (const size of [1, 2, 9]) {
            const listed = yield* Fixtures.readAllPages(
              size,
              (after: Position | null) => store.list(ours, { types, since }, { after, size }),
              positionOf
            )
            assert.deepStrictEqual(listed, expected.map(Fixtures.listedEvent))
          }
        }
      }
    }))

  it.effect("returns the next events of some types until a time, oldest first, then by id, a page at a time", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const { newest, ours } = yield* makeMixedEvents
      for (const types of selections) {
        for (const until of [afterNoon(1), afterNoon(2), afterNoon(3)]) {
          const expected = newest.toReversed().filter(({ created_at, type }) =>
            types.some((selected) => selected === type) && created_at.epochMilliseconds < until.epochMilliseconds
          )
          for (const size of [1, 2, 9]) {
            const listed = yield* Fixtures.readAllPages(
              size,
              (after: Position | null) => store.next(ours, { types, until }, { after: after ?? beginning, size }),
              positionOf
            )
            assert.deepStrictEqual(listed, expected.map((event) => Fixtures.storedEvent(event)))
          }
        }
      }
    }))
}

/** Events of an organization in the order of their commits, and the names of the commits; another one has an event too. */
const makeCommits = Effect.gen(function*() {
  const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
  const commits = yield* Effect.forEach(
    [[2], [0, 1], [1], [0, 0, 2]],
    (times) => Effect.forEach(times, (millis) => Fixtures.newEvent({ created_at: afterNoon(millis) }))
  )
  yield* Fixtures.mustCommit(theirs, Changes.raise(yield* Fixtures.newEvent()))
  for (const events of commits) yield* Fixtures.mustCommit(ours, ...events.map(Changes.raise))
  const expected = commits.flatMap((events) => events.toSorted((a, b) => a.id < b.id ? -1 : 1))
  const found = yield* Fixtures.committedEvents(ours, expected.length)
  return { commits, expected, found, ours, theirs }
})

const commits = (it: It) => {
  it.effect("returns events in the order of commits, then by id, from a position", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const { commits, expected, found, ours, theirs } = yield* makeCommits
      assert.deepStrictEqual(found.map(({ commit: _, ...event }) => event), expected.map(Fixtures.listedEvent))
      assert.strictEqual(new Set(found.map(({ commit }) => commit)).size, commits.length)
      for (const [index, from] of found.entries()) {
        for (const size of [1, 2, 9]) {
          assert.deepStrictEqual(yield* store.committed(ours, { from, size }), found.slice(index, index + size))
        }
        const positions = [{ ...from, organization_id: theirs }, { ...from, organization_id: ours }]
        assert.strictEqual((yield* store.haveNext(positions))[1], index < found.length - 1)
      }
    }))

  it.effect("returns the last committed event", () =>
    Effect.gen(function*() {
      const store = yield* EventStore
      const { found, ours, theirs } = yield* makeCommits
      assert.deepStrictEqual(yield* store.lastCommitted(ours), Array.last(found))
      const theirEvents = yield* Fixtures.committedEvents(theirs, 1)
      assert.deepStrictEqual(yield* store.lastCommitted(theirs), Array.last(theirEvents))
      assert.deepStrictEqual(yield* store.lastCommitted(yield* Fixtures.organization), Option.none())
    }))
}

export const portTests = (it: It) => {
  purges(it)
  lists(it)
  commits(it)
}
