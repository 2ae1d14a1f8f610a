/** The waits of a process for events: how many are served at once, and their polls. */
import { assert, it } from "@effect/vitest"
import { EventStore } from "@messaging-crm/core/Events"
import { EventId, OrganizationId } from "@messaging-crm/core/Ids"
import { Duration, Effect, Fiber, Layer, Option, References } from "effect"
import { TestClock } from "effect/testing"
import { EventWaits, WaitsAtOnce } from "../src/webhooks/EventWaits.ts"

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
    Layer.provide(Layer.succeed(WaitsAtOnce, { of_all: 3, of_one: 2 }))
  )
  return { layer, polls, state }
}

const wait = (organization_id: OrganizationId) =>
  EventWaits.use((waits) => waits.next(organization_id, position, Duration.seconds(30)))

const found = Option.some(undefined)

it.effect("are served up to the limits of the process and the organization, in one poll every 100 ms", () => {
  const { layer, polls, state } = scene()
  return Effect.gen(function*() {
    const our = yield* Effect.replicateEffect(Effect.forkChild(wait(ours)), 3)
    const their = yield* Effect.replicateEffect(Effect.forkChild(wait(theirs)), 2)
    yield* TestClock.adjust("300 millis")
    assert.deepStrictEqual(polls, [3, 3, 3])
    state.withEvents.add(theirs)
    // The second one gets the slot of the first.
    yield* TestClock.adjust("200 millis")
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
