/** A send from its request to its end, with every outcome of the provider. */
import { assert, it } from "@effect/vitest"
import type { SendId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { Messages } from "@messaging-crm/core/Messages"
import { ProviderBusy, ProviderOutcomeUnknown, ProviderRejected } from "@messaging-crm/core/MessagingProvider"
import { type Send, type SendRow, SendRows, SendStore } from "@messaging-crm/core/Sends"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { storedEvents, write } from "../Fixtures.ts"
import { ScriptedProvider } from "../Provider.ts"
import { begin, crm, type It, type Storage, work, workAgain } from "./Scene.ts"

const attemptsOf = Effect.fnUntraced(function*(id: SendId) {
  const deliveries = yield* ScriptedProvider.use((provider) => provider.received)
  return deliveries.filter(({ reference }) => reference === id).length
})

/** A send whose worker died in mid-attempt. */
const interrupted = Effect.gen(function*() {
  const scene = yield* begin
  yield* scene.provider.respond(() => Effect.die("killed"))
  const { id } = yield* scene.start()
  yield* work
  assert.strictEqual((yield* scene.get(id)).status, "sending")
  return { ...scene, id }
})

/** The outcome of a send's only attempt is unknown, until a callback proves that the message was sent. */
const provenByCallback = Effect.fnUntraced(function*({ get, id, reported }: Effect.Success<typeof interrupted>) {
  assert.strictEqual((yield* get(id)).status, "unknown")
  assert.strictEqual(yield* attemptsOf(id), 1)
  yield* reported(id, { status: "read", at: yield* DateTime.now })
  assert.strictEqual((yield* get(id)).status, "sent")
})

/** A send whose response was lost, 15 minutes later, without a callback. */
const expired = Effect.gen(function*() {
  const scene = yield* begin
  yield* scene.provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
  const { conversation_id, id } = yield* scene.start()
  yield* work
  yield* TestClock.adjust("899 seconds")
  yield* work
  assert.strictEqual((yield* scene.get(id)).status, "unknown")
  yield* TestClock.adjust("1 seconds")
  yield* work
  const messages = Effect.map(
    Messages.use((all) => all.list(conversation_id, null)).pipe(scene.as),
    ({ data }) => data
  )
  return { ...scene, id, messages, send: yield* scene.get(id) }
})

const busy = new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })

