import { assert, describe, it } from "@effect/vitest"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import * as Changes from "@messaging-crm/core/Changes"
import { ChannelAccountStore } from "@messaging-crm/core/ChannelAccounts"
import { ChannelHoldStore } from "@messaging-crm/core/ChannelHolds"
import { ChannelStore } from "@messaging-crm/core/Channels"
import { AddNote, Contacts, ContactStore, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import {
  CloseConversation,
  Conversations,
  ConversationStore,
  everyConversation
} from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import type { StoragePorts } from "@messaging-crm/core/Crm"
import { Decide } from "@messaging-crm/core/Decide"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import { AnyEventType, EventStore } from "@messaging-crm/core/Events"
import { Idempotency, IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { Ids, MemberId, WebhookDeliveryId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { MemberStore } from "@messaging-crm/core/Members"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { MessageStore } from "@messaging-crm/core/Messages"
import { Phone } from "@messaging-crm/core/Phones"
import { Secrets } from "@messaging-crm/core/Secrets"
import { everySend, SendMessage, Sends, SendStore, StartConversation } from "@messaging-crm/core/Sends"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { CreateTag, Tags, TagStore } from "@messaging-crm/core/Tags"
import { WebhookDeliveries, WebhookDeliveryRows, WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookReplayStore } from "@messaging-crm/core/WebhookReplays"
import { WebhookRows, Webhooks, WebhookStore } from "@messaging-crm/core/Webhooks"
import { WorkKind, WorkQueue, WorkSignal } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as Crowd from "../testing/Crowd.ts"
import * as Database from "../testing/Database.ts"
import {
  changeSome,
  channel,
  contact,
  conversation,
  conversationFilters,
  delivery,
  eventPage,
  matching,
  message,
  now,
  owner,
  pages,
  rare,
  searches,
  send,
  sendFilters,
  tag,
  webhook
} from "./PlanCases.ts"
import * as Plans from "./Plans.ts"

type Services = StoragePorts | Crm.Operations | CurrentActor | Dispatch | Ids | SqlClient.SqlClient

/** Frequent look-ups by key. */
const lookups: Readonly<Record<string, Effect.Effect<unknown, unknown, Services>>> = {
  "a key": ApiKeyStore.use((store) => store.authenticate("a".repeat(64), 120, now)),
  "an idempotency key": IdempotencyStore.use((store) => store.find(Crowd.large, IdempotencyKey.make("crowd-key-77"))),
  "a member": MemberStore.use((store) => store.find(Crowd.large, MemberId.make(Crowd.id("member", 1)))),
  "a channel": ChannelStore.use((store) => store.locate(channel)),
  "the account of a channel": ChannelAccountStore.use((store) =>
    Effect.all([
      store.find(Crowd.large, channel),
      store.locate(channel),
      store.locateByAccount("phone_messaging", "account-3"),
      store.locateByBusinessAccount("account")
    ])
  ),
  "the hold of a channel": ChannelHoldStore.use((store) => store.find(Crowd.large, channel)),
  "the paused channels": ChannelHoldStore.use((store) => store.countPaused),
  "the tags of a contact": TagStore.use((store) => store.findMany(Crowd.large, [tag(1).tag_id, tag(2).tag_id])),
  "a contact": ContactStore.use((store) => store.find(Crowd.large, contact)),
  "a contact to change": ContactStore.use((store) => store.load(Crowd.large, contact)),
  "the contact of a new identity": ContactStore.use((store) => store.findByPhone(Crowd.large, "+4915111111111")),
  "the identities of names": ContactStore.use((store) =>
    store.identify(Crowd.large, "phone_messaging", ["person-10", "person-11", "nobody"])
  ),
  "the conversations of names": ConversationStore.use((store) =>
    store.findThreads(Crowd.large, { id: channel, type: "phone_messaging" }, ["person-10", "person-11", "nobody"])
  ),
  "a conversation": ConversationStore.use((store) => store.find(Crowd.large, conversation)),
  "a message": MessageStore.use((store) => store.find(Crowd.large, conversation, message)),
  "a message by the provider's id": MessageStore.use((store) =>
    store.findByProviderId(Crowd.large, channel, "message-9")
  ),
  "early updates of a message": MessageStore.use((store) => store.findByProviderId(Crowd.large, channel, "unknown-9")),
  "the webhooks": WebhookStore.use((store) => store.list(Crowd.large, { status: null }, 100)),
  "the active webhooks": WebhookStore.use((store) => store.list(Crowd.large, { status: "active" }, 100)),
  "a webhook": WebhookStore.use((store) => store.find(Crowd.large, webhook)),
  "the number of active webhooks": WebhookStore.use((store) => store.countActive(Crowd.large)),
  "the secrets that another key encrypted": WebhookStore.use((store) =>
    Effect.andThen(store.sealedOtherwise("v2.", null, 100), store.sealedOtherwise("v2.", webhook, 100))
  ),
  "the deliveries to a webhook": WebhookDeliveryStore.use((store) => store.list(Crowd.large, webhook, 100)),
  "the events": EventStore.use((store) =>
    Effect.all(
      [null, eventPage.after].flatMap((after) =>
        [AnyEventType.literals, ["webhook.test"] as const].flatMap((types) =>
          [null, now].map((since) => store.list(Crowd.large, { types, since }, { after, size: 101 }))
        )
      )
    )
  ),
  "the next events of a replay": EventStore.use((store) =>
    store.next(Crowd.large, { types: AnyEventType.literals, until: now }, eventPage)
  ),
  "a replay": WebhookReplayStore.use((store) => store.find(Crowd.large, webhook)),
  "a delivery": WebhookDeliveryStore.use((store) => store.load(Crowd.large, delivery)),
  "a send": SendStore.use((store) => store.find(Crowd.large, send)),
  "a send to attempt": SendStore.use((store) => store.load(Crowd.large, send))
}

const claim = (kind: WorkKind) => ({
  kind,
  limit: 32,
  now,
  lease_until: DateTime.add(now, { minutes: 1 }),
  token: Crowd.id("lane", 1)
})

/** Takes the first item of a lane out of the queue. */
const claimFrom = Effect.fnUntraced(function*(kind: WorkKind, lane: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE work_lanes SET next_due = '-infinity' WHERE name = ${`${kind}:${lane}`}`
  const at = DateTime.makeUnsafe("2999-01-01T00:00:00Z")
  const claimed = yield* WorkQueue.use((queue) => queue.claim({ ...claim(kind), now: at, lease_until: at }))
  return yield* Effect.fromNullishOr(claimed.find((item) => item.lane === lane))
})

/** One of the 20,000. */
const claimDelivery = claimFrom("webhook_delivery", webhook)

const attempted = { status: "succeeded", attempt_count: 2, last_attempt_at: now, next_attempt_at: null } as const

/** Opens the reply window with an inbound activity, and sends a text. */
const sendText = Effect.gen(function*() {
  const at = yield* DateTime.now
  const who = { conversation_id: conversation, contact_id: contact }
  yield* Fixtures.write(Crowd.large, Changes.touch({ ...who, at, preview: "Hi", last_inbound_at: at }))
  return yield* Sends.use((sends) => sends.send(conversation, SendMessage.make({ type: "text", text: "Hello" })))
})

const start = (phone: string) =>
  Sends.use((sends) =>
    sends.start(StartConversation.make({
      channel_id: channel,
      phone: Phone.make(phone),
      template: { id: "greeting", components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }] }
    }))
  )

const receive = (event: Omit<ProviderMessageReceived, "channel_id" | "event" | "sent_at">) =>
  Inbound.use((inbound) => inbound.receive({ event: "message_received", channel_id: channel, sent_at: now, ...event }))

const from = (external_id: string) => ({ external_id, aliases: [], display_name: "Kim", username: "kim" })

const report = (provider_message_id: string) =>
  Inbound.use((inbound) =>
    inbound.receive({
      event: "message_status_reported",
      channel_id: channel,
      provider_message_id,
      reference: null,
      status: "read",
      at: now
    })
  )

/** Frequent operations that write: their loads and their commits. */
const writes: Readonly<Record<string, Effect.Effect<unknown, unknown, Services>>> = {
  "an update of a contact's city": Contacts.use((contacts) =>
    contacts.update(contact, UpdateContact.make({ city: "Bonn" }))
  ),
  "an update of a contact's name, owner and tags": Contacts.use((contacts) =>
    contacts.update(
      contact,
      UpdateContact.make({ first_name: "Kim", ...owner(1), tag_ids: [tag(1).tag_id, tag(2).tag_id] })
    )
  ),
  "a note": Contacts.use((contacts) => contacts.addNote(contact, AddNote.make({ text: "Hi" }))),
  "an upsert of known and new contacts": Effect.andThen(
    ContactUpserts.use((all) =>
      all.upsert(UpsertContacts.make({
        match: "primary_email",
        contacts: [{ primary_email: "alba1@crowd.example", city: "Bonn" }, { primary_email: "new@crowd.example" }]
      }))
    ),
    ContactUpserts.use((all) =>
      all.upsert(UpsertContacts.make({
        match: "external_id",
        channel_type: "photo_social",
        contacts: [{ external_id: "person-10", city: "Bonn" }, { external_id: "person-new", first_name: "Kim" }]
      }))
    )
  ),
  "a new contact": Contacts.use((contacts) =>
    contacts.create(CreateContact.make({ first_name: "Kim", tag_ids: [tag(1).tag_id] }))
  ),
  "imported contacts": ContactStore.use((store) =>
    Effect.flatMap(Effect.replicateEffect(Fixtures.stranger, 100), (all) => store.insertNew(Crowd.large, all, []))
  ),
  "a new tag": Tags.use((tags) => tags.create(CreateTag.make({ name: "New", color: "red" }))),
  "an idempotency record": Effect.gen(function*() {
    const idempotency = yield* Idempotency
    const encode = () => Effect.succeed({ status: 200, body: new Uint8Array([1, 2, 3]) })
    const input = UpdateContact.make({ city: "Bonn" })
    return yield* idempotency.once(
      { key: IdempotencyKey.make("a-new-key"), fingerprint: "f".repeat(64), request_id: "r" },
      (record) => Contacts.use((contacts) => contacts.update(contact, input, { encode, record }))
    )
  }),
  "an assignment of a conversation": Conversations.use((all) =>
    all.assign(conversation, { assigned_user_id: MemberId.make(Crowd.id("member", 2)) })
  ),
  "the closing and reopening of a conversation": Conversations.use((all) =>
    Effect.all([
      all.reopen(conversation),
      all.close(conversation, CloseConversation.make({})),
      all.reopen(conversation)
    ])
  ),
  "a text to send": sendText,
  "a first message to a known number": start("+4915111111111"),
  "a first message to a new number": start("+4915122222222"),
  "the completion of a send": Effect.gen(function*() {
    const { id } = yield* sendText
    const item = yield* claimFrom("send", conversation)
    yield* Dispatch.use((dispatch) => dispatch.attempt(item))
    const sent = yield* Sends.use((sends) => sends.get(id))
    assert.strictEqual(sent.status, "sent")
  }),
  "an inbound message of a known contact": receive({
    provider_message_id: "new-1",
    from: from("person-10"),
    type: "text",
    text: "Hi",
    media: null
  }),
  "an inbound picture of a new contact": receive({
    provider_message_id: "new-2",
    from: from("+4915133333333"),
    type: "image",
    text: null,
    media: { kind: "image", mime_type: "image/png", filename: null, transcript: null, bytes: new Uint8Array(1000) }
  }),
  "an inbound message with early updates": receive({
    provider_message_id: "unknown-9",
    from: from("person-10"),
    type: "text",
    text: "Hi",
    media: null
  }),
  "a report that a message was read": report("message-9"),
  "an early report that a message was read": Effect.andThen(report("unknown-9"), report("unknown-0")),
  "an edit and a deletion of a message": Inbound.use((inbound) => {
    const of = { channel_id: channel, provider_message_id: "message-8", at: now }
    return Effect.andThen(
      inbound.receive({ event: "message_edited", ...of, text: "Ha" }),
      inbound.receive({ event: "message_deleted", ...of })
    )
  }),
  "a change of a contact's number": Inbound.use((inbound) =>
    inbound.receive({
      event: "identity_changed",
      channel_id: channel,
      former_external_id: "person-10",
      now: from("+4915144444444")
    })
  ),
  "a successful delivery": Effect.flatMap(claimDelivery, (claimed) =>
    Fixtures.write(
      Crowd.large,
      WebhookDeliveryRows.update({ id: WebhookDeliveryId.make(claimed.ref), version: 1 }, attempted),
      Changes.settle({ claimed, outcome: "finish" })
    )),
  "a failed delivery": Effect.flatMap(claimDelivery, (claimed) =>
    Fixtures.write(
      Crowd.large,
      WebhookDeliveryRows.update({ id: WebhookDeliveryId.make(claimed.ref), version: 1 }, { attempt_count: 2 }),
      WebhookRows.update({ id: webhook, version: 1 }, { consecutive_failures: 5, first_failure_at: now }),
      Changes.throttle({ kind: "webhook_delivery", lane: webhook, until: DateTime.add(now, { minutes: 1 }), cap: 1 }),
      Changes.settle({ claimed, outcome: "postpone", due_at: DateTime.add(now, { minutes: 5 }) })
    )),
  "the disabling of a webhook with 20,000 pending deliveries": Webhooks.use((all) => all.disable(webhook)),
  "a manual retry of a delivery": WebhookDeliveries.use((all) =>
    all.retry(webhook, WebhookDeliveryId.make(Crowd.id("work", 30_000)))
  )
}

const chores: Readonly<Record<string, Effect.Effect<unknown, unknown, Services>>> = {
  ...Object.fromEntries(WorkKind.literals.map((kind) => [
    `claims and settles work: ${kind}`,
    WorkQueue.use((queue) =>
      Effect.flatMap(queue.claim(claim(kind)), ([first, second, third, fourth]) =>
        Effect.all([
          first === undefined ? Effect.void : Fixtures.finish(first),
          second === undefined ? Effect.void : Fixtures.postpone(second, now),
          third === undefined ? Effect.void : Fixtures.release(third),
          fourth === undefined ? Effect.void : Fixtures.settle({ claimed: fourth, outcome: "defect", due_at: now })
        ]))
    )
  ])),
  "claims deliveries with what their attempts need": WebhookDeliveryStore.use((store) =>
    store.claim(claim("webhook_delivery"))
  ),
  "sweeps": WorkQueue.use((queue) =>
    Effect.andThen(
      Effect.forEach(WorkKind.literals, (kind) => queue.claim(claim(kind))),
      queue.sweep(DateTime.add(now, { minutes: 2 }))
    )
  ),
  "purges early updates": MessageStore.use((store) =>
    store.purgeEarlyUpdates(DateTime.subtract(now, { days: 30 }), 500)
  ),
  "purges messages": MessageRetentionStore.use((store) => store.purge(DateTime.subtract(now, { days: 30 }), 500)),
  "purges events": EventStore.use((store) => store.purge(DateTime.subtract(now, { days: 30 }), 500)),
  "purges idempotency records": IdempotencyStore.use((store) => store.purge(DateTime.subtract(now, { hours: 72 }), 500))
}

const crowd = Layer.effectDiscard(Crowd.fill)

const member = Layer.succeed(CurrentActor, {
  organization_id: Crowd.large,
  member_id: MemberId.make(Crowd.id("member", 0))
})

const database = Layer.mergeAll(Dispatch.layer, member, crowd).pipe(
  Layer.provide(Decide.layer),
  Layer.provide(Layer.mergeAll(Secrets.layer, StorageUse.layer)),
  Layer.provideMerge(Crm.layer),
  Layer.provideMerge(Layer.mergeAll(Postgres.layer, Provider.layer("callback_ref"), Ids.layer, WorkSignal.layer)),
  Layer.provideMerge(Database.layer)
)

it.layer(database, { excludeTestServices: true, timeout: "3 minutes" })("Plans, at 100,000 contacts", (it) => {
  const sound = (name: string, effect: Effect.Effect<unknown, unknown, Services>) =>
    it.effect(name, () =>
      Effect.gen(function*() {
        const plans = yield* Plans.plansOf(effect)
        assert.isNotEmpty(plans)
        assert.deepStrictEqual(Plans.complaints(plans), [])
      }))

  for (const [where, page] of Object.entries(pages)) {
    describe(`read no more rows than necessary for ${where} of contacts`, () => {
      for (const [name, match] of searches) {
        sound(name, ContactStore.use((store) => store.list(Crowd.large, { ...Fixtures.everyone, ...match }, page)))
      }
    })
    describe(`read no more rows than necessary for ${where} of conversations`, () => {
      for (const [name, match] of Object.entries(conversationFilters)) {
        sound(
          name,
          ConversationStore.use((store) => store.list(Crowd.large, { ...everyConversation, ...match }, page))
        )
      }
    })
    describe(`read no more rows than necessary for ${where} of sends`, () => {
      for (const [name, match] of Object.entries(sendFilters)) {
        sound(name, SendStore.use((store) => store.list(Crowd.large, { ...everySend, ...match }, page)))
      }
    })
    sound(
      `read no more rows than necessary for ${where} of messages`,
      MessageStore.use((store) => store.list(Crowd.large, conversation, page))
    )
  }

  const findsWhatMatches = Effect.fnUntraced(function*(matches: typeof rare) {
    const store = yield* ContactStore
    for (const match of matches) {
      for (const page of Object.values(pages)) {
        const found = yield* store.list(Crowd.large, { ...Fixtures.everyone, ...match }, page)
        assert.deepStrictEqual(found.map(({ id }) => id), yield* matching(match, page))
      }
    }
  })

  /** A check of every contact takes seconds on a busy machine. */
  const withoutLimits = Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const limit of ["statement_timeout", "transaction_timeout"]) yield* sql`SET LOCAL ${sql(limit)} = 0`
  })

  it.effect("find the same contacts as a check of every contact", () =>
    Plans.undo(Effect.andThen(withoutLimits, findsWhatMatches(rare))))

  it.effect("find the same contacts after some were changed", () =>
    Plans.undo(Effect.gen(function*() {
      yield* withoutLimits
      yield* changeSome
      yield* findsWhatMatches(rare)
    })))

  describe("use an index to find", () => {
    for (const [name, effect] of Object.entries(lookups)) sound(name, effect)
  })

  describe("read no more rows than necessary to write", () => {
    for (const [name, effect] of Object.entries(writes)) sound(name, effect)
  })

  describe("read few rows when a worker", () => {
    for (const [name, effect] of Object.entries(chores)) sound(name, effect)
  })
})
