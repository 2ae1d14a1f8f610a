/** What happens to a send during an attempt: the worker dies, or the provider reports the message before it responds. */
import { assert } from "@effect/vitest"
import type { Inbound } from "@messaging-crm/core/Inbound"
import { ProviderOutcomeUnknown, ProviderRejected } from "@messaging-crm/core/MessagingProvider"
import { type SendRow, SendRows, SendStore } from "@messaging-crm/core/Sends"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { mustCommit } from "../../Fixtures.ts"
import { accept } from "../../Provider.ts"
import { type It, makeScene, work, workAgain } from "../JourneyScene.ts"
import { attemptsOf, busy } from "./SendScene.ts"

/** A send whose worker died during an attempt. */
const interrupted = Effect.gen(function*() {
  const scene = yield* makeScene
  yield* scene.provider.respond(() => Effect.die("killed"))
  const { id } = yield* scene.start()
  yield* work
  assert.strictEqual((yield* scene.get(id)).status, "sending")
  return { ...scene, id }
})

/** Checks that the outcome of a send's only attempt is unknown, until a callback proves that the message was sent. */
const proveByCallback = Effect.fnUntraced(function*({ get, id, receiveStatus }: Effect.Success<typeof interrupted>) {
  assert.strictEqual((yield* get(id)).status, "unknown")
  assert.strictEqual(yield* attemptsOf(id), 1)
  yield* receiveStatus(id, { status: "read", at: yield* DateTime.now })
  assert.strictEqual((yield* get(id)).status, "sent")
})

const interruptedAttempts = (it: It) => {
  it.effect("whose worker died during an attempt counts as one whose response was lost", () =>
    Effect.gen(function*() {
      const scene = yield* interrupted
      yield* TestClock.adjust("60 seconds")
      yield* workAgain
      yield* proveByCallback(scene)
    }))

  it.effect("has an unknown outcome after its worker died during an attempt, even if only a newer version supports its content", () =>
    Effect.gen(function*() {
      const scene = yield* interrupted
      const { id, organization_id } = scene
      const row = Option.getOrThrow(yield* SendStore.use((store) => store.find(organization_id, id)))
      // A type that no schema of this version has.
      const content = { type: "poll", text: "Why?" } as unknown as SendRow["content"]
      yield* mustCommit(organization_id, SendRows.update(row, { content }))
      for (let passed = 0; passed < 180; passed += 30) {
        yield* TestClock.adjust("30 seconds")
        yield* workAgain
      }
      yield* proveByCallback(scene)
    }))
}

const readReports = (it: It) => {
  it.effect("is read by a report of a time between the beginning of its attempt and the response", () =>
    Effect.gen(function*() {
      const { channel, messageOf, number, provider, receive, start } = yield* makeScene
      const began_at = yield* DateTime.now
      yield* provider.respond((message) => Effect.andThen(TestClock.adjust("1 second"), accept(message)))
      const send = yield* start()
      yield* work
      const message = yield* messageOf(send.id)
      assert.deepStrictEqual([message.sent_at, message.created_at], [began_at, DateTime.add(began_at, { seconds: 1 })])
      const until = DateTime.add(began_at, { milliseconds: 300 })
      yield* receive({
        event: "messages_reported",
        channel_id: channel.id,
        external_id: number,
        status: "read",
        until,
        at: until
      })
      assert.strictEqual((yield* messageOf(send.id)).status, "read")
    }))
}

const callbacksDuringAttempts = (it: It) => {
  it.effect("is completed by a callback that arrives before the response", () =>
    Effect.gen(function*() {
      const { get, messageOf, provider, receiveStatus, start } = yield* makeScene
      const context = yield* Effect.context<Inbound>()
      yield* provider.respond((message) =>
        Effect.gen(function*() {
          yield* receiveStatus(message.reference, { status: "read", at: yield* DateTime.now })
          return yield* accept(message)
        }).pipe(Effect.provideContext(context))
      )
      const { id } = yield* start()
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
      assert.strictEqual((yield* messageOf(id)).status, "read")
      assert.strictEqual(yield* attemptsOf(id), 1)
    }))

  it.effect.each([
    busy,
    new ProviderRejected({ reason: "provider_rejected" }),
    new ProviderOutcomeUnknown()
  ])(
    "that a callback completes before its attempt ends with $_tag leaves its lane at once",
    (error) =>
      Effect.gen(function*() {
        const { get, provider, receiveStatus, start } = yield* makeScene
        const context = yield* Effect.context<Inbound>()
        yield* provider.respond((message) =>
          message.content.text === "Hello b"
            ? accept(message)
            : Effect.gen(function*() {
              yield* receiveStatus(message.reference, { status: "sent", at: yield* DateTime.now })
              return yield* error
            }).pipe(Effect.provideContext(context))
        )
        const [head, next] = [yield* start("a"), yield* start("b")]
        yield* work
        assert.strictEqual((yield* get(head.id)).status, "sent")
        assert.strictEqual((yield* get(next.id)).status, "sent")
        const now = DateTime.add(yield* DateTime.now, { minutes: 16 })
        const expiring = yield* WorkQueue.use((queue) =>
          queue.claim({ kind: "send_outcome", limit: 100, now, lease_until: now, token: head.id })
        )
        assert.notInclude(expiring.map(({ ref }) => ref), head.id)
      })
  )
}

export const attempts = (it: It) => {
  interruptedAttempts(it)
  readReports(it)
  callbacksDuringAttempts(it)
}
