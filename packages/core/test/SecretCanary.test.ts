/** Processes with another root key: what they do not touch, and what waits for a secret that no key decrypts. */
import { assert, it } from "@effect/vitest"
import { ScriptedEndpoints } from "@messaging-crm/conformance/Endpoints"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { ScriptedProvider } from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { CallbackInbox, CallbackStore } from "@messaging-crm/core/CallbackInbox"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { type ChannelId, type OrganizationId, type SendId, type WebhookId } from "@messaging-crm/core/Ids"
import { ProviderHeld } from "@messaging-crm/core/MessagingProvider"
import { Phone } from "@messaging-crm/core/Phones"
import { Rows } from "@messaging-crm/core/Rows"
import { SecretCanary, SecretCanaryStore } from "@messaging-crm/core/SecretCanary"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { CreateWebhook, WebhookRows, Webhooks, WebhookStore } from "@messaging-crm/core/Webhooks"
import { Worker } from "@messaging-crm/core/Worker"
import { Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { old, other, outside, under, young } from "./RootKeys.ts"

const as = (organization_id: OrganizationId) => <A, E, R>(effect: Effect.Effect<A, E, R | CurrentActor>) =>
  effect.pipe(Effect.provideService(CurrentActor, { organization_id, member_id: null }), Effect.orDie)

const start = (organization_id: OrganizationId, channel_id: ChannelId) =>
  Sends.use((sends) =>
    sends.start(StartConversation.make({
      channel_id,
      phone: Phone.make("+4915112345678"),
      template: { id: "greeting", components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }] }
    }))
  ).pipe(as(organization_id))

const statusOf = (organization_id: OrganizationId, id: SendId) =>
  Sends.use((sends) => sends.get(id)).pipe(as(organization_id), Effect.map(({ status }) => status))

const deliveriesTo = (organization_id: OrganizationId, id: WebhookId) =>
  WebhookDeliveries.use((deliveries) => deliveries.list(id)).pipe(as(organization_id))

/** Lets a worker run for a time, or until something is so. Encryption takes real time, so the clock advances in steps. */
const work = <E = never, R = never>(seconds: number, isDone: Effect.Effect<boolean, E, R> = Effect.succeed(false)) =>
  Effect.gen(function*() {
    const worker = yield* Effect.forkChild(Worker.use(({ run }) => run))
    const inbox = yield* Effect.forkChild(CallbackInbox.use(({ run }) => run(() => Effect.void)))
    for (let passed = 0; passed < seconds && !(yield* isDone); passed++) {
      yield* TestClock.adjust("1 second")
      yield* Effect.yieldNow
    }
    yield* Fiber.interrupt(inbox)
    yield* Fiber.interrupt(worker)
  })

/** A webhook with a delivery that is due, and a send that is queued, in a process with the old key. */
const queued = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const channel = yield* Fixtures.channel(organization_id)
  const url = "https://shop.example/webhook"
  return yield* Effect.gen(function*() {
    assert.isTrue(yield* SecretCanary.use(({ isReadable }) => isReadable))
    const webhook = yield* Webhooks.use((webhooks) =>
      webhooks.create(CreateWebhook.make({ url, event_types: ["conversation.closed"] }))
    ).pipe(as(organization_id))
    const send = yield* start(organization_id, channel.id)
    yield* Conversations.use((conversations) => conversations.close(send.conversation_id, CloseConversation.make({})))
      .pipe(as(organization_id))
    return { organization_id, channel, webhook, send, url }
  }).pipe(under(old))
})

it.effect("a process whose key does not decrypt the canary claims nothing, and leaves it to one whose key does", () =>
  Effect.gen(function*() {
    const { organization_id, send, url, webhook } = yield* queued
    const callbacks = Effect.map(CallbackStore.use(({ backlog }) => backlog), ({ count }) => count)
    yield* Effect.gen(function*() {
      yield* CallbackInbox.use((inbox) =>
        inbox.store("app", [{ channel_id: null, people: [], body: new Uint8Array() }])
      )
      assert.isFalse(yield* SecretCanary.use(({ isReadable }) => isReadable))
      yield* work(120)
      assert.strictEqual(yield* statusOf(organization_id, send.id), "queued")
      assert.deepStrictEqual(yield* deliveriesTo(organization_id, webhook.id), [])
    }).pipe(under(other))
    assert.strictEqual(yield* callbacks, 1)
    assert.lengthOf(yield* ScriptedEndpoints.use(({ posted }) => posted(url)), 0)
    yield* Effect.gen(function*() {
      const isDone = Effect.map(
        Effect.all([statusOf(organization_id, send.id), deliveriesTo(organization_id, webhook.id), callbacks]),
        ([status, [delivery], waiting]) => status === "sent" && delivery?.status === "succeeded" && waiting === 0
      )
      yield* work(600, isDone)
      assert.isTrue(yield* isDone)
    }).pipe(under(old))
  }).pipe(Effect.provide(outside)))

