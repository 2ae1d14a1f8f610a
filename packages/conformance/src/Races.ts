/**
 * Operations that contend for the same rows: every outcome must be serializable.
 *
 * What operations do concurrently must equal what they do one after the other in some order.
 * The orders are tried one by one on a store, and compared with the concurrent run.
 */
import type { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import { ChannelAccounts, ChannelAccountStore, ChannelToken } from "@messaging-crm/core/ChannelAccounts"
import { AddNote, type Contact, Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { CloseConversation, type Conversation, Conversations } from "@messaging-crm/core/Conversations"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import { Events } from "@messaging-crm/core/Events"
import { Members } from "@messaging-crm/core/Members"
import { Messages } from "@messaging-crm/core/Messages"
import { type Send, Sends, SendStore, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect, Option, Result, Schema } from "effect"
import { newPhone, phone, type Requirements, type Scene } from "./Races/Scene.ts"

export { layer, type Requirements, type Scene, scene } from "./Races/Scene.ts"

const contactAnswer = ({ city, company, notes, owner_user_id, tags }: Contact) => ({
  city,
  company,
  notes,
  owned: owner_user_id !== null,
  tags: tags.map(({ name }) => name)
})

const conversationAnswer = ({ assigned_user_id, close_category, status }: Conversation) => ({
  assigned: assigned_user_id !== null,
  close_category,
  status
})

const sendAnswer = ({ id, status }: Send) => ({ status, send_id: id })

type Operation = (scene: Scene) => Effect.Effect<unknown, { readonly _tag: string }, Requirements | CurrentActor>

const started = (to: string) => ({ channel }: Scene) =>
  Effect.map(
    Sends.use((all) =>
      all.start(StartConversation.make({
        channel_id: channel.id,
        phone: to as Parameters<Sends["Service"]["start"]>[0]["phone"],
        template: {
          id: "greeting",
          components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }]
        }
      }))
    ),
    sendAnswer
  )

const upserted = (input: typeof UpsertContacts.Encoded): Operation => () =>
  Effect.map(
    ContactUpserts.use((all) => all.upsert(Schema.decodeSync(UpsertContacts)(input))),
    (results) => results.map(Result.match({ onFailure: ({ _tag }) => _tag, onSuccess: ({ outcome }) => outcome }))
  )

const token = Schema.decodeSync(ChannelToken)("token")

/** Sets a token together with an account, which is the channel's from then on. */
const tokenOf = (account: string): Operation => ({ channel }) =>
  ChannelAccounts.use((all) =>
    all.setToken(
      channel.id,
      token,
      Option.some({ app_id: "app", account_id: `${channel.id}.${account}`, page_id: null })
    )
  )

