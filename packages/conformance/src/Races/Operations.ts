/**
 * The operations that race, by their effect on the scene.
 *
 * They are not all operations: one that only creates rows, or that no other operation contends with, is not here.
 * `audited` in `Isolation/Writes.ts` has every write.
 */
import type { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import { ChannelAccounts, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { ContactImports } from "@messaging-crm/core/ContactImports"
import { AddNote, type Contact, Contacts, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import {
  AssignConversation,
  CloseConversation,
  type Conversation,
  Conversations
} from "@messaging-crm/core/Conversations"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import { type EncodedResponse, Idempotency, IdempotencyKey, type Respond } from "@messaging-crm/core/Idempotency"
import { WebhookDeliveryId } from "@messaging-crm/core/Ids"
import { Members } from "@messaging-crm/core/Members"
import { MemberSessions } from "@messaging-crm/core/MemberSessions"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { Phone } from "@messaging-crm/core/Phones"
import { type Send, Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookDispatch } from "@messaging-crm/core/WebhookDispatch"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect, Option, Result, Schema } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { greetingWith } from "../Provider.ts"
import { newPhone, phone, type RaceScene, type Requirements, respelled } from "./RaceScene.ts"

export const contactResult = ({ city, company, notes, owner_user_id, tags }: Contact) => ({
  city,
  company,
  notes,
  owned: owner_user_id !== null,
  tags: tags.map(({ name }) => name)
})

export const conversationResult = ({ assigned_user_id, close_category, status }: Conversation) => ({
  assigned: assigned_user_id !== null,
  close_category,
  status
})

const sendResult = ({ id, status }: Send) => ({ status, send_id: id })

/** An operation of a race. Its effect fails only with tagged errors. */
export type Operation = (
  scene: RaceScene
) => Effect.Effect<unknown, { readonly _tag: string }, Requirements | CurrentActor>

const start = (to: string) => ({ channel }: RaceScene) =>
  Effect.map(
    Sends.use(({ start }) =>
      start(StartConversation.make({
        channel_id: channel.id,
        phone: Phone.make(to),
        template: greetingWith()
      }))
    ),
    sendResult
  )

/** Updates the contact of the conversation. */
const updateContact = (inputOf: (scene: RaceScene) => UpdateContact): Operation => (scene) =>
  Effect.map(Contacts.use(({ update }) => update(scene.conversation.contact.id, inputOf(scene))), contactResult)

const upsert = (input: typeof UpsertContacts.Encoded): Operation => () =>
  Effect.map(
    ContactUpserts.use(({ upsert }) => upsert(Schema.decodeSync(UpsertContacts)(input))),
    (results) => results.map(Result.match({ onFailure: ({ _tag }) => _tag, onSuccess: ({ outcome }) => outcome }))
  )

const token = Schema.decodeSync(ChannelToken)("token")

/** Sets a token together with an account, which is the channel's from then on. */
const setToken = (account: string): Operation => ({ channel }) =>
  ChannelAccounts.use(({ setToken }) =>
    setToken(
      channel.id,
      token,
      Option.some({ app_id: "app", account_id: `${channel.id}.${account}`, page_id: null })
    )
  )

/**
 * Reports a message that the business sent in the network's own app. A network may report a send of this service in the same
 * way, before it responds to the send.
 */
const receiveFromApp = ({ channel, now, reports }: RaceScene, provider_message_id: string, text: string) =>
  reports.receive({
    event: "message_sent",
    channel_id: channel.id,
    provider_message_id,
    to: { external_id: phone, display_name: null, username: null },
    type: "text",
    text,
    media: null,
    details: null,
    sent_at: now
  })

/** Runs a write as a request with an idempotency key does. */
const underKey = <E extends { readonly _tag: string }, R>(
  key: IdempotencyKey,
  run: (respond: Respond<unknown, EncodedResponse>) => Effect.Effect<EncodedResponse, E, R>
) =>
  Effect.map(
    Idempotency.use((idempotency) =>
      idempotency.once(
        { ...Fixtures.keyedRequest, key },
        (record) => run({ record, encode: () => Effect.succeed({ status: 201, body: "1" }) })
      )
    ),
    ({ replayed, status }) => ({ replayed, status })
  )

/** The writes of one commit that contend for rows, by their effect on the scene. */
export const operations = {
  "replace the tags": updateContact(({ tags }) =>
    UpdateContact.make({ tag_ids: tags.slice(0, 1).map(({ id }) => id) })
  ),
  "replace the tags and the city": updateContact(({ tags }) =>
    UpdateContact.make({ tag_ids: tags.slice(1).map(({ id }) => id), city: "Rome" })
  ),
  "add a tag": updateContact(({ tags }) =>
    UpdateContact.make({ add_tag_ids: tags.slice(1).map(({ id }) => id), remove_tag_ids: [] })
  ),
  "remove a tag": updateContact(({ tags }) =>
    UpdateContact.make({ remove_tag_ids: tags.slice(0, 1).map(({ id }) => id) })
  ),
  "edit the contact": updateContact(() => UpdateContact.make({ company: "Brick" })),
  "edit the contact unless it has a city": ({ conversation }) =>
    Effect.map(
      Contacts.use(({ update }) =>
        update(
          conversation.contact.id,
          UpdateContact.make({ city: "Kiel" }),
          ({ city }) => Effect.succeed(city === null)
        )
      ),
      contactResult
    ),
  "upsert by number": upsert({
    match: "external_id",
    channel_type: "phone_messaging",
    contacts: [{ external_id: respelled.phone, first_name: "Kim", city: "Oslo" }]
  }),
  "upsert by email": upsert({
    match: "primary_email",
    contacts: [{ primary_email: "kim@acme.example", city: "Rome" }]
  }),
  "upsert by the same email": upsert({
    match: "primary_email",
    contacts: [{ primary_email: "KIM@acme.example", company: "Brick" }]
  }),
  "upsert by a new phone": upsert({
    match: "primary_phone",
    contacts: [{ primary_phone: respelled.newPhone, city: "Bonn" }]
  }),
  "add a note": ({ conversation }) =>
    Effect.map(
      Contacts.use(({ addNote }) => addNote(conversation.contact.id, AddNote.make({ text: "called" }))),
      contactResult
    ),
  "add a note under a key": ({ conversation }) =>
    underKey(
      IdempotencyKey.make("the-key-of-a-note"),
      (respond) =>
        Contacts.use(({ addNote }) =>
          addNote(conversation.contact.id, AddNote.make({ text: "called" }), undefined, respond)
        )
    ),
  "upsert by number under a key": () =>
    underKey(
      IdempotencyKey.make("the-key-of-an-upsert"),
      (respond) =>
        ContactUpserts.use(({ upsertAndRespond }) =>
          upsertAndRespond(
            Schema.decodeSync(UpsertContacts)({
              match: "external_id",
              channel_type: "phone_messaging",
              contacts: [{ external_id: respelled.phone, city: "Oslo" }]
            }),
            respond
          )
        )
    ),
  "import a line": () =>
    Effect.map(
      ContactImports.use(({ add }) => add([CreateContact.make({ first_name: "Kim", city: "Bern" })])),
      (results) => results.map(Result.match({ onFailure: ({ _tag }) => _tag, onSuccess: (outcome) => outcome }))
    ),
  "assign": ({ ada, conversation }) =>
    Effect.map(
      Conversations.use(({ assign }) => assign(conversation.id, AssignConversation.make({ assigned_user_id: ada.id }))),
      conversationResult
    ),
  "unassign": ({ conversation }) =>
    Effect.map(
      Conversations.use(({ assign }) => assign(conversation.id, AssignConversation.make({ assigned_user_id: null }))),
      conversationResult
    ),
  "close": ({ conversation }) =>
    Effect.map(
      Conversations.use(({ close }) => close(conversation.id, CloseConversation.make({ category: "resolved" }))),
      conversationResult
    ),
  "reopen": ({ conversation }) =>
    Effect.map(Conversations.use(({ reopen }) => reopen(conversation.id)), conversationResult),
  "send": ({ sendText }) => Effect.map(sendText("three"), sendResult),
  "start": start(respelled.phone),
  "start with a new number": start(newPhone),
  "set a token": setToken("one"),
  "set another token": setToken("two"),
  "create a tag": () =>
    Effect.map(Tags.use(({ create }) => create(CreateTag.make({ name: "c", color: "red" }))), ({ name }) => name),
  "create a key": ({ ada }) =>
    Effect.map(
      ApiKeys.use(({ create }) =>
        create(CreateApiKey.make({ name: "CI", created_by: ada.id, scopes: ["contacts:read"], expires: "90d" }))
      ),
      ({ api_key }) => api_key.name
    ),
  "change a role": ({ ada }) => Effect.map(Members.use(({ setRole }) => setRole(ada.id, "member")), ({ role }) => role),
  "log a member out": ({ ada }) => MemberSessions.use(({ end }) => end(ada.id)),
  "remove a member": ({ ada }) => Members.use(({ remove }) => remove(ada.id)),
  "receive": ({ reports }) => reports.receiveText("m.2", phone, "hello"),
  "receive from a new number": ({ reports }) => reports.receiveText("m.3", respelled.newPhone, "hello"),
  "receive an edit": ({ channel, now, reports }) =>
    reports.receive({
      event: "message_edited",
      channel_id: channel.id,
      provider_message_id: "m.1",
      text: "hi!",
      at: now
    }),
  "receive a deletion": ({ channel, now, reports }) =>
    reports.receive({ event: "message_deleted", channel_id: channel.id, provider_message_id: "m.1", at: now }),
  "receive an early edit": ({ channel, now, reports }) =>
    reports.receive({
      event: "message_edited",
      channel_id: channel.id,
      provider_message_id: "m.2",
      text: "hello!",
      at: now
    }),
  "receive a delivered status": ({ reports }) => reports.receiveStatus("p.1", "delivered", null),
  "receive a read status": ({ reports }) => reports.receiveStatus("p.1", "read", null),
  "change the number": ({ channel, reports }) =>
    reports.receive({
      event: "identity_changed",
      channel_id: channel.id,
      former_external_id: phone,
      now: { external_id: newPhone, display_name: "Kim", username: null }
    }),
  "stop marketing": ({ channel, now, reports }) =>
    reports.receive({
      event: "marketing_preference_reported",
      channel_id: channel.id,
      person: { external_id: phone, display_name: null, username: null },
      preference: "stop",
      at: now
    }),
  "learn a user ID": ({ channel, reports }) =>
    reports.receive({
      event: "identity_changed",
      channel_id: channel.id,
      former_external_id: "DE.1",
      now: { external_id: phone, aliases: ["DE.2"], display_name: "Kim", username: null }
    }),
  "receive a message from the business's app": (scene) => receiveFromApp(scene, "p.app", "from the app"),
  "receive the send as a message from the app": (scene) => receiveFromApp(scene, `p.${scene.sends.queued.id}`, "two"),
  "receive a report that everything was read": ({ channel, now, reports }) =>
    reports.receive({
      event: "messages_reported",
      channel_id: channel.id,
      external_id: phone,
      status: "read",
      until: DateTime.add(now, { days: 1 }),
      at: now
    }),
  "dispatch": ({ claims }) => Dispatch.use(({ attempt }) => attempt(claims.queuedSend)),
  "expire the lost send": ({ claims }) => Dispatch.use(({ expireOutcome }) => expireOutcome(claims.lostSend)),
  "receive the status of the lost send": ({ reports, sends }) =>
    reports.receiveStatus(`p.${sends.lost.id}`, "delivered", sends.lost.id),
  "receive a read status of the lost send": ({ reports, sends }) =>
    reports.receiveStatus(`p.${sends.lost.id}`, "read", sends.lost.id),
  "receive the status of the send": ({ reports, sends }) =>
    reports.receiveStatus(`p.${sends.queued.id}`, "delivered", sends.queued.id),
  "move the webhook": ({ webhook }) =>
    Effect.map(
      Webhooks.use(({ update }) => update(webhook.id, UpdateWebhook.make({ url: "https://example.com/other" }))),
      ({ url }) => url
    ),
  "subscribe to less": ({ webhook }) =>
    Effect.map(
      Webhooks.use(({ update }) => update(webhook.id, UpdateWebhook.make({ event_types: ["message.sent"] }))),
      ({ event_types }) => event_types
    ),
  "replay to the webhook": ({ now, webhook }) =>
    Effect.map(
      WebhookReplays.use(({ start }) => start(webhook.id, ReplayWebhook.make({ since: now }))),
      ({ webhook_id }) => webhook_id === webhook.id
    ),
  "test the webhook": ({ webhook }) =>
    Effect.map(WebhookDeliveries.use(({ test }) => test(webhook.id)), ({ status }) => status),
  "rotate the secret": ({ webhook }) =>
    Effect.map(
      Webhooks.use(({ rotateSecret }) => rotateSecret(webhook.id)),
      ({ signing_secret }) => signing_secret.length
    ),
  "disable the webhook": ({ webhook }) =>
    Effect.map(Webhooks.use(({ disable }) => disable(webhook.id)), ({ status }) => status),
  "attempt the delivery": ({ claims }) =>
    WebhookDispatch.use(({ attempt }) => attempt({ claimed: claims.openDelivery, outgoing: null })),
  "retry the delivery": ({ claims, webhook }) =>
    Effect.map(
      WebhookDeliveries.use(({ retry }) => retry(webhook.id, WebhookDeliveryId.make(claims.doneDelivery.ref))),
      ({ status }) => status
    ),
  "retry the waiting delivery": ({ waitingDelivery, webhook }) =>
    Effect.map(WebhookDeliveries.use(({ retry }) => retry(webhook.id, waitingDelivery.id)), ({ status }) => status)
} satisfies Readonly<Record<string, Operation>>

/** Operations of several commits. Another operation can commit between them, and then raise an event that it raises in no sequential order. */
export const stepwise = {
  "erase": ({ conversation }) => PersonalData.use(({ erase }) => erase(conversation.contact.id))
} satisfies Readonly<Record<string, Operation>>
