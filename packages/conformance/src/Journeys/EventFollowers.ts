/** Clients that follow the events of their organization, page by page (contract §13.4). */
import { assert, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import {
  CursorExpired,
  EventFollowers,
  type FollowedPage,
  type FollowOptions
} from "@messaging-crm/core/EventFollowers"
import { type AnyEventType, Events } from "@messaging-crm/core/Events"
import { EventId } from "@messaging-crm/core/Ids"
import { CursorInvalid } from "@messaging-crm/core/Page"
import { Cause, DateTime, Duration, Effect, Fiber, Queue, Stream } from "effect"
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

  const optionsOf = (after: string, options: Partial<FollowOptions> = {}) => ({
    after,
    type: null,
    page_size: 100,
    ...options
  })
  const idsOf = ({ data, next_cursor }: FollowedPage) => ({ ids: data.map(({ id }): string => id), next_cursor })
  const follow = (after: string, options: Partial<FollowOptions> = {}) =>
    Effect.map(as(followers.follow(optionsOf(after, options))), idsOf)
  /** Follows with a wait for the next events. */
  const next = (after: string, time: Duration.Duration, options: Partial<FollowOptions> = {}) =>
    Effect.map(
      as(Effect.scoped(Effect.flatMap(followers.open, (open) => open.next(optionsOf(after, options), time)))),
      idsOf
    )
  /** Collects the parts of a stream, each as the IDs of its events; null for one without a change. */
  const stream = Effect.fnUntraced(function*(after: string, options: Partial<FollowOptions> = {}) {
    const parts = yield* Queue.unbounded<ReadonlyArray<string> | null, Cause.Done>()
    const cursors: Array<string> = []
    const opened = Effect.flatMap(
      followers.open,
      (open) => open.stream(optionsOf(after, options), Duration.seconds(10))
    )
    yield* as(Effect.scoped(Effect.flatMap(
      opened,
      Stream.runForEach(({ cursor, events }) => {
        cursors.push(...events.map((event) => event.cursor), ...cursor === null ? [] : [cursor])
        return Queue.offer(parts, cursor === null ? null : events.map(({ event }): string => event.id))
      })
    ))).pipe(
      Effect.ensuring(Queue.end(parts)),
      Effect.forkScoped
    )
    return { cursors, part: Queue.take(parts) }
  })
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
  return { finished, follow, forget, next, raise, stream }
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
      const { finished, follow, next, raise } = yield* makeScene
      yield* raise(1)
      const { next_cursor } = yield* follow("start")
      const waiting = yield* Effect.forkChild(next(next_cursor, Duration.days(1)))
      const ofOtherType = yield* follow("now", { type: "conversation.opened" })
      const others = yield* Effect.forkChild(
        next(ofOtherType.next_cursor, Duration.days(1), { type: "conversation.opened" })
      )
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(waiting.pollUnsafe())
      const ids = yield* raise(2)
      // The second commit can be read once the transactions before it, those of other tests included, have ended.
      const first = (yield* finished(waiting)).ids
      assert.isNotEmpty(first)
      assert.deepStrictEqual(first, ids.slice(0, first.length))
      assert.isUndefined(others.pollUnsafe())
      const created = yield* raise(1, "conversation.opened")
      assert.deepStrictEqual((yield* finished(others)).ids, created)
    }))

  it.effect("get an empty page if there is no event in time", () =>
    Effect.gen(function*() {
      const { finished, follow, next, raise } = yield* makeScene
      const empty = yield* follow("start")
      const waiting = yield* Effect.forkChild(next(empty.next_cursor, Duration.seconds(30)))
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      const { ids, next_cursor } = yield* finished(waiting)
      assert.deepStrictEqual(ids, [])
      const later = yield* raise(1)
      assert.deepStrictEqual((yield* follow(next_cursor)).ids, later)
    }))
}

/** It ends the followers of the whole process. */
const stops = (it: Scene.It) => {
  it.effect("get an empty page at once, and their streams end", () =>
    Effect.gen(function*() {
      const { follow, next, stream } = yield* makeScene
      const waiting = yield* Effect.forkChild(next("start", Duration.days(1)))
      const { part } = yield* stream("start")
      assert.deepStrictEqual(yield* part, [])
      yield* follow("start")
      yield* EventFollowers.use(({ end }) => end)
      assert.deepStrictEqual((yield* Fiber.join(waiting)).ids, [])
      assert.deepStrictEqual((yield* next("start", Duration.days(1))).ids, [])
      assert.isTrue(Cause.isDone(yield* Effect.flip(part)))
    }))
}

const streams = (it: Scene.It) => {
  it.effect("stream each event once, with a cursor after each, and a part without events after each pause", () =>
    Effect.gen(function*() {
      const { finished, follow, raise, stream } = yield* makeScene
      const first = yield* raise(3)
      const { cursors, part } = yield* stream("start", { page_size: 2 })
      assert.deepStrictEqual(yield* part, first.slice(0, 2))
      assert.deepStrictEqual(yield* part, first.slice(2))
      const none = yield* Effect.forkChild(part)
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(none.pollUnsafe())
      assert.isNull(yield* finished(none))
      const later = yield* raise(1)
      const next = yield* Effect.forkChild(Effect.repeat(part, { while: (ids) => ids === null }))
      assert.deepStrictEqual(yield* finished(next), later)
      const all = [...first, ...later]
      const rests = yield* Effect.forEach(new Set(cursors), (cursor) => Effect.map(follow(cursor), ({ ids }) => ids))
      assert.deepStrictEqual(rests, all.map((_, index) => all.slice(index + 1)))
    }))
}

/** Tests of followers on a storage. */
export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage))("Followers of events", (it) => {
    pages(it)
    expiries(it)
    streams(it)
    waits(it)
  })

  it.layer(Scene.crm(storage))("Followers of events in a process that stops", stops)
}
