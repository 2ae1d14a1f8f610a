/** Every write that an API key may run, under an idempotency key: a retry gets the first response, whatever happened since. */
import { assert } from "@effect/vitest"
import type { CurrentActor } from "@messaging-crm/core/Actor"
import { AddNote, Contacts, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { AssignConversation, CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { Events } from "@messaging-crm/core/Events"
import { type EncodedResponse, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import type { KeyedWrite } from "@messaging-crm/core/Operations"
import { SendMessage, Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { CreateWebhook, UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Worker } from "@messaging-crm/core/Worker"
import { DateTime, Effect, Schema, Struct } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../../Fixtures.ts"
import * as Provider from "../../Provider.ts"
import * as Scene from "../JourneyScene.ts"
import { type Encoded, request } from "./RequestScene.ts"

const url = "https://shop.example/crm"
const every = { cursor: null, page_size: 100 }

const makeServices = Effect.all({
  contacts: Contacts,
  conversations: Conversations,
  deliveries: WebhookDeliveries,
  events: Events,
  replays: WebhookReplays,
  sends: Sends,
  tags: Tags,
  upserts: ContactUpserts,
  webhooks: Webhooks
})

/** An organization with an open and a closed conversation, an active and a disabled webhook, and a pending delivery. */
const makeScene = Effect.gen(function*() {
  const { as, channel, number, organization_id, receiveText } = yield* Scene.makeScene
  const services = yield* makeServices
  const { contacts, conversations, deliveries, webhooks } = services
  const email = `kim@${organization_id}.example`

  yield* receiveText(`m.${number}`, "Hello?")
  const [open = assert.fail("There is no conversation.")] = (yield* as(conversations.list(every))).data
  const closed = (yield* Fixtures.thread(organization_id)).conversation_id
  yield* as(conversations.close(closed, CloseConversation.make({})))
  const subscription = CreateWebhook.make({ url, event_types: ["contact.updated"] })
  const active = yield* as(webhooks.create(subscription))
  const disabled = yield* as(webhooks.create(subscription))
  yield* as(webhooks.disable(disabled.id))
  yield* as(contacts.update(open.contact.id, UpdateContact.make({ primary_email: email, company: "Brick" })))
  yield* Fixtures.expandEvents
  const [delivery = assert.fail("There is no delivery.")] = yield* as(deliveries.list(active.id))
  const { id: assignee } = yield* Fixtures.member(organization_id)
  const work = Effect.provideService(Scene.work, Worker, yield* Worker)
  const now = yield* DateTime.now
  return { active, as, assignee, channel, closed, delivery, disabled, email, now, number, open, services, work }
})

type WriteScene = Effect.Success<typeof makeScene>

/** Returns what callers see of the organization. */
const everythingOf = ({ active, as, services }: WriteScene) =>
  as(Effect.all([
    services.contacts.list(every),
    services.conversations.list(every),
    services.webhooks.list({ status: null }),
    services.deliveries.list(active.id),
    services.events.list(every),
    services.sends.list(every),
    services.tags.list
  ]))

/** Changes everything that a response of the writes can show. */
const changeEverything = ({ active, as, assignee, closed, open, services, work }: WriteScene) => {
  const { contacts, conversations, tags, webhooks } = services
  return Effect.gen(function*() {
    yield* TestClock.adjust("1 minute")
    yield* contacts.update(open.contact.id, UpdateContact.make({ first_name: "Eve", company: "Acme" }))
    yield* conversations.reopen(closed)
    yield* conversations.close(open.id, CloseConversation.make({ category: "spam" }))
    yield* conversations.assign(open.id, AssignConversation.make({ assigned_user_id: assignee }))
    // One of the writes disables it.
    yield* Effect.catchTag(
      webhooks.update(active.id, UpdateWebhook.make({ url: `${url}/2` })),
      "WebhookDisabled",
      () => Effect.void
    )
    yield* tags.create(CreateTag.make({ name: "later", color: "blue" }))
    yield* work
  }).pipe(as)
}

/** A write as a request runs it. */
type WriteOf = (
  scene: WriteScene
) => (respond: Encoded) => Effect.Effect<EncodedResponse, { readonly _tag: string }, CurrentActor>

interface Writes {
  readonly changing: WriteOf
  /** A request that changes nothing; null for an operation that always changes something. */
  readonly unchanging: WriteOf | null
}

const upsertOf = (primary_email: string): WriteOf => ({ services: { upserts } }) => ({ encode, record }) =>
  upserts.upsertAndRespond(
    Schema.decodeSync(UpsertContacts)({ match: "primary_email", contacts: [{ primary_email, company: "Brick" }] }),
    { encode, record }
  )

/** Every write. A new one does not compile until it is here. */
const writes: Readonly<Record<KeyedWrite, Writes>> = {
  "contacts.add_note": {
    changing: ({ open, services: { contacts } }) => (respond) =>
      contacts.addNote(open.contact.id, AddNote.make({ text: "Called" }), undefined, respond),
    unchanging: null
  },
  "contacts.create": {
    changing: ({ services: { contacts } }) => (respond) =>
      contacts.create(CreateContact.make({ first_name: "Lee" }), respond),
    unchanging: null
  },
  "contacts.update": {
    changing: ({ open, services: { contacts } }) => (respond) =>
      contacts.update(open.contact.id, UpdateContact.make({ first_name: "Kim" }), undefined, respond),
    unchanging: ({ open, services: { contacts } }) => (respond) =>
      contacts.update(open.contact.id, UpdateContact.make({}), undefined, respond)
  },
  "contacts.upsert": {
    changing: upsertOf("lee@acme.example"),
    unchanging: (scene) => upsertOf(scene.email)(scene)
  },
  "conversations.assign": {
    changing: ({ assignee, closed, services: { conversations } }) => (respond) =>
      conversations.assign(closed, AssignConversation.make({ assigned_user_id: assignee }), respond),
    unchanging: ({ open, services: { conversations } }) => (respond) =>
      conversations.assign(open.id, AssignConversation.make({ assigned_user_id: null }), respond)
  },
  "conversations.close": {
    changing: ({ open, services: { conversations } }) => (respond) =>
      conversations.close(open.id, CloseConversation.make({}), respond),
    unchanging: ({ closed, services: { conversations } }) => (respond) =>
      conversations.close(closed, CloseConversation.make({}), respond)
  },
  "conversations.reopen": {
    changing: ({ closed, services: { conversations } }) => (respond) => conversations.reopen(closed, respond),
    unchanging: ({ open, services: { conversations } }) => (respond) => conversations.reopen(open.id, respond)
  },
  "sends.send": {
    changing: ({ open, services: { sends } }) => (respond) =>
      sends.send(open.id, SendMessage.make({ type: "text", text: "Hi" }), respond),
    unchanging: null
  },
  "sends.start": {
    changing: ({ channel, number, services: { sends } }) => (respond) =>
      sends.start(
        StartConversation.make({ channel_id: channel.id, phone: number, template: Provider.greetingWith() }),
        respond
      ),
    unchanging: null
  },
  "tags.create": {
    changing: ({ services: { tags } }) => (respond) =>
      tags.create(CreateTag.make({ name: "vip", color: "red" }), respond),
    unchanging: null
  },
  "webhook_deliveries.retry": {
    changing: ({ active, delivery, services: { deliveries }, work }) => (respond) =>
      Effect.andThen(work, deliveries.retry(active.id, delivery.id, respond)),
    unchanging: ({ active, delivery, services: { deliveries } }) => (respond) =>
      deliveries.retry(active.id, delivery.id, respond)
  },
  "webhooks.create": {
    changing: ({ services: { webhooks } }) => (respond) =>
      webhooks.create(CreateWebhook.make({ url, event_types: ["message.sent"] }), respond),
    unchanging: null
  },
  "webhooks.disable": {
    changing: ({ active, services: { webhooks } }) => (respond) => webhooks.disable(active.id, respond),
    unchanging: ({ disabled, services: { webhooks } }) => (respond) => webhooks.disable(disabled.id, respond)
  },
  "webhooks.replay": {
    changing: ({ active, now, services: { replays } }) => (respond) =>
      replays.start(active.id, ReplayWebhook.make({ since: now }), respond),
    unchanging: null
  },
  "webhooks.rotate_secret": {
    changing: ({ active, services: { webhooks } }) => (respond) => webhooks.rotateSecret(active.id, respond),
    unchanging: null
  },
  "webhooks.test": {
    changing: ({ active, services: { deliveries } }) => (respond) => deliveries.test(active.id, respond),
    unchanging: null
  },
  "webhooks.update": {
    changing: ({ active, services: { webhooks } }) => (respond) =>
      webhooks.update(active.id, UpdateWebhook.make({ event_types: ["message.sent"] }), respond),
    unchanging: ({ active, services: { webhooks } }) => (respond) =>
      webhooks.update(active.id, UpdateWebhook.make({ event_types: ["contact.updated"] }), respond)
  }
}

/** Sends the write, changes everything otherwise, and sends it again, under its key and then under another. */
const retried = Effect.fnUntraced(function*(writeOf: WriteOf) {
  const scene = yield* makeScene
  const write = writeOf(scene)
  const send = (key: string, request_id: string) =>
    scene.as(request(write, { key: IdempotencyKey.make(key), request_id }))
  const before = yield* everythingOf(scene)
  const first = yield* send("the-first-key", "r-1")
  assert.isFalse(first.replayed)
  const after = yield* everythingOf(scene)
  yield* changeEverything(scene)
  const changed = yield* everythingOf(scene)
  const again = yield* send("the-first-key", "r-2")
  assert.deepStrictEqual(again, { ...first, replayed: true })
  assert.deepStrictEqual(yield* everythingOf(scene), changed)
  return {
    after,
    before,
    first: first.body,
    other: Effect.map(send("another-key", "r-3"), ({ body }) => body)
  }
})

export const everyWrite = (it: Scene.It) => {
  for (const name of Struct.keys(writes)) {
    const { changing, unchanging } = writes[name]
    it.effect(`of ${name} is replayed byte for byte after other changes, and changes nothing again`, () =>
      retried(changing))

    if (unchanging === null) continue
    it.effect(`of ${name} that changed nothing is replayed byte for byte after other changes, and still changes nothing`, () =>
      Effect.gen(function*() {
        const { after, before, first, other } = yield* retried(unchanging)
        assert.deepStrictEqual(after, before)
        // Under another key, the changes are visible. A disabled webhook never changes.
        if (name !== "webhooks.disable") assert.notStrictEqual(yield* other, first)
      }))
  }
}
