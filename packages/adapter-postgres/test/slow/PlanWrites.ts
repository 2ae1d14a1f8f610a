/** The operations that write whose plans are tested. */
import { assert } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import type { CurrentActor } from "@messaging-crm/core/Actor"
import * as Changes from "@messaging-crm/core/Changes"
import { AddNote, Contacts, ContactStore, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { AssignConversation, CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import { Idempotency, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { type Ids, MemberId, WebhookDeliveryId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Phone } from "@messaging-crm/core/Phones"
import { SendMessage, Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { WebhookDeliveries, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows, Webhooks } from "@messaging-crm/core/Webhooks"
import { type WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as Crowd from "../../testing/Crowd.ts"
import * as Lanes from "../../testing/Lanes.ts"
import { channel, contact, conversation, now, owner, tag, webhook } from "./PlanCases.ts"

/** The services that the cases require. */
export type Services = Crm.StoragePorts | Crm.Services | CurrentActor | Dispatch | Ids | SqlClient.SqlClient

/** A claim of a batch of work of one kind. */
export const claim = (kind: WorkKind) => ({
  kind,
  limit: 32,
  now,
  lease_until: DateTime.add(now, { minutes: 1 }),
  token: Crowd.id("lane", 1)
})

/** Takes the first item of a lane out of the queue. */
const claimFrom = Effect.fnUntraced(function*(kind: WorkKind, lane: string) {
  yield* Lanes.checkNow(kind, lane)
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
  yield* Fixtures.mustCommit(
    Crowd.large,
    Changes.touch({ ...who, at, preview: "Hi", conversation_version: null, last_inbound_at: at })
  )
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
export const writes: Readonly<Record<string, Effect.Effect<unknown, unknown, Services>>> = {
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
    Effect.flatMap(Effect.replicateEffect(Fixtures.newContact, 100), (all) => store.insertNew(Crowd.large, all, []))
  ),
  "a new tag": Tags.use((tags) => tags.create(CreateTag.make({ name: "New", color: "red" }))),
  "an idempotency record": Effect.gen(function*() {
    const idempotency = yield* Idempotency
    const encode = () => Effect.succeed({ status: 200, body: "{}" })
    const input = UpdateContact.make({ city: "Bonn" })
    return yield* idempotency.once(
      { ...Fixtures.keyedRequest, key: IdempotencyKey.make("a-new-key") },
      (record) => Contacts.use((contacts) => contacts.update(contact, input, undefined, { encode, record }))
    )
  }),
  "an assignment of a conversation": Conversations.use((all) =>
    all.assign(conversation, AssignConversation.make({ assigned_user_id: MemberId.make(Crowd.id("member", 2)) }))
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
    Fixtures.mustCommit(
      Crowd.large,
      WebhookDeliveryRows.update({ id: WebhookDeliveryId.make(claimed.ref), version: 1 }, attempted),
      Changes.settle({ claimed, outcome: "finish" })
    )),
  "a failed delivery": Effect.flatMap(claimDelivery, (claimed) =>
    Fixtures.mustCommit(
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
