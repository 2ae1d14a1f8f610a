/** Sends whose outcome is unknown, because the response of the provider was lost. */
import { assert } from "@effect/vitest"
import { ProviderOutcomeUnknown } from "@messaging-crm/core/MessagingProvider"
import type { Send } from "@messaging-crm/core/Sends"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { storedEvents } from "../../Fixtures.ts"
import { type It, makeScene, work } from "../JourneyScene.ts"
import { attemptsOf } from "./SendScene.ts"

/** A send whose response was lost, 15 minutes later, without a callback. */
const expired = Effect.gen(function*() {
  const scene = yield* makeScene
  yield* scene.provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
  const { conversation_id, id } = yield* scene.start()
  yield* work
  yield* TestClock.adjust("899 seconds")
  yield* work
  assert.strictEqual((yield* scene.get(id)).status, "unknown")
  yield* TestClock.adjust("1 seconds")
  yield* work
  return { ...scene, id, messages: scene.messagesIn(conversation_id), send: yield* scene.get(id) }
})

const lostResponses = (it: It) => {
  it.effect("whose response was lost is not sent again, and a callback with its reference resolves it", () =>
    Effect.gen(function*() {
      const { get, messageOf, provider, receiveStatus, start } = yield* makeScene
      yield* provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
      const { id } = yield* start()
      yield* work
      assert.strictEqual((yield* get(id)).status, "unknown")
      yield* TestClock.adjust("5 minutes")
      yield* work
      assert.strictEqual(yield* attemptsOf(id), 1)
      yield* receiveStatus(id, { status: "delivered", at: yield* DateTime.now })
      assert.strictEqual((yield* get(id)).status, "sent")
      assert.strictEqual((yield* messageOf(id)).status, "delivered")
      yield* TestClock.adjust("20 minutes")
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
    }))

  it.effect("whose response was lost fails after 15 minutes without a callback, and not before", () =>
    Effect.gen(function*() {
      const { get, id, messages, send } = yield* expired
      assert.strictEqual(send.status, "failed")
      assert.strictEqual(send.failure_reason, "outcome_unknown")
      assert.lengthOf(yield* messages, 0)
      yield* TestClock.adjust("1 hour")
      yield* work
      assert.deepStrictEqual(yield* get(id), send)
      assert.strictEqual(yield* attemptsOf(id), 1)
    }))
}

const lateProofs = (it: It) => {
  it.effect("that failed because its response was lost is sent once a report proves it, however late and often", () =>
    Effect.gen(function*() {
      const { get, id, messages, organization_id, receiveStatus, send } = yield* expired
      for (const status of ["delivered", "read", "delivered"] as const) {
        yield* receiveStatus(id, { status, at: yield* DateTime.now })
      }
      const [late, ...more] = yield* messages
      assert.deepStrictEqual([late?.text, late?.status, late?.provider_message_id], ["Hello Kim", "read", `p.${id}`])
      assert.lengthOf(more, 0)
      const proven: Send = { ...send, status: "sent", failure_reason: null, message_id: late?.id ?? null }
      assert.deepStrictEqual(yield* get(id), proven)
      const raised = yield* Effect.forEach(
        ["send.failed", "message.sent"] as const,
        (type) => storedEvents(organization_id, type)
      )
      assert.deepStrictEqual(
        raised.map((events) => events.map(({ body }) => JSON.parse(body).data)),
        [
          [{ conversation_id: send.conversation_id, send_id: id, failure_reason: "outcome_unknown" }],
          [{ conversation_id: send.conversation_id, message_id: late?.id }]
        ]
      )
      yield* TestClock.adjust("1 hour")
      yield* work
      assert.deepStrictEqual(yield* get(id), proven)
      assert.strictEqual(yield* attemptsOf(id), 1)
    }))
}

const reusedProviderIds = (it: It) => {
  it.effect("is sent even if the provider gave its message ID to another message", () =>
    Effect.gen(function*() {
      const { get, messageOf, provider, receiveStatus, receiveText, start } = yield* makeScene
      yield* receiveText("taken", "Hello")
      yield* provider.respond(() => Effect.succeed({ provider_message_id: "taken" }))
      const sends = [yield* start("Ada"), yield* start("Bob")]
      yield* work
      const messages = yield* Effect.forEach(sends, ({ id }) => messageOf(id))
      assert.deepStrictEqual(
        messages.map(({ provider_message_id, status, text }) => [provider_message_id, status, text]),
        [[null, "sent", "Hello Ada"], [null, "sent", "Hello Bob"]]
      )
      // Reports of the ID are about the message that had it first.
      for (const { id } of sends) {
        yield* receiveStatus(id, { status: "read", at: yield* DateTime.now }, { provider_message_id: "taken" })
        assert.strictEqual((yield* get(id)).status, "sent")
        assert.strictEqual((yield* messageOf(id)).status, "sent")
      }
    }))
}

export const unknownOutcomes = (it: It) => {
  lostResponses(it)
  lateProofs(it)
  reusedProviderIds(it)
}
