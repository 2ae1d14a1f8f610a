/** Events with the message, conversation or contact in `data`, for webhooks that request it. */
import { assert, it } from "@effect/vitest"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { AssignConversation, CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { type Event, EventType } from "@messaging-crm/core/Events"
import { type ConversationId, MessageId } from "@messaging-crm/core/Ids"
import { Messages } from "@messaging-crm/core/Messages"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import type { WebhookRequest } from "@messaging-crm/core/WebhookTransport"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { ok } from "../Endpoints.ts"
import * as Fixtures from "../Fixtures.ts"
import * as Scene from "./JourneyScene.ts"
import type { Storage } from "./JourneyScene.ts"
import { makeWebhookScene } from "./WebhookScene.ts"

const { work } = Scene

/** Returns a value as JSON has it. */
const json = (value: unknown) => JSON.parse(JSON.stringify(value))

/** The fields that a message changes without an event of its conversation or contact. */
const activity = new Set([
  "last_activity_at",
  "last_activity_preview",
  "last_conversation_id",
  "updated_at"
])
const withoutActivity = (resource: object) =>
  Object.fromEntries(Object.entries(resource).filter(([name]) => !activity.has(name)))

const dataOf = ({ body }: WebhookRequest) => JSON.parse(body).data

/** A scene whose every event is posted to a webhook that requests resources, and to one that does not. */
const makeResourceScene = Effect.gen(function*() {
  const scene = yield* makeWebhookScene
  const types = [EventType.literals.slice(0, 5), EventType.literals.slice(5)]
  const full = yield* Effect.forEach(
    types,
    (event_types) => scene.subscribeWith({ event_types, include_resource: true })
  )
  const bare = yield* Effect.forEach(types, (event_types) => scene.subscribeWith({ event_types }))
  const requestsTo = (webhooks: typeof full) =>
    Effect.map(Effect.forEach(webhooks, ({ posted }) => posted), (requests) => requests.flat())
  /** Returns `data` of the last event of a type, once it is posted. */
  const last = Effect.fnUntraced(function*(type: Event["type"]) {
    yield* work
    const request = (yield* requestsTo(full)).findLast(({ body }) => JSON.parse(body).type === type)
    return request === undefined ? assert.fail(`There is no ${type}.`) : dataOf(request)
  })
  return { ...scene, bare: requestsTo(bare), last }
})

/** Returns the resources of a conversation as callers read them, and the contact's ID. */
const resourcesOf = Effect.fnUntraced(
  function*({ as }: Pick<Effect.Success<typeof makeResourceScene>, "as">, conversation_id: ConversationId) {
    const conversation = as(Conversations.use((conversations) => conversations.get(conversation_id)))
    const { contact: { id: contact_id } } = yield* conversation
    return {
      contact_id,
      contact: Effect.map(as(Contacts.use((contacts) => contacts.get(contact_id))), json),
      conversation: Effect.map(conversation, json),
      message: (id: string) =>
        Effect.map(as(Messages.use((messages) => messages.get(conversation_id, MessageId.make(id)))), json)
    }
  }
)

const currentResources = (it: Scene.It) => {
  it.effect("is what callers read after the change, only for webhooks that request it", () =>
    Effect.gen(function*() {
      const scene = yield* makeResourceScene
      const { as, bare, last, organization_id, receiveMessage, receiveStatus, start } = scene
      const media = { kind: "image", mime_type: "image/png", filename: "a.png", transcript: null } as const
      yield* receiveMessage("m.1", { type: "image", text: "Look", media: { ...media, bytes: Uint8Array.of(1, 2) } })
      const opened = yield* last("conversation.opened")
      const { conversation_id } = opened
      const { contact, contact_id, conversation, message } = yield* resourcesOf(scene, conversation_id)
      assert.deepStrictEqual(withoutActivity(opened.conversation), withoutActivity(yield* conversation))
      assert.deepStrictEqual(withoutActivity((yield* last("contact.created")).contact), withoutActivity(yield* contact))
      const inbound = yield* last("message.received")
      const { media: file, ...rest } = yield* message(inbound.message_id)
      const { url, ...unlinked } = file
      assert.isString(url)
      assert.deepStrictEqual(inbound.message, { ...rest, media: unlinked })

      const { id } = yield* start()
      const sent = yield* last("message.sent")
      assert.deepStrictEqual(sent.message, yield* message(sent.message_id))
      yield* receiveStatus(id, { status: "read", at: yield* DateTime.now })
      const updated = yield* last("message.updated")
      assert.strictEqual(updated.message.delivered_at, updated.message.read_at)
      assert.deepStrictEqual(updated.message, yield* message(updated.message_id))

      yield* as(
        Contacts.use((contacts) => contacts.update(contact_id, UpdateContact.make({ first_name: "Kimberley" })))
      )
      assert.deepStrictEqual((yield* last("contact.updated")).contact, yield* contact)
      const { id: assigned_user_id } = yield* Fixtures.member(organization_id)
      const assign = AssignConversation.make({ assigned_user_id })
      yield* as(Conversations.use((conversations) => conversations.assign(conversation_id, assign)))
      assert.deepStrictEqual((yield* last("conversation.assigned")).conversation, yield* conversation)
      assert.deepStrictEqual((yield* last("contact.updated")).contact, yield* contact)
      yield* as(
        Conversations.use((conversations) =>
          conversations.close(conversation_id, CloseConversation.make({ category: "x" }))
        )
      )
      assert.deepStrictEqual((yield* last("conversation.closed")).conversation, yield* conversation)
      yield* as(Conversations.use((conversations) => conversations.reopen(conversation_id)))
      const reopened = yield* last("conversation.opened")
      assert.deepStrictEqual(reopened.conversation, yield* conversation)
      assert.strictEqual(reopened.conversation.contact.display_name, "Kimberley")
      for (const request of yield* bare) {
        for (const name of ["contact", "conversation", "message"]) assert.notProperty(dataOf(request), name)
      }
    }).pipe(Effect.orDie))
}

const replyWindows = (it: Scene.It) => {
  it.effect("has the reply window of the contact's message that opens or reopens the conversation", () =>
    Effect.gen(function*() {
      const scene = yield* makeResourceScene
      const { as, last, receiveText } = scene
      for (const id of ["m.1", "m.2"]) {
        yield* TestClock.adjust("1 hours")
        yield* receiveText(id, "Hello")
        const { conversation: opened, conversation_id } = yield* last("conversation.opened")
        const { conversation } = yield* resourcesOf(scene, conversation_id)
        const { reply_window_expires_at } = yield* conversation
        const expected = DateTime.add(yield* DateTime.now, { hours: 24 })
        assert.deepStrictEqual(
          [opened.reply_window_expires_at, reply_window_expires_at],
          Array<string>(2).fill(DateTime.formatIso(expected))
        )
        yield* as(
          Conversations.use((conversations) => conversations.close(conversation_id, CloseConversation.make({})))
        )
      }
    }).pipe(Effect.orDie))
}

const erasedResources = (it: Scene.It) => {
  it.effect("is not stored in the response of an endpoint that repeats it while the person's data is erased", () =>
    Effect.gen(function*() {
      const { as, receiveText, subscribeWith } = yield* makeWebhookScene
      const contacts = yield* Contacts
      const data = yield* PersonalData
      const eraseAll = Effect.gen(function*() {
        const { data: page } = yield* contacts.list({ cursor: null, page_size: 9 })
        yield* Effect.forEach(page, ({ id }) => data.erase(id))
      }).pipe(Effect.orDie, as)
      const erased = yield* subscribeWith({ event_types: ["message.received"], include_resource: true })
      for (const status of [200, 500]) {
        yield* erased.respond(({ body }) => Effect.as(eraseAll, { ...ok, status, body }))
        yield* receiveText(`m.${status}`, "my secret")
        yield* work
      }
      const responses = (yield* erased.deliveries).map(({ response_body, status }) => [status, response_body])
      assert.include(JSON.stringify(yield* erased.posted), "my secret")
      assert.notInclude(JSON.stringify(responses), "secret")
    }).pipe(Effect.orDie))

  it.effect("is in no event or endpoint's response once the person's data is erased, and stays of another person", () =>
    Effect.gen(function*() {
      const { as, channel, number, organization_id, receive, receiveText, subscribeWith } = yield* makeWebhookScene
      const event_types = ["message.received", "conversation.opened", "contact.created"] as const
      const webhook = yield* subscribeWith({ event_types, include_resource: true })
      yield* webhook.respond(({ body }) => Effect.succeed({ ...ok, body }))
      yield* receiveText("m.1", "my secret")
      const other = { external_id: "+4930123456", display_name: "Lee", username: null }
      const sent_at = yield* DateTime.now
      yield* receive(
        Fixtures.messageReceived({ channel_id: channel.id, provider_message_id: "m.2", from: other, sent_at })
      )
      yield* work
      const copies = Effect.gen(function*() {
        const events = yield* Effect.forEach(event_types, (type) => Fixtures.storedEvents(organization_id, type))
        const responses = yield* webhook.deliveries
        return [
          ...events.flat().map(({ full_body }) => full_body),
          ...responses.map(({ response_body }) => response_body)
        ]
      })
      const before = yield* copies
      const { data: contacts } = yield* as(
        Contacts.use(({ list }) => list({ cursor: null, page_size: 9, phone: number }))
      )
      for (const { id } of contacts) yield* as(PersonalData.use((data) => data.erase(id)))
      const after = yield* copies
      assert.lengthOf(before, 12)
      assert.deepStrictEqual(after, before.map((copy) => copy?.includes("Lee") === true ? copy : null))
      assert.lengthOf(after.filter((copy) => copy !== null), 6)
    }).pipe(Effect.orDie))
}

const repeatedPosts = (it: Scene.It) => {
  it.effect("is posted unchanged by retries and replays, while the webhook requests it", () =>
    Effect.gen(function*() {
      const { as, close, subscribe, subscribeWith } = yield* makeWebhookScene
      const since = yield* DateTime.now
      const late = yield* subscribe("conversation.closed")
      yield* close()
      yield* TestClock.adjust("1 seconds")
      const webhook = yield* subscribeWith({ event_types: ["conversation.closed"], include_resource: true })
      const conversation_id = yield* close()
      yield* work
      yield* TestClock.adjust("1 seconds")
      yield* as(Conversations.use((conversations) => conversations.reopen(conversation_id)))
      const update = (id: typeof webhook.id, include_resource: boolean) =>
        as(Webhooks.use((webhooks) => webhooks.update(id, UpdateWebhook.make({ include_resource }))))
      const replayed = Effect.fnUntraced(function*({ id, posted }: typeof webhook) {
        const before = (yield* posted).length
        yield* as(WebhookReplays.use((replays) => replays.start(id, ReplayWebhook.make({ since }))))
        yield* work
        return (yield* posted).slice(before).map((request) => dataOf(request).conversation?.status)
      })
      assert.deepStrictEqual(yield* replayed(webhook), [undefined, "closed"])
      assert.deepStrictEqual(yield* replayed(late), [undefined, undefined])
      assert.isTrue((yield* update(late.id, true)).include_resource)
      assert.deepStrictEqual(yield* replayed(late), [undefined, "closed"])
      assert.isFalse((yield* update(webhook.id, false)).include_resource)
      assert.deepStrictEqual(yield* replayed(webhook), [undefined, undefined])
    }).pipe(Effect.orDie))
}

export const journeyTests = (storage: Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("the resource of an event", (it) => {
    currentResources(it)
    replyWindows(it)
    erasedResources(it)
    repeatedPosts(it)
  })
}
