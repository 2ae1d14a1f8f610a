/** Tests of updates that are stored before their message. */
import { assert } from "@effect/vitest"
import { insert, MessageStore, type MessageUpdate } from "@messaging-crm/core/Messages"
import { Effect, Option } from "effect"
import { optionalHardText } from "../../Arbitraries.ts"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon, type It, type Options } from "../../Fixtures.ts"
import { storeEarly } from "./MessageScene.ts"

/** Returns an update of each status, and two that change nothing after them. */
const reports = (text: string | null) => {
  const updates: ReadonlyArray<MessageUpdate> = [
    { status: "delivered", at: afterNoon(2) },
    { status: "read", at: afterNoon(3) },
    { status: "edited", text, at: afterNoon(6) },
    { status: "deleted", at: afterNoon(7) }
  ]
  const withoutEffect: ReadonlyArray<MessageUpdate> = [
    { status: "delivered", at: afterNoon(4) },
    { status: "edited", text: null, at: afterNoon(5) }
  ]
  return { updates, withoutEffect }
}

const keptUpdates = (it: It, { runs }: Options) => {
  it.effect.prop("keeps early updates, one of each status, until their message arrives", {
    text: optionalHardText({ min: 1, max: 100 })
  }, ({ text }) =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const { channel, contact_id, conversation_id } = yield* Fixtures.thread(ours)
      const key = { channel_id: channel.id, provider_message_id: "p" }
      const { updates, withoutEffect } = reports(text)
      yield* Effect.forEach([...updates, ...withoutEffect, ...updates], (update) =>
        storeEarly(ours, channel.id, "p", update))
      yield* storeEarly(ours, channel.id, "q", { status: "failed", at: afterNoon(1) })
      const early = yield* store.findByProviderId(ours, channel.id, "p")
      assert.deepStrictEqual(
        early,
        Option.some({
          ...key,
          early_updates: updates,
          version: updates.length,
          message: Option.none()
        })
      )
      const message = yield* Fixtures.newMessage(conversation_id, { provider_message_id: "p" })
      yield* Fixtures.mustCommit(ours, insert(channel.id, contact_id, early, message))
      assert.deepStrictEqual(
        yield* store.findByProviderId(ours, channel.id, "p"),
        Option.some({
          ...key,
          early_updates: [],
          version: updates.length + 1,
          message: Option.some({ ...message, version: 1, contact_id })
        })
      )
      const other = Option.getOrThrow(yield* store.findByProviderId(ours, channel.id, "q"))
      assert.lengthOf(other.early_updates, 1)
    }), { arbitrary: { runs } })
}

const purges = (it: It) => {
  it.effect("deletes pending updates that are old enough, the oldest first, up to the limit, and no message", () =>
    Effect.gen(function*() {
      const store = yield* MessageStore
      const ours = yield* Fixtures.organization
      const thread = yield* Fixtures.thread(ours)
      const { channel, conversation_id } = thread
      while ((yield* store.purgeEarlyUpdates(afterNoon(10), 1000)) > 0) continue
      const read = { status: "read", at: afterNoon(3) } as const
      for (const millis of [10, 3, 2, 1]) yield* storeEarly(ours, channel.id, `${millis}`, read, afterNoon(millis))
      const arrived = yield* Fixtures.newMessage(conversation_id, {
        provider_message_id: "4",
        created_at: afterNoon(-9)
      })
      yield* storeEarly(ours, channel.id, "4", read, afterNoon(4))
      const early = yield* store.findByProviderId(ours, channel.id, "4")
      yield* Fixtures.mustCommit(ours, insert(channel.id, thread.contact_id, early, arrived))
      const older = yield* Fixtures.newMessage(conversation_id, { provider_message_id: "5", created_at: afterNoon(-9) })
      yield* Fixtures.mustCommit(ours, Fixtures.insertMessage(thread, older))
      const left = Effect.forEach(
        ["1", "2", "3", "4", "5", "10"],
        (id) => Effect.map(store.findByProviderId(ours, channel.id, id), Option.isSome)
      )
      for (const [removed, isLeft] of [[2, true], [1, false], [0, false]] as const) {
        assert.strictEqual(yield* store.purgeEarlyUpdates(afterNoon(10), 2), removed)
        assert.deepStrictEqual(yield* left, [false, false, isLeft, true, true, true])
      }
    }))
}

export const earlyUpdates = (it: It, options: Options) => {
  keptUpdates(it, options)
  purges(it)
}