/** Reports a message of the business in the network's own app. A network may report a send so, before it answers. */
const fromApp = ({ channel, now, receive }: Scene, provider_message_id: string, text: string) =>
  receive({
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

/** Every kind of write, by its effect on the scene. */
export const operations: Readonly<Record<string, Operation>> = {
  "tag": ({ conversation, tags }) =>
    Effect.map(
      Contacts.use((all) =>
        all.update(conversation.contact.id, UpdateContact.make({ tag_ids: tags.slice(0, 1).map(({ id }) => id) }))
      ),
      contactAnswer
    ),
  "retag": ({ conversation, tags }) =>
    Effect.map(
      Contacts.use((all) =>
        all.update(
          conversation.contact.id,
          UpdateContact.make({ tag_ids: tags.slice(1).map(({ id }) => id), city: "Rome" })
        )
      ),
      contactAnswer
    ),
  "add a tag": ({ conversation, tags }) =>
    Effect.map(
      Contacts.use((all) =>
        all.update(
          conversation.contact.id,
          UpdateContact.make({ add_tag_ids: tags.slice(1).map(({ id }) => id), remove_tag_ids: [] })
        )
      ),
      contactAnswer
    ),
  "remove a tag": ({ conversation, tags }) =>
    Effect.map(
      Contacts.use((all) =>
        all.update(
          conversation.contact.id,
          UpdateContact.make({ remove_tag_ids: tags.slice(0, 1).map(({ id }) => id) })
        )
      ),
      contactAnswer
    ),
  "edit": ({ conversation }) =>
    Effect.map(
      Contacts.use((all) => all.update(conversation.contact.id, UpdateContact.make({ company: "Brick" }))),
      contactAnswer
    ),
  "upsert by number": upserted({
    match: "external_id",
    channel_type: "phone_messaging",
    contacts: [{ external_id: phone, first_name: "Kim", city: "Oslo" }]
  }),
  "upsert by email": upserted({
    match: "primary_email",
    contacts: [{ primary_email: "kim@acme.example", city: "Rome" }]
  }),
  "upsert by the same email": upserted({
    match: "primary_email",
    contacts: [{ primary_email: "KIM@acme.example", company: "Brick" }]
  }),
  "upsert by a new phone": upserted({
    match: "primary_phone",
    contacts: [{ primary_phone: newPhone, city: "Bonn" }]
  }),
  "note": ({ conversation }) =>
    Effect.map(
      Contacts.use((all) => all.addNote(conversation.contact.id, AddNote.make({ text: "called" }))),
      contactAnswer
    ),
  "assign": ({ ada, conversation }) =>
    Effect.map(
      Conversations.use((all) => all.assign(conversation.id, { assigned_user_id: ada.id })),
      conversationAnswer
    ),
  "unassign": ({ conversation }) =>
    Effect.map(
      Conversations.use((all) => all.assign(conversation.id, { assigned_user_id: null })),
      conversationAnswer
    ),
  "close": ({ conversation }) =>
    Effect.map(
      Conversations.use((all) => all.close(conversation.id, CloseConversation.make({ category: "resolved" }))),
      conversationAnswer
    ),
  "reopen": ({ conversation }) =>
    Effect.map(Conversations.use((all) => all.reopen(conversation.id)), conversationAnswer),
  "send": ({ text }) => Effect.map(text("three"), sendAnswer),
  "start": started(phone),
  "start with a new number": started(newPhone),
  "set a token": tokenOf("one"),
  "set another token": tokenOf("two"),
  "create a tag": () =>
    Effect.map(Tags.use((all) => all.create(CreateTag.make({ name: "c", color: "red" }))), ({ name }) => name),
  "create a key": ({ ada }) =>
    Effect.map(
      ApiKeys.use((all) =>
        all.create(CreateApiKey.make({ name: "CI", created_by: ada.id, scopes: ["contacts:read"], expires: "90d" }))
      ),
      ({ api_key }) => api_key.name
    ),
  "change a role": ({ ada }) => Effect.map(Members.use((all) => all.setRole(ada.id, "member")), ({ role }) => role),
  "remove a member": ({ ada }) => Members.use((all) => all.remove(ada.id)),
  "receive": ({ received }) => received("m.2", phone, "hello"),
  "receive from a new number": ({ received }) => received("m.3", newPhone, "hello"),
  "receive an edit": ({ channel, now, receive }) =>
    receive({ event: "message_edited", channel_id: channel.id, provider_message_id: "m.1", text: "hi!", at: now }),
  "receive a deletion": ({ channel, now, receive }) =>
    receive({ event: "message_deleted", channel_id: channel.id, provider_message_id: "m.1", at: now }),
  "receive an early edit": ({ channel, now, receive }) =>
    receive({ event: "message_edited", channel_id: channel.id, provider_message_id: "m.2", text: "hello!", at: now }),
  "delivered": ({ reported }) => reported("p.1", "delivered", null),
  "read": ({ reported }) => reported("p.1", "read", null),
  "change the number": ({ channel, receive }) =>
    receive({
      event: "identity_changed",
      channel_id: channel.id,
      former_external_id: phone,
      now: { external_id: newPhone, display_name: "Kim", username: null }
    }),
  "learn a user ID": ({ channel, receive }) =>
    receive({
      event: "identity_changed",
      channel_id: channel.id,
      former_external_id: "DE.1",
      now: { external_id: phone, aliases: ["DE.2"], display_name: "Kim", username: null }
    }),
  "hear of a message in the business's app": (scene) => fromApp(scene, "p.app", "from the app"),
  "hear of the send as of one in the app": (scene) => fromApp(scene, `p.${scene.queued.id}`, "two"),
  "hear that everything was read": ({ channel, now, receive }) =>
    receive({
      event: "messages_reported",
      channel_id: channel.id,
      external_id: phone,
      status: "read",
      until: DateTime.add(now, { days: 1 }),
      at: now
    }),
  "dispatch": ({ sending }) => Dispatch.use((dispatch) => dispatch.attempt(sending)),
  "expire the lost send": ({ inDoubt }) => Dispatch.use((dispatch) => dispatch.expireOutcome(inDoubt)),
  "hear of the lost send": ({ lost, reported }) => reported(`p.${lost.id}`, "delivered", lost.id),
  "hear that the lost send was read": ({ lost, reported }) => reported(`p.${lost.id}`, "read", lost.id),
  "hear of the send": ({ queued, reported }) => reported(`p.${queued.id}`, "delivered", queued.id),
  "move the webhook": ({ webhook }) =>
    Effect.map(
      Webhooks.use((all) => all.update(webhook.id, UpdateWebhook.make({ url: "https://example.com/other" }))),
      ({ url }) => url
    ),
  "subscribe to less": ({ webhook }) =>
    Effect.map(
      Webhooks.use((all) => all.update(webhook.id, UpdateWebhook.make({ event_types: ["message.sent"] }))),
      ({ event_types }) => event_types
    ),
  "replay to the webhook": ({ now, webhook }) =>
    Effect.map(
      WebhookReplays.use((all) => all.start(webhook.id, ReplayWebhook.make({ since: now }))),
      ({ webhook_id }) => webhook_id === webhook.id
    ),
  "test the webhook": ({ webhook }) =>
    Effect.map(WebhookDeliveries.use((all) => all.test(webhook.id)), ({ status }) => status),
  "rotate the secret": ({ webhook }) =>
    Effect.map(Webhooks.use((all) => all.rotateSecret(webhook.id)), ({ signing_secret }) => signing_secret.length),
  "disable the webhook": ({ webhook }) =>
    Effect.map(Webhooks.use((all) => all.disable(webhook.id)), ({ status }) => status),
  "attempt the delivery": ({ open }) => WebhookDeliveries.use((all) => all.attempt({ claimed: open, outgoing: null })),
  "retry the delivery": ({ done, webhook }) =>
    Effect.map(
      WebhookDeliveries.use((all) =>
        all.retry(webhook.id, done.ref as Parameters<WebhookDeliveries["Service"]["retry"]>[1])
      ),
      ({ status }) => status
    )
}

/** Returns an operation's result, or the tag of its error. */
export const outcomeOf = (name: string, scene: Scene): Effect.Effect<unknown, never, Requirements> =>
  scene.as(Effect.match(operations[name]?.(scene) ?? Effect.die(new Error(`There is no operation ${name}.`)), {
    onFailure: ({ _tag }) => _tag,
    onSuccess: (answer) => answer ?? null
  }))

const byText = (values: ReadonlyArray<unknown>) => values.map((value) => JSON.stringify(value)).toSorted()

/** Returns everything that callers can see of the scene, without ids and times. */
export const observe = Effect.fnUntraced(function*(scene: Scene, answers: ReadonlyArray<unknown>) {
  const { as, channel, lost, organization_id, queued, webhook } = scene
  return yield* as(Effect.gen(function*() {
    const every = { cursor: null, page_size: 100 }
    const contacts = yield* Contacts.use((all) => all.list(every))
    const conversations = yield* Conversations.use((all) => all.list(every))
    const threads = yield* Effect.forEach(
      conversations.data,
      (conversation) =>
        Effect.map(Messages.use((all) => all.list(conversation.id, null)), ({ data }) => ({
          ...conversationAnswer(conversation),
          with: conversation.contact.external_id,
          preview: conversation.last_activity_preview,
          messages: byText(data.map(({ deleted_at, direction, edited_at, status, text }) => ({
            direction,
            status,
            text,
            edited: edited_at !== null,
            deleted: deleted_at !== null
          })))
        }))
    )
    const webhooks = yield* Webhooks.use((all) => all.list({ status: null }))
    const isActive = webhooks.some(({ id, status }) => id === webhook.id && status === "active")
    const deliveries = yield* WebhookDeliveries.use((all) => all.list(webhook.id))
    const events = yield* Events.use((all) => all.list({ type: null, since: null, ...every }))
    const account = yield* ChannelAccountStore.use((store) => store.find(organization_id, channel.id))
    const sends = yield* Effect.forEach(
      [queued, lost],
      ({ id }) =>
        SendStore.use((store) => Effect.orDie(Effect.flatMap(store.find(organization_id, id), Effect.fromOption)))
    )
    return {
      answers: answers.map((answer) => JSON.stringify(answer, (key, value) => key === "send_id" ? "*" : value)),
      contacts: byText(contacts.data.map((contact) => ({
        ...contactAnswer(contact),
        phone: contact.primary_phone,
        preview: contact.last_activity_preview,
        identities: contact.identities.map(({ display_name, external_id }) => [external_id, display_name])
      }))),
      threads: byText(threads),
      account: Option.getOrNull(Option.map(account, ({ account_id }) => account_id.slice(channel.id.length))),
      tags: (yield* Tags.use((all) => all.list)).map(({ name }) => name),
      members: byText((yield* Members.use((all) => all.list)).map(({ name, role }) => ({ name, role }))),
      keys: (yield* ApiKeys.use((all) => all.list)).map(({ revoked_at }) => revoked_at === null ? "valid" : "revoked"),
      webhooks: byText(webhooks.map(({ event_types, status, url }) => ({ event_types, status, url }))),
      events: byText(events.data.map(({ type }) => type)),
      // A delivery of a webhook that was disabled meanwhile ends when a worker claims it.
      deliveries: byText(
        deliveries.map(({ attempt_count, event_type, failure_code, status }) =>
          status === "pending" && !isActive
            ? { event_type, status: "failed", failure_code: "webhook_disabled", attempt_count }
            : { event_type, status, failure_code, attempt_count }
        )
      ),
      sends: sends.map(({ failure_reason, message_id, status }) => [status, failure_reason, message_id !== null])
    }
  }))
})

/** Returns every permutation of the items. */
const ordersOf = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  items.length === 0
    ? [[]]
    : items.flatMap((item, index) => ordersOf(items.toSpliced(index, 1)).map((rest) => [item, ...rest]))

/** Returns the outcome of operations that run one after the other, in the order of these indexes. */
const inOrder = Effect.fnUntraced(function*<E, R>(
  begin: Effect.Effect<Scene, E, R>,
  names: ReadonlyArray<string>,
  order: ReadonlyArray<number>
) {
  const set = yield* begin
  const answers: Array<unknown> = []
  for (const index of order) answers[index] = yield* outcomeOf(names[index] ?? "", set)
  return JSON.stringify(yield* observe(set, answers))
})

/** The outcomes of orders, computed when first needed. */
const known = new Map<string, Array<string>>()

/**
 * Returns null when some order has the same outcome as the concurrent run, else the outcome of every order. Each order begins
 * with the scene that `begin` returns.
 */
export const unlessSerial = Effect.fnUntraced(function*<E, R>(
  begin: Effect.Effect<Scene, E, R>,
  names: ReadonlyArray<string>,
  outcome: string
) {
  const key = names.join("|")
  const outcomes = known.get(key) ?? []
  known.set(key, outcomes)
  if (outcomes.includes(outcome)) return null
  for (const order of ordersOf(names.map((_, index) => index)).slice(outcomes.length)) {
    const ended = yield* inOrder(begin, names, order)
    outcomes.push(ended)
    if (ended === outcome) return null
  }
  return outcomes
})
