/** Tests of the guarantees of `CallbackStore`. The inbox is global, so each test first empties it. */
import { assert } from "@effect/vitest"
import { type CallbackBacklog, CallbackStore, type ClaimedCallback } from "@messaging-crm/core/CallbackInbox"
import { ChannelId, Ids } from "@messaging-crm/core/Ids"
import { Arbitrary, DateTime, Effect, Schema } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const claim = Effect.fnUntraced(function*(at: DateTime.Utc = Fixtures.noon, limit = 100) {
  const token = yield* Fixtures.uuid
  const lease_until = DateTime.add(at, { seconds: 60 })
  return yield* CallbackStore.use((store) => store.claim({ limit, now: at, lease_until, token }))
})

const newCallback = Effect.fnUntraced(function*(body: Uint8Array, received_at: DateTime.Utc = Fixtures.noon) {
  const id = yield* Ids.use(({ uuid }) => uuid)
  const channel_id = ChannelId.make(yield* Fixtures.uuid)
  return { id, source: "app \u{1f600}", channel_id, body, received_at }
})

/** Stores a callback from two people. */
const insert = Effect.fnUntraced(function*(...given: Parameters<typeof newCallback>) {
  const callback = yield* newCallback(...given)
  yield* CallbackStore.use((store) => store.insert([{ ...callback, people: ["4915112345678", "\"Kim\" \u{1f600}"] }]))
  return callback
})

const idsOf = (claimed: ReadonlyArray<ClaimedCallback>) => claimed.map(({ id }) => id)

/** Empties the inbox, and returns its store. */
const start = Effect.gen(function*() {
  const store = yield* CallbackStore
  for (;;) {
    const left = yield* claim(DateTime.makeUnsafe("2090-01-01T00:00:00.000Z"))
    if (left.length === 0) return store
    yield* Effect.forEach(idsOf(left), store.finish)
  }
})

const emptyBacklog: CallbackBacklog = { count: 0, oldest_received_at: null }

const bodies = (it: It, { runs }: Options) => {
  it.effect("claims a body once it is due, unchanged, with the claim's token and number", () =>
    Effect.gen(function*() {
      const store = yield* start
      const stored = yield* insert(bytes("{}"))
      assert.deepStrictEqual(yield* claim(afterNoon(-1)), [])
      const [now, lease_until, token] = [Fixtures.noon, afterNoon(60_000), yield* Fixtures.uuid]
      const [claimed, ...more] = yield* store.claim({ limit: 100, now, lease_until, token })
      assert.deepStrictEqual(more, [])
      assert.deepStrictEqual(claimed, { ...stored, attempt: 1, token })
      assert.deepStrictEqual(yield* claim(), [])
    }))

  it.effect.prop(
    "returns any bytes unchanged",
    { body: Arbitrary.schema(Schema.Uint8Array) },
    ({ body }) =>
      Effect.gen(function*() {
        const store = yield* start
        yield* insert(body)
        const [claimed] = yield* claim()
        assert.deepStrictEqual(claimed?.body, body)
        yield* store.finish(claimed?.id ?? "")
      }),
    { arbitrary: { runs } }
  )

  it.effect("returns a body of 4 MB unchanged", () =>
    Effect.gen(function*() {
      yield* start
      const body = new Uint8Array(4 * 1024 * 1024).map((_, index) => index % 251)
      yield* insert(body)
      assert.deepStrictEqual((yield* claim()).map((claimed) => claimed.body), [body])
    }))
}

