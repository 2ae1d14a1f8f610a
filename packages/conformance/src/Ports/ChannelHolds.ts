/** Tests of the guarantees of `ChannelHoldStore`. */
import { assert } from "@effect/vitest"
import { type ChannelHold, ChannelHoldRows, ChannelHoldStore } from "@messaging-crm/core/ChannelHolds"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { afterNoon, type It } from "../Fixtures.ts"

/** A pause of a new channel, which is not stored yet. */
const newPause = Effect.fnUntraced(function*(organization_id: OrganizationId, fields: Partial<ChannelHold> = {}) {
  const { id } = yield* Fixtures.channel(organization_id)
  const hold: ChannelHold = {
    channel_id: id,
    reason: "provider_auth",
    held_at: Fixtures.noon,
    until: null,
    level: 0,
    ...fields
  }
  return hold
})

const rows = (it: It) => {
  it.effect("returns a hold as it was last written, until it is removed", () =>
    Effect.gen(function*() {
      const store = yield* ChannelHoldStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const throttle = yield* newPause(ours, { reason: "rate_limited", until: afterNoon(5), level: 3 })
      const { channel_id } = throttle
      assert.deepStrictEqual(yield* store.find(ours, channel_id), Option.none())
      yield* Fixtures.mustCommit(ours, ChannelHoldRows.insert(throttle))
      assert.deepStrictEqual(yield* store.find(ours, channel_id), Option.some({ ...throttle, version: 1 }))
      assert.deepStrictEqual(yield* store.find(theirs, channel_id), Option.none())
      const set = { reason: "channel_blocked", held_at: afterNoon(1), until: null, level: 0 } as const
      const update = ChannelHoldRows.update({ channel_id, version: 1 }, set)
      assert.strictEqual(yield* Fixtures.commitOutcome(theirs, update), "Conflict")
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, update), "committed")
      assert.deepStrictEqual(yield* store.find(ours, channel_id), Option.some({ ...throttle, ...set, version: 2 }))
      yield* Fixtures.mustCommit(theirs, ChannelHoldRows.remove({ channel_id }))
      assert.isTrue(Option.isSome(yield* store.find(ours, channel_id)))
      yield* Fixtures.mustCommit(ours, ChannelHoldRows.remove({ channel_id }))
      assert.deepStrictEqual(yield* store.find(ours, channel_id), Option.none())
    }))

  it.effect("rejects a second hold of a channel", () =>
    Effect.gen(function*() {
      const ours = yield* Fixtures.organization
      const hold = yield* newPause(ours)
      yield* Fixtures.mustCommit(ours, ChannelHoldRows.insert(hold))
      assert.strictEqual(yield* Fixtures.commitOutcome(ours, ChannelHoldRows.insert(hold)), "Conflict")
    }))
}

const lists = (it: It) => {
  it.effect("lists the earliest first, then by channel, and keeps organizations apart", () =>
    Effect.gen(function*() {
      const store = yield* ChannelHoldStore
      const [ours, theirs] = [yield* Fixtures.organization, yield* Fixtures.organization]
      const holds = yield* Effect.forEach([2, 1, 1], (millis) => newPause(ours, { held_at: afterNoon(millis) }))
      yield* Fixtures.mustCommit(ours, ...holds.map(ChannelHoldRows.insert))
      yield* Fixtures.mustCommit(theirs, ChannelHoldRows.insert(yield* newPause(theirs)))
      const [last, ...tied] = holds.map(({ channel_id }) => channel_id)
      const listed = (yield* store.list(ours)).map(({ channel_id }) => channel_id)
      assert.deepStrictEqual(listed, [...tied.toSorted(), last])
    }))

  it.effect("counts the pauses of all organizations by reason, and no throttle", () =>
    Effect.gen(function*() {
      const store = yield* ChannelHoldStore
      const count = (reason: string) =>
        Effect.map(store.countPaused, (counts) => counts.find((paused) => paused.reason === reason)?.count ?? 0)
      const before = yield* count("channel_blocked")
      for (const owner of [yield* Fixtures.organization, yield* Fixtures.organization]) {
        yield* Fixtures.mustCommit(owner, ChannelHoldRows.insert(yield* newPause(owner, { reason: "channel_blocked" })))
        const throttle = yield* newPause(owner, { reason: "channel_blocked", until: afterNoon(1) })
        yield* Fixtures.mustCommit(owner, ChannelHoldRows.insert(throttle))
      }
      assert.strictEqual(yield* count("channel_blocked"), before + 2)
    }))
}

export const portTests = (it: It) => {
  rows(it)
  lists(it)
}
