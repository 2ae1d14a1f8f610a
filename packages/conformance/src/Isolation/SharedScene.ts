/** Two organizations that share every value that a client or a network chooses. */
import { ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import { ChannelAccounts, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { ChannelHoldRows } from "@messaging-crm/core/ChannelHolds"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { Idempotency, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { MediaId } from "@messaging-crm/core/Ids"
import { MediaStore } from "@messaging-crm/core/Media"
import { StorageUseStore } from "@messaging-crm/core/StorageUse"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import { makeScene, phone, type RaceScene } from "../Races/RaceScene.ts"

export const token = Schema.decodeSync(ChannelToken)("token")

/** The idempotency key of a request of both. */
export const shared_key = IdempotencyKey.make("a-shared-key")

const upsert = Schema.decodeSync(UpsertContacts)({
  match: "external_id",
  channel_type: "phone_messaging",
  contacts: [
    { external_id: phone, first_name: "Kim", primary_phone: phone, primary_email: "kim@acme.example" },
    { external_id: "+4915112345678", first_name: "Lee" }
  ]
})

const encode = (value: unknown) => Effect.succeed({ status: 200, body: JSON.stringify(value) })

/** Upserts contacts under an idempotency key, which leaves the records of the request, its parts, and its response. */
const upsertUnderKey = Effect.gen(function*() {
  const upserts = yield* ContactUpserts
  return yield* Idempotency.use((idempotency) =>
    idempotency.once(
      { ...Fixtures.keyedRequest, key: shared_key },
      (record) => upserts.upsertAndRespond(upsert, { encode, record })
    )
  )
})

/** Stores a message with a file, and a file whose message never arrives. */
const storeFiles = Effect.fnUntraced(function*({ channel, conversation, now, organization_id }: RaceScene) {
  const { id, ...file } = yield* Fixtures.file(organization_id)
  const media = { ...file, id, kind: "image", transcript: null } as const
  const on = { channel, contact_id: conversation.contact.id, conversation_id: conversation.id }
  const message = yield* Fixtures.newMessage(on.conversation_id, {
    provider_message_id: "p.file",
    media,
    created_at: now
  })
  yield* Fixtures.mustCommit(organization_id, Fixtures.insertMessage(on, message))
  const unfinished = MediaId.make(yield* Fixtures.uuid)
  yield* MediaStore.use((store) => store.begin(organization_id, unfinished, now))
  return { file: id, unfinished }
})

/** Creates what the scene of races does not need: resources, copies of a person's data, and rows that expire. */
const fill = Effect.fnUntraced(function*(scene: RaceScene) {
  const { ada, channel, conversation, now, organization_id, reports, tags } = scene
  const { api_key, key } = yield* ApiKeys.use(({ create }) =>
    create(CreateApiKey.make({ name: "CI", created_by: ada.id, scopes: ["contacts:read"], expires: "90d" }))
  )
  const field = yield* ContactFields.use(({ create }) =>
    create(CreateContactField.make({ key: "size", name: "Size", type: "text", options: null }))
  )
  // Two channels of a type cannot share an account.
  const account = { app_id: "app", account_id: channel.id, page_id: null }
  yield* ChannelAccounts.use(({ setToken }) => setToken(channel.id, token, Option.some(account)))
  const held = { channel_id: channel.id, reason: "provider_rejected", held_at: now, until: null, level: 0 } as const
  yield* Fixtures.mustCommit(organization_id, ChannelHoldRows.insert(held))
  const full = yield* Webhooks.use(({ create }) =>
    create(CreateWebhook.make({
      url: "https://example.com/full",
      event_types: ["contact.updated", "message.received"],
      include_resource: true
    }))
  )
  yield* Contacts.use(({ update }) =>
    update(
      conversation.contact.id,
      UpdateContact.make({ company: "Acme", custom_values: { [field.id]: "XL" }, tag_ids: tags.map(({ id }) => id) })
    )
  )
  yield* upsertUnderKey
  // The network's message IDs are the same on both channels, also that of a message that never arrives.
  yield* reports.receiveText("m.full", phone, "hello")
  yield* reports.receiveStatus("m.early", "read", null)
  yield* Fixtures.expandEvents
  yield* WebhookReplays.use(({ start }) => start(full.id, ReplayWebhook.make({ since: now })))
  const files = yield* storeFiles(scene)
  const callback = yield* Fixtures.callback(channel.id, [phone.slice(1)])
  const expires_at = DateTime.add(now, { days: 1 })
  yield* StorageUseStore.use((store) => store.add(organization_id, { bytes: 1, expires_at }, now))
  return { ...scene, api_key, key, callback, full, ...files }
}, (effect, { as }) => as(effect))

export type SharedScene = Effect.Success<ReturnType<typeof fill>>

/** How much older the rows of our organization are: more than every age at which a purge deletes them. */
const older = { days: 500 }

/**
 * Makes the organization that runs statements, and one whose rows must not change. The clock stays at the time of ours; at
 * `later`, the rows of ours have expired, and those of theirs are new. `look` runs while there are only the rows of theirs.
 */
export const makeShared = Effect.fnUntraced(function*<A, E, R>(look: Effect.Effect<A, E, R>) {
  const later = Fixtures.noon
  const earlier = DateTime.subtract(later, older)
  yield* TestClock.setTime(later.epochMilliseconds)
  const theirs = yield* Effect.flatMap(makeScene, fill)
  const alone = yield* look
  yield* TestClock.setTime(earlier.epochMilliseconds)
  const ours = yield* Effect.flatMap(makeScene, fill)
  return { alone, ours, theirs, at: { earlier: earlier.epochMilliseconds, later: later.epochMilliseconds } }
})