const batches = (it: It, { runs }: Options) => {
  it.effect.prop(
    "stores concurrent callbacks, and removes those that are finished concurrently",
    { bodies: Arbitrary.array(Arbitrary.schema(Schema.Uint8Array), { maxLength: 40 }) },
    ({ bodies }) =>
      Effect.gen(function*() {
        const store = yield* start
        const large = new Uint8Array(100_000).fill(255)
        const unbounded = { concurrency: "unbounded" } as const
        const stored = yield* Effect.forEach([...bodies, large], (body) => insert(body), unbounded)
        const claimed = yield* claim()
        assert.deepStrictEqual(
          claimed.map(({ attempt: _, token: __, ...callback }) => callback),
          stored.toSorted((one, other) => one.id < other.id ? -1 : 1)
        )
        yield* Effect.forEach(idsOf(claimed).slice(1), store.finish, unbounded)
        assert.strictEqual((yield* store.backlog).count, 1)
      }),
    { arbitrary: { runs } }
  )

  it.effect("stores several in one insert, however large they are", () =>
    Effect.gen(function*() {
      const store = yield* start
      const bodies = ["one", "two", "x".repeat(100_000)]
      const [first, ...more] = yield* Effect.forEach(bodies, (body) =>
        Effect.map(newCallback(bytes(body)), (callback) => ({ ...callback, channel_id: null, people: [] })))
      if (first === undefined) {
        return assert.fail("No callback was made.")
      }
      yield* store.insert([first, ...more])
      assert.sameMembers(
        idsOf(yield* claim()),
        [first, ...more].map(({ id }) =>
          id
        )
      )
      assert.strictEqual((yield* store.backlog).count, 3)
    }))
}

const order = (it: It) => {
  it.effect("leaves a body out while an earlier one of its channel and person is claimed or postponed", () =>
    Effect.gen(function*() {
      const store = yield* start
      const [channel_id, other] = [ChannelId.make(yield* Fixtures.uuid), ChannelId.make(yield* Fixtures.uuid)]
      const insertOf = Effect.fnUntraced(
        function*(millis: number, people: ReadonlyArray<string>, channel = channel_id) {
          const callback = { ...yield* newCallback(bytes("{}"), afterNoon(millis)), channel_id: channel, people }
          yield* store.insert([callback])
          return callback.id
        }
      )
      const claimAt = Effect.fnUntraced(function*(millis: number, ordered_since: DateTime.Utc, limit = 100) {
        const [now, token] = [afterNoon(millis), yield* Fixtures.uuid]
        return yield* store.claim({ limit, now, lease_until: afterNoon(millis + 60_000), ordered_since, token })
      })
      const first = yield* insertOf(0, ["kim", "\"Kim\" \u{1f600}"])
      const [claimed = assert.fail("Nothing was claimed.")] = yield* claimAt(1, afterNoon(-1))
      assert.strictEqual(claimed.id, first)
      const later = yield* insertOf(2, ["ada", "\"Kim\" \u{1f600}"])
      const others = [yield* insertOf(3, ["ada"]), yield* insertOf(4, ["kim"], other), yield* insertOf(5, [])]
      const last = yield* insertOf(6, ["kim"])
      // It is leased.
      assert.deepStrictEqual(idsOf(yield* claimAt(10, afterNoon(-1))), others)
      // It is postponed.
      yield* store.postpone(claimed, afterNoon(1000))
      assert.deepStrictEqual(yield* claimAt(11, afterNoon(-1)), [])
      // Once it is due again, it is claimed with the later ones.
      assert.sameMembers(idsOf(yield* claimAt(1000, afterNoon(-1))), [first, later, last])
      yield* Effect.forEach([first, later, ...others], store.finish)
      const waiting = yield* insertOf(1001, ["kim"])
      assert.deepStrictEqual(yield* claimAt(1002, afterNoon(5)), [])
      // A body that was received earlier than the time delays no other.
      assert.deepStrictEqual(idsOf(yield* claimAt(1003, afterNoon(6))), [waiting])
    }))
}

