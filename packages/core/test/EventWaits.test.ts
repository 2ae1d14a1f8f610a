/** The waits of a process for events: how many are served at once, and their polls. */
import { assert, it } from "@effect/vitest"
import { EventStore } from "@messaging-crm/core/Events"
import { EventId, OrganizationId } from "@messaging-crm/core/Ids"
import { Duration, Effect, Exit, Fiber, Layer, Option, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { EventWaits, FollowersAtOnce } from "../src/events/EventWaits.ts"

const [ours, theirs] = [
  OrganizationId.make("01990000-0000-7000-8000-000000000001"),
  OrganizationId.make("01990000-0000-7000-8000-000000000002")
]
const position = { commit: "1", id: EventId.make("01990000-0000-7000-8000-000000000003") }

/** A store in which organizations get events, and which counts the waits of each poll. */
const scene = () => {
  const polls: Array<number> = []
  const state = { isFailing: false, withEvents: new Set<OrganizationId>() }
  const unused = () => Effect.die("unused")
  const store = EventStore.of({
    find: unused,
    list: unused,
    next: unused,
    committed: unused,
    lastCommitted: unused,
    purge: unused,
    haveNext: (positions) =>
      Effect.sync(() => {
        polls.push(positions.length)
        if (state.isFailing) throw new Error("no database")
        return positions.map(({ organization_id }) => state.withEvents.has(organization_id))
      })
  })
  const layer = EventWaits.layer.pipe(
    Layer.provide(Layer.succeed(EventStore, store)),
    Layer.provide(Layer.succeed(FollowersAtOnce, { of_all: 3, of_one: 2 }))
  )
  return { layer, polls, state }
}

const wait = (organization_id: OrganizationId) =>
  EventWaits.use((waits) => waits.next(organization_id, position, Duration.seconds(30)))

const found = Option.some(undefined)

it.effect("enter up to the limits of the process and the organization, whose first follower always enters", () => {
  const { layer } = scene()
  const third = OrganizationId.make("01990000-0000-7000-8000-000000000004")
  return Effect.gen(function*() {
    const enter = (organization_id: OrganizationId) => EventWaits.use((waits) => waits.enter(organization_id))
    const [one, other] = [yield* Scope.make(), yield* Scope.make()]
    assert.isTrue(yield* Scope.provide(enter(ours), one))
    assert.isTrue(yield* enter(ours))
    assert.isFalse(yield* enter(ours))
    assert.isTrue(yield* Scope.provide(enter(theirs), other))
    assert.isFalse(yield* enter(theirs))
    assert.isTrue(yield* enter(third))
    assert.isFalse(yield* enter(third))
    yield* Scope.close(one, Exit.void)
    // The first of the third organization has no slot of the process.
    assert.isFalse(yield* enter(ours))
    yield* Scope.close(other, Exit.void)
    assert.isTrue(yield* enter(ours))
    assert.isFalse(yield* enter(ours))
  }).pipe(Effect.provide(layer))
})

it.effect("are served in one poll every 100 ms", () => {
  const { layer, polls, state } = scene()
  return Effect.gen(function*() {
    const our = yield* Effect.replicateEffect(Effect.forkChild(wait(ours)), 3)
    const their = yield* Effect.replicateEffect(Effect.forkChild(wait(theirs)), 2)
    yield* TestClock.adjust("300 millis")
    assert.deepStrictEqual(polls, [5, 5, 5])
    state.withEvents.add(theirs)
    yield* TestClock.adjust("100 millis")
    assert.deepStrictEqual(yield* Fiber.joinAll(their), [found, found])
    yield* TestClock.adjust("30 seconds")
    assert.deepStrictEqual(yield* Fiber.joinAll(our), [Option.none(), Option.none(), Option.none()])
    const count = polls.length
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual(polls.length, count)
  }).pipe(Effect.provide(layer))
})

it.effect("survive a failure of the store", () => {
  const { layer, state } = scene()
  return Effect.gen(function*() {
    const waiting = yield* Effect.forkChild(wait(ours))
    state.isFailing = true
    yield* TestClock.adjust("100 millis")
    state.isFailing = false
    state.withEvents.add(ours)
    yield* TestClock.adjust("1100 millis")
    assert.deepStrictEqual(yield* Fiber.join(waiting), found)
  }).pipe(Effect.provide(layer), Effect.provideService(References.MinimumLogLevel, "None"))
})