it.effect("of processes that begin a new database at once with different keys, those with one key are ready", () =>
  Effect.gen(function*() {
    const isReadable = SecretCanary.use(({ isReadable }) => isReadable)
    const all = yield* Effect.all([
      isReadable.pipe(under(old)),
      isReadable.pipe(under(young)),
      isReadable.pipe(under(old))
    ], {
      concurrency: "unbounded"
    })
    assert.strictEqual(all[0], all[2])
    assert.notStrictEqual(all[0], all[1])
  }).pipe(Effect.provide(outside)))

it.effect("a peek stores no canary, and a check stores a missing one under the key of its process", () =>
  Effect.gen(function*() {
    const peek = SecretCanary.use(({ peek }) => peek)
    const check = SecretCanary.use(({ check }) => check)
    assert.deepStrictEqual(yield* peek.pipe(under(old)), Option.none())
    assert.isTrue(Option.isNone(yield* SecretCanaryStore.use(({ find }) => find)))
    assert.deepStrictEqual([yield* check.pipe(under(old)), yield* check.pipe(under(other))], [true, false])
    assert.deepStrictEqual([yield* peek.pipe(under(old)), yield* peek.pipe(under(other))], [
      Option.some(true),
      Option.some(false)
    ])
  }).pipe(Effect.provide(outside)))

it.effect("a rotation keeps every process ready, and ends with the new key alone", () =>
  Effect.gen(function*() {
    const isReadable = SecretCanary.use(({ isReadable }) => isReadable)
    const opened = (...keys: ReadonlyArray<typeof old>) => isReadable.pipe(under(...keys))
    assert.deepStrictEqual([yield* opened(old), yield* opened(old, young), yield* opened(young, old)], [
      true,
      true,
      true
    ])
    assert.isFalse(yield* opened(young))
    yield* work(600, opened(young)).pipe(under(young, old))
    assert.deepStrictEqual([yield* opened(old, young), yield* opened(young, old), yield* opened(young)], [
      true,
      true,
      true
    ])
    assert.isFalse(yield* opened(old))
  }).pipe(Effect.provide(outside)))

it.effect("a process notices within 5 s that its key no longer decrypts the canary", () =>
  Effect.gen(function*() {
    const store = yield* SecretCanaryStore
    yield* Effect.gen(function*() {
      const { isReadable } = yield* SecretCanary
      assert.isTrue(yield* isReadable)
      yield* store.replace(Option.getOrThrow(yield* store.find), "v1.another.key.text")
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(yield* isReadable)
    }).pipe(under(old))
  }).pipe(Effect.provide(outside)))

it.effect("a delivery whose secret no key decrypts waits, however long, and is made once one does", () =>
  Effect.gen(function*() {
    const { organization_id, url, webhook } = yield* queued
    const store = yield* WebhookStore
    const row = Option.getOrThrow(yield* Rows.use((rows) => rows.find(WebhookRows, organization_id, webhook.id)))
    yield* store.reseal(organization_id, webhook.id, row.sealed_secret, "v1.another.key.text")
    const state = Effect.map(
      deliveriesTo(organization_id, webhook.id),
      (all) => all.map(({ attempt_count, status }) => [status, attempt_count])
    )
    yield* Effect.gen(function*() {
      yield* work(600)
      assert.deepStrictEqual(yield* state, [["pending", 0]])
    }).pipe(under(old))
    assert.lengthOf(yield* ScriptedEndpoints.use(({ posted }) => posted(url)), 0)
    yield* store.reseal(organization_id, webhook.id, "v1.another.key.text", row.sealed_secret)
    yield* Effect.gen(function*() {
      yield* work(600, Effect.map(state, ([first]) => first?.[0] === "succeeded"))
      assert.deepStrictEqual(yield* state, [["succeeded", 1]])
    }).pipe(under(old))
  }).pipe(Effect.provide(outside)))

it.effect("a send whose token no key decrypts waits with its paused channel, and is sent once that is resumed", () =>
  Effect.gen(function*() {
    const { channel, organization_id, send } = yield* queued
    const provider = yield* ScriptedProvider
    yield* provider.respond(() => Effect.fail(new ProviderHeld({ reason: "provider_auth" })))
    yield* Effect.gen(function*() {
      yield* work(120)
      assert.strictEqual(yield* statusOf(organization_id, send.id), "queued")
      assert.lengthOf(yield* provider.received, 1)
      yield* provider.respond(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
      assert.isTrue(yield* ChannelHolds.use((holds) => holds.resume(channel.id)).pipe(as(organization_id)))
      yield* work(120, Effect.map(statusOf(organization_id, send.id), (status) => status === "sent"))
      assert.strictEqual(yield* statusOf(organization_id, send.id), "sent")
    }).pipe(under(old))
  }).pipe(Effect.provide(outside)))
