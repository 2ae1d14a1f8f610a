/** Tests of the guarantees of `ChannelStore`. */
import { assert } from "@effect/vitest"
import { type Channel, ChannelRows, ChannelStore } from "@messaging-crm/core/Channels"
import { ChannelId } from "@messaging-crm/core/Ids"
import { Effect, Option } from "effect"
import { hardText } from "../Arbitraries.ts"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It, type Options } from "../Fixtures.ts"

/** A channel that is not stored yet. */
const newChannel = (fields: Partial<Channel>) =>
  Effect.map(Fixtures.uuid, (id): Channel => ({
    id: ChannelId.make(id),
    type: "photo_social",
    name: "Photos",
    address: id,
    phone_messaging_business_account_id: null,
    connected_at: Fixtures.noon,
    ...fields
  }))

const inserts = (it: It, { runs }: Options) => {
  it.effect.prop("returns a channel as it was inserted", {
    name: hardText({ min: 1, max: 200 }),
    address: hardText({ min: 1, max: 200 })
  }, (fields) =>
    Effect.gen(function*() {
      const store = yield* ChannelStore
      const ours = yield* Fixtures.organization
      const channel = yield* newChannel(fields)
      yield* Fixtures.mustCommit(ours, ChannelRows.insert(channel))
      assert.deepStrictEqual(yield* store.find(ours, channel.id), Option.some(channel))
      assert.deepStrictEqual(yield* store.list(ours), [channel])
      assert.deepStrictEqual(yield* store.locate(channel.id), Option.some({ organization_id: ours, channel }))
    }), { arbitrary: { runs } })

  it.effect("rejects a second channel of one type and address, and writes nothing", () =>
    Effect.gen(function*() {
      const store = yield* ChannelStore
      const ours = yield* Fixtures.organization
      const [first, second] = [yield* newChannel({ address: "@a" }), yield* newChannel({ address: "@a" })]
      const third = yield* newChannel({ address: "@a", type: "page_messaging", connected_at: afterNoon(1) })
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, ChannelRows.insert(first)), "committed")
      const inserts = [ChannelRows.insert(third), ChannelRows.insert(second)]
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, ...inserts), "Conflict")
      assert.deepStrictEqual(yield* store.list(ours), [first])
      assert.deepStrictEqual(yield* store.locate(third.id), Option.none())
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, ChannelRows.insert(third)), "committed")
      assert.deepStrictEqual(yield* store.list(ours), [first, third])
      assert.deepStrictEqual(yield* store.locate(second.id), Option.none())
    }))
}

const reads = (it: It) => {
  it.effect("lists the oldest first, then by id", () =>
    Effect.gen(function*() {
      const store = yield* ChannelStore
      const ours = yield* Fixtures.organization
      const channels = yield* Effect.all([2, 1, 1].map((millis) => newChannel({ connected_at: afterNoon(millis) })))
      yield* Fixtures.mustCommit(ours, ...channels.map(ChannelRows.insert))
      const [last, ...tied] = channels.map(({ id }) => id)
      assert.deepStrictEqual((yield* store.list(ours)).map(({ id }) => id), [...tied.toSorted(), last])
    }))

  it.effect("keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* ChannelStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const [mine, yours] = [yield* newChannel({ address: "@a" }), yield* newChannel({ address: "@a" })]
      yield* Fixtures.mustCommit(ours, ChannelRows.insert(mine))
      yield* Fixtures.mustCommit(theirs, ChannelRows.insert(yours))
      assert.deepStrictEqual(yield* store.find(theirs, mine.id), Option.none())
      assert.deepStrictEqual(yield* store.list(theirs), [yours])
    }))
}

export const portTests = (it: It, options: Options) => {
  inserts(it, options)
  reads(it)
}