const turns = (it: It) => {
  it.effect("claims the longest due first, at most the requested number", () =>
    Effect.gen(function*() {
      yield* start
      const later = yield* insert(bytes("later"), afterNoon(2))
      const first = yield* insert(bytes("first"), afterNoon(1))
      const second = yield* insert(bytes("second"), afterNoon(1))
      assert.deepStrictEqual(idsOf(yield* claim(afterNoon(3), 2)), [first.id, second.id])
      assert.deepStrictEqual(idsOf(yield* claim(afterNoon(3), 2)), [later.id])
    }))

  it.effect("claims by turns of the organizations, so that many bodies of one do not delay those of another", () =>
    Effect.gen(function*() {
      const store = yield* start
      const storeFor = Effect.fnUntraced(function*(channel_id: ChannelId, millis: number) {
        const callback = { ...yield* newCallback(bytes("{}"), afterNoon(millis)), channel_id, people: [] }
        yield* store.insert([callback])
        return callback.id
      })
      const busy = yield* Fixtures.organization
      const [first, second] = [yield* Fixtures.channel(busy), yield* Fixtures.channel(busy)]
      const quiet = yield* Fixtures.channel(yield* Fixtures.organization)
      const flood = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, index) => index),
        (index) => storeFor(index % 2 === 0 ? first.id : second.id, index)
      )
      const later = yield* Effect.forEach([50, 51], (millis) => storeFor(quiet.id, millis))
      assert.deepStrictEqual(idsOf(yield* claim(afterNoon(100), 3)), [flood[0], later[0], flood[1]])
      assert.deepStrictEqual(idsOf(yield* claim(afterNoon(100), 3)), [flood[2], later[1], flood[3]])
      assert.deepStrictEqual(idsOf(yield* claim(afterNoon(100))), flood.slice(4))
    }))

  it.effect("claims a body of each organization among the first, as many as there are organizations, rounded up to whole claims", () =>
    Effect.gen(function*() {
      const store = yield* start
      const channels = yield* Effect.replicateEffect(Effect.flatMap(Fixtures.organization, Fixtures.channel), 10)
      for (const turn of [0, 1]) {
        for (const [index, { id: channel_id }] of channels.entries()) {
          const callback = { ...yield* newCallback(bytes("{}"), afterNoon(2 * index + turn)), channel_id, people: [] }
          yield* store.insert([callback])
        }
      }
      const served: Array<string | null> = []
      while (served.length < 20) {
        const claimed = yield* claim(afterNoon(100), 4)
        assert.isNotEmpty(claimed)
        served.push(...claimed.map(({ channel_id }) => channel_id))
      }
      assert.sameMembers(Array.from(new Set(served.slice(0, 12))), channels.map(({ id }) => id))
    }))
}

const claims = (it: It) => {
  it.effect("gives each body to one of concurrent claims", () =>
    Effect.gen(function*() {
      yield* start
      const stored = yield* Effect.forEach(Array.from({ length: 40 }), () => insert(bytes("{}")))
      const claims = yield* Effect.replicateEffect(claim(Fixtures.noon, 10), 8, { concurrency: "unbounded" })
      const rest = yield* claim()
      assert.deepStrictEqual(
        [...claims.flat(), ...rest].map(({ id }) => id).toSorted(),
        stored.map(({ id }) => id).toSorted()
      )
    }))

  it.effect("claims a body again after its lease ends, and then only the last claim can postpone it", () =>
    Effect.gen(function*() {
      const store = yield* start
      yield* insert(bytes("{}"))
      const [first] = yield* claim()
      assert.deepStrictEqual(yield* claim(afterNoon(59_000)), [])
      const [current] = yield* claim(afterNoon(60_000))
      assert.strictEqual(current?.attempt, 2)
      if (first === undefined || current === undefined) return assert.fail("The body was not claimed twice.")
      yield* store.postpone(first, afterNoon(61_000))
      assert.deepStrictEqual(yield* claim(afterNoon(61_000)), [])
      yield* store.postpone(current, afterNoon(70_000))
      assert.deepStrictEqual(yield* claim(afterNoon(69_000)), [])
      assert.deepStrictEqual(idsOf(yield* claim(afterNoon(70_000))), [current.id])
    }))

  it.effect("removes a finished callback, whichever claim has it", () =>
    Effect.gen(function*() {
      const store = yield* start
      const { id } = yield* insert(bytes("{}"))
      yield* claim()
      yield* claim(afterNoon(60_000))
      yield* store.finish(id)
      yield* store.finish(id)
      assert.deepStrictEqual(yield* claim(afterNoon(600_000)), [])
      assert.deepStrictEqual(yield* store.backlog, emptyBacklog)
    }))

  it.effect("reports the waiting callbacks, claimed or not, and since when they wait", () =>
    Effect.gen(function*() {
      const store = yield* start
      assert.deepStrictEqual(yield* store.backlog, emptyBacklog)
      yield* insert(bytes("{}"), afterNoon(2))
      yield* insert(bytes("{}"), afterNoon(1))
      yield* claim(afterNoon(1))
      assert.deepStrictEqual(yield* store.backlog, { count: 2, oldest_received_at: afterNoon(1) })
    }))
}

export const portTests = (it: It, options: Options) => {
  bodies(it, options)
  batches(it, options)
  order(it)
  turns(it)
  claims(it)
}
