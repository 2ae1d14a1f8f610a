/** Clients that follow the events of their organization, page by page (contract §13.4). */
import { assert, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { CursorExpired, EventFollowers, type FollowOptions } from "@messaging-crm/core/EventFollowers"
import { type AnyEventType, Events } from "@messaging-crm/core/Events"
import { EventId } from "@messaging-crm/core/Ids"
import { CursorInvalid } from "@messaging-crm/core/Page"
import { DateTime, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"

/** An organization, and functions that raise its events and follow them. */
const makeScene = Effect.gen(function*() {
  const { as, organization_id } = yield* Scene.makeScene
  const followers = yield* EventFollowers
  let count = 0

  /** Raises events of a type, each in a commit, and waits until followers can read them. Returns their IDs. */
  const raise = Effect.fnUntraced(function*(events: number, type: AnyEventType = "conversation.closed") {
    const ids: Array<string> = []
    for (let event = 0; event < events; event++) {
      const now = yield* DateTime.now
      const conversation_id = yield* Fixtures.uuid
      const id = EventId.make(yield* Fixtures.uuid)
      const body = JSON.stringify({ id, type, timestamp: DateTime.formatIso(now), data: { conversation_id } })
      yield* Fixtures.mustCommit(organization_id, Changes.raise({ id, type, body, created_at: now, resource: null }))
      ids.push(id)
    }
    yield* Fixtures.committedEvents(organization_id, count += events)
    return ids
  })

  const follow = (after: string, options: Partial<FollowOptions> = {}) =>
    as(followers.follow({ after, type: null, page_size: 100, ...options })).pipe(
      Effect.map(({ data, next_cursor }) => ({ ids: data.map(({ id }): string => id), next_cursor }))
    )
  const forget = (purged: number) => count -= purged
  /** Advances the clock until a follower has its page. */
  const finished = Effect.fnUntraced(function*<A, E>(follower: Fiber.Fiber<A, E>) {
    while (follower.pollUnsafe() === undefined) {
      yield* TestClock.adjust("100 millis")
      // As long as the poll of the store takes, no other work is done.
      yield* follow("start")
    }
    return yield* Fiber.join(follower)
  })
  return { finished, follow, forget, raise }
})

/** Deletes the events that are older than 30 days. */
const purge = Events.use((events) => events.purge)

const pages = (it: Scene.It) => {
  it.effect("get each event once, in the order of commits, from the oldest or from now", () =>
    Effect.gen(function*() {
      const { follow, raise } = yield* makeScene
      const empty = yield* follow("start")
      assert.deepStrictEqual(empty.ids, [])
      const first = yield* raise(5)
      const now = yield* follow("now")
      assert.deepStrictEqual(now.ids, [])
      const read: Array<string> = []
      for (let cursor = "start"; read.length < first.length;) {
        const { ids, next_cursor } = yield* follow(cursor, { page_size: 2 })
        read.push(...ids)
        cursor = next_cursor
      }
      assert.deepStrictEqual(read, first)
      const later = yield* raise(2)
      assert.deepStrictEqual((yield* follow(now.next_cursor)).ids, later)
      assert.deepStrictEqual((yield* follow(empty.next_cursor)).ids, [...first, ...later])
      const { next_cursor } = yield* follow(now.next_cursor)
      assert.deepStrictEqual((yield* follow(next_cursor)).ids, [])
    }))

  it.effect("find a rare type behind many other events, in pages that can be empty", () =>
    Effect.gen(function*() {
      const { follow, raise } = yield* makeScene
      const type = "conversation.opened"
      const one = yield* raise(1, type)
      yield* raise(600)
      const other = yield* raise(1, type)
      const found: Array<ReadonlyArray<string>> = []
      for (let cursor = "start"; found.length < 3;) {
        const { ids, next_cursor } = yield* follow(cursor, { type, page_size: 1 })
        found.push(ids)
        cursor = next_cursor
      }
      assert.deepStrictEqual(found, [one, other, []])
    }))

  it.effect("cannot use the cursor of another type or organization, or an altered one", () =>
    Effect.gen(function*() {
      const { follow, raise } = yield* makeScene
      yield* raise(1)
      const { next_cursor } = yield* follow("start")
      const other = yield* makeScene
      for (
        const rejected of [
          other.follow(next_cursor),
          follow(next_cursor, { type: "conversation.closed" }),
          follow(`${next_cursor}x`),
          follow("yesterday")
        ]
      ) assert.deepStrictEqual(yield* Effect.flip(rejected), new CursorInvalid())
    }))
}

const expiries = (it: Scene.It) => {
  it.effect("learn that unread events can have been purged", () =>
    Effect.gen(function*() {
      const { follow, forget, raise } = yield* makeScene
      const empty = yield* follow("start")
      yield* raise(2)
      const { next_cursor } = yield* follow("start", { page_size: 1 })
      yield* TestClock.adjust("30 days")
      yield* TestClock.adjust("1 millis")
      yield* purge
      forget(2)
      const later = yield* raise(1)
      assert.deepStrictEqual(yield* Effect.flip(follow(next_cursor)), new CursorExpired())
      assert.deepStrictEqual(yield* Effect.flip(follow(empty.next_cursor)), new CursorExpired())
      assert.deepStrictEqual((yield* follow("start")).ids, later)
    }))

  it.effect("continue after months without events", () =>
    Effect.gen(function*() {
      const { follow, forget, raise } = yield* makeScene
      yield* raise(2)
      let { next_cursor } = yield* follow("start")
      for (let week = 0; week < 10; week++) {
        yield* TestClock.adjust("7 days")
        yield* purge
        const page = yield* follow(next_cursor)
        assert.deepStrictEqual(page.ids, [])
        next_cursor = page.next_cursor
      }
      forget(2)
      const later = yield* raise(2)
      assert.deepStrictEqual((yield* follow(next_cursor)).ids, later)
    }))
}

const waits = (it: Scene.It) => {
  it.effect("wait for the next event, which any process can commit", () =>
    Effect.gen(function*() {
      const { finished, follow, raise } = yield* makeScene
      yield* raise(1)
      const { next_cursor } = yield* follow("start")
      const waiting = yield* Effect.forkChild(follow(next_cursor, { wait: Duration.days(1) }))
      const ofOtherType = yield* follow("now", { type: "conversation.opened" })
      const others = yield* Effect.forkChild(
        follow(ofOtherType.next_cursor, { type: "conversation.opened", wait: Duration.days(1) })
      )
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(waiting.pollUnsafe())
      const ids = yield* raise(2)
      assert.deepStrictEqual((yield* finished(waiting)).ids, ids)
      assert.isUndefined(others.pollUnsafe())
      const created = yield* raise(1, "conversation.opened")
      assert.deepStrictEqual((yield* finished(others)).ids, created)
    }))

  it.effect("get an empty page if there is no event in time", () =>
    Effect.gen(function*() {
      const { finished, follow, raise } = yield* makeScene
      const empty = yield* follow("start")
      const waiting = yield* Effect.forkChild(follow(empty.next_cursor, { wait: Duration.seconds(30) }))
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      const { ids, next_cursor } = yield* finished(waiting)
      assert.deepStrictEqual(ids, [])
      const later = yield* raise(1)
      assert.deepStrictEqual((yield* follow(next_cursor)).ids, later)
    }))

  it.effect("get an empty page when the process stops", () =>
    Effect.gen(function*() {
      const { follow } = yield* makeScene
      const waiting = yield* Effect.forkChild(follow("start", { wait: Duration.days(1) }))
      yield* follow("start")
      yield* EventFollowers.use(({ end }) => end)
      assert.deepStrictEqual((yield* Fiber.join(waiting)).ids, [])
      assert.deepStrictEqual((yield* follow("start", { wait: Duration.days(1) })).ids, [])
    }))
}

/** Tests of followers on a storage. */
export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage))("Followers of events", (it) => {
    pages(it)
    expiries(it)
    waits(it)
  })
}
