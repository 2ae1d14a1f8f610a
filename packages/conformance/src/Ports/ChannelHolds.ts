/** Tests of the guarantees of `ChannelHoldStore`. */
import { assert } from "@effect/vitest"
import { type ChannelHold, ChannelHoldRows, ChannelHoldStore } from "@messaging-crm/core/ChannelHolds"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect } from "effect"
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

export const portTests = (it: It) => {
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