const retries = (it: It) => {
  it.effect("reaches the provider after those before it in its conversation", () =>
    Effect.gen(function*() {
      const { start } = yield* begin
      const sends = yield* Effect.forEach(["a", "b", "c", "d"], start)
      yield* work
      const order = (yield* ScriptedProvider.use((provider) => provider.received)).map(({ reference }) => reference)
      const ids = sends.map(({ id }) => id)
      assert.deepStrictEqual(order.filter((reference) => ids.includes(reference)), ids)
    }))

  it.effect("is retried after 1, 5, 15, 30 and 60 seconds when nothing was sent, and delays the next send", () =>
    Effect.gen(function*() {
      const { get, provider, start } = yield* begin
      yield* provider.respond(() => Effect.fail(busy))
      const [head, next] = [yield* start("a"), yield* start("b")]
      yield* work
      assert.strictEqual((yield* get(head.id)).status, "queued")
      for (const [index, seconds] of [1, 5, 15, 30, 60].entries()) {
        yield* TestClock.adjust(`${seconds * 1000 - 1} millis`)
        yield* work
        assert.strictEqual(yield* attemptsOf(head.id), index + 1)
        yield* TestClock.adjust("1 millis")
        yield* work
        assert.strictEqual(yield* attemptsOf(head.id), index + 2)
      }
      const ended = yield* get(head.id)
      assert.strictEqual(ended.status, "failed")
      assert.strictEqual(ended.failure_reason, "provider_unavailable")
      // The first send has failed, so the next one was attempted.
      assert.strictEqual(yield* attemptsOf(next.id), 1)
      yield* provider.respond(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
      yield* TestClock.adjust("1 seconds")
      yield* work
      assert.strictEqual((yield* get(next.id)).status, "sent")
    }))

  it.effect("waits as long as the provider requests", () =>
    Effect.gen(function*() {
      const { get, provider, start } = yield* begin
      yield* provider.respond(() => Effect.fail(new ProviderBusy({ reason: "rate_limited", retry_after_seconds: 20 })))
      const { id } = yield* start()
      yield* work
      yield* TestClock.adjust("19 seconds")
      yield* work
      assert.strictEqual(yield* attemptsOf(id), 1)
      yield* provider.respond(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
      yield* TestClock.adjust("1 seconds")
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
    }))
}

const lostResponses = (it: It) => {
  it.effect("whose response was lost is not sent again, and a callback with its reference resolves it", () =>
    Effect.gen(function*() {
      const { get, messageOf, provider, reported, start } = yield* begin
      yield* provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
      const { id } = yield* start()
      yield* work
      assert.strictEqual((yield* get(id)).status, "unknown")
      yield* TestClock.adjust("5 minutes")
      yield* work
      assert.strictEqual(yield* attemptsOf(id), 1)
      yield* reported(id, { status: "delivered", at: yield* DateTime.now })
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
      const { get, id, messages, organization_id, reported, send } = yield* expired
      for (const status of ["delivered", "read", "delivered"] as const) {
        yield* reported(id, { status, at: yield* DateTime.now })
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
  it.effect("whose message id the provider has given to another message is sent all the same", () =>
    Effect.gen(function*() {
      const { get, messageOf, provider, reported, start, written } = yield* begin
      yield* written("taken", "Hello")
      yield* provider.respond(() => Effect.succeed({ provider_message_id: "taken" }))
      const sends = [yield* start("Ada"), yield* start("Bob")]
      yield* work
      const found = yield* Effect.forEach(sends, ({ id }) => messageOf(id))
      assert.deepStrictEqual(
        found.map(({ provider_message_id, status, text }) => [provider_message_id, status, text]),
        [[null, "sent", "Hello Ada"], [null, "sent", "Hello Bob"]]
      )
      // Reports of the id are about the message that had it first.
      for (const { id } of sends) {
        yield* reported(id, { status: "read", at: yield* DateTime.now }, { provider_message_id: "taken" })
        assert.strictEqual((yield* get(id)).status, "sent")
        assert.strictEqual((yield* messageOf(id)).status, "sent")
      }
    }))
}

const interruptedAttempts = (it: It) => {
  it.effect("whose worker died in mid-attempt counts as one whose response was lost", () =>
    Effect.gen(function*() {
      const scene = yield* interrupted
      yield* TestClock.adjust("60 seconds")
      yield* workAgain
      yield* provenByCallback(scene)
    }))

  it.effect("has an unknown outcome after its worker died in mid-attempt, and only a newer version supports its content", () =>
    Effect.gen(function*() {
      const scene = yield* interrupted
      const { id, organization_id } = scene
      const row = Option.getOrThrow(yield* SendStore.use((store) => store.find(organization_id, id)))
      // A type that no schema of this version has.
      const content = { type: "poll", text: "Why?" } as unknown as SendRow["content"]
      yield* write(organization_id, SendRows.update(row, { content }))
      for (let passed = 0; passed < 180; passed += 30) {
        yield* TestClock.adjust("30 seconds")
        yield* workAgain
      }
      yield* provenByCallback(scene)
    }))
}

const readReports = (it: It) => {
  it.effect("is read by a report of a time between the beginning of its attempt and the response", () =>
    Effect.gen(function*() {
      const { channel, messageOf, number, provider, start } = yield* begin
      const began_at = yield* DateTime.now
      yield* provider.respond(({ reference }) =>
        Effect.as(TestClock.adjust("1 second"), { provider_message_id: `p.${reference}` })
      )
      const send = yield* start()
      yield* work
      const message = yield* messageOf(send.id)
      assert.deepStrictEqual([message.sent_at, message.created_at], [began_at, DateTime.add(began_at, { seconds: 1 })])
      const until = DateTime.add(began_at, { milliseconds: 300 })
      yield* Inbound.use((inbound) =>
        inbound.receive({
          event: "messages_reported",
          channel_id: channel.id,
          external_id: number,
          status: "read",
          until,
          at: until
        })
      )
      assert.strictEqual((yield* messageOf(send.id)).status, "read")
    }))
}

const callbacksDuringAttempts = (it: It) => {
  it.effect("is completed by a callback that arrives before the response", () =>
    Effect.gen(function*() {
      const { get, messageOf, provider, reported, start } = yield* begin
      const context = yield* Effect.context<Inbound>()
      yield* provider.respond(({ reference }) =>
        Effect.gen(function*() {
          yield* reported(reference, { status: "read", at: yield* DateTime.now })
          return { provider_message_id: `p.${reference}` }
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
        const { get, provider, reported, start } = yield* begin
        const context = yield* Effect.context<Inbound>()
        yield* provider.respond(({ content, reference }) =>
          content.text === "Hello b"
            ? Effect.succeed({ provider_message_id: `p.${reference}` })
            : Effect.gen(function*() {
              yield* reported(reference, { status: "sent", at: yield* DateTime.now })
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

export const suite = (storage: Storage) => {
  it.layer(crm(storage), { timeout: "5 minutes" })("a send", (it) => {
    retries(it)
    lostResponses(it)
    lateProofs(it)
    reusedProviderIds(it)
    interruptedAttempts(it)
    readReports(it)
    callbacksDuringAttempts(it)
  })

  it.layer(crm(storage, "client_ref"), { timeout: "5 minutes" })(
    "a send to a provider that deduplicates by reference",
    (it) => {
      it.effect("is retried with the same reference when the response was lost", () =>
        Effect.gen(function*() {
          const { get, provider, start } = yield* begin
          yield* provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
          const { id } = yield* start()
          yield* work
          yield* provider.respond(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
          yield* TestClock.adjust("1 seconds")
          yield* work
          assert.strictEqual((yield* get(id)).status, "sent")
          assert.strictEqual(yield* attemptsOf(id), 2)
        }))

      it.effect("has an unknown outcome after five defects, and the send behind it is sent within 90 s", () =>
        Effect.gen(function*() {
          const { get, provider, start } = yield* begin
          yield* provider.respond(({ content, reference }) =>
            content.text === "Hello b"
              ? Effect.succeed({ provider_message_id: `p.${reference}` })
              : Effect.die("bug")
          )
          const [head, next] = [yield* start("a"), yield* start("b")]
          const attempts: Array<number> = []
          for (let seconds = 0; seconds <= 90; seconds += 2) {
            yield* work
            attempts.push(yield* attemptsOf(head.id))
            if (attempts.at(-1) === 4) assert.strictEqual((yield* get(head.id)).status, "sending")
            if (seconds < 90) yield* TestClock.adjust("2 seconds")
          }
          assert.deepStrictEqual(Array.from(new Set(attempts)), [1, 2, 3, 4, 5])
          assert.strictEqual((yield* get(head.id)).status, "unknown")
          assert.strictEqual((yield* get(next.id)).status, "sent")
          yield* TestClock.adjust("15 minutes")
          yield* work
          const { failure_reason, status } = yield* get(head.id)
          assert.deepStrictEqual([status, failure_reason], ["failed", "outcome_unknown"])
        }))
    }
  )
}
