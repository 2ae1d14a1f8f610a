/** Authorization of an API key's actor, in core: a program that embeds it gets the rules of the REST API. */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { Audit } from "@messaging-crm/core/Audit"
import { Channels } from "@messaging-crm/core/Channels"
import { ContactFields } from "@messaging-crm/core/ContactFields"
import { AddNote, Contacts, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { AssignConversation, CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import type * as Crm from "@messaging-crm/core/Crm"
import { Events } from "@messaging-crm/core/Events"
import {
  ChannelId,
  ContactId,
  ConversationId,
  EventId,
  MessageId,
  SendId,
  WebhookDeliveryId,
  WebhookId
} from "@messaging-crm/core/Ids"
import { Members } from "@messaging-crm/core/Members"
import { Messages } from "@messaging-crm/core/Messages"
import {
  authorize,
  InsufficientScope,
  type KeyedOperation,
  type Operation,
  operations,
  rulesOf
} from "@messaging-crm/core/Operations"
import { Phone } from "@messaging-crm/core/Phones"
import { SendMessage, Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Templates } from "@messaging-crm/core/Templates"
import { WebhookDeliveries } from "@messaging-crm/core/WebhookDeliveries"
import { ReplayWebhook, WebhookReplays } from "@messaging-crm/core/WebhookReplays"
import { CreateWebhook, UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Cause, DateTime, Effect, Exit, Option, Record } from "effect"

const world = Provider.crm(Memory.layer)

const unknown = "0199abcd-0000-7000-8000-00000000000f"
const contact = ContactId.make(unknown)
const conversation = ConversationId.make(unknown)
const page = { cursor: null, page_size: 50 }
const webhook = WebhookId.make(unknown)

/** A call of each operation that an API key may run. What it refers to does not exist, which is a typed failure. */
const calls: Readonly<Record<KeyedOperation, Effect.Effect<unknown, unknown, Crm.Services | CurrentActor>>> = {
  "channels.list": Channels.use(({ list }) => list),
  "contact_fields.list": ContactFields.use(({ list }) => list),
  "contacts.add_note": Contacts.use(({ addNote }) => addNote(contact, AddNote.make({ text: "note" }))),
  "contacts.create": Contacts.use(({ create }) => create(CreateContact.make({ first_name: "Kim" }))),
  "contacts.get": Contacts.use(({ get }) => get(contact)),
  "contacts.upsert": ContactUpserts.use(({ upsert }) =>
    upsert(UpsertContacts.make({
      match: "primary_email",
      contacts: [{ primary_email: "kim@acme.example" }]
    }))
  ),
  "contacts.list": Contacts.use(({ list }) => list(page)),
  "contacts.update": Contacts.use(({ update }) => update(contact, UpdateContact.make({ first_name: "Kim" }))),
  "conversations.assign": Conversations.use(({ assign }) =>
    assign(conversation, AssignConversation.make({ assigned_user_id: null }))
  ),
  "conversations.close": Conversations.use(({ close }) => close(conversation, CloseConversation.make({}))),
  "conversations.get": Conversations.use(({ get }) => get(conversation)),
  "conversations.list": Conversations.use(({ list }) => list(page)),
  "conversations.reopen": Conversations.use(({ reopen }) => reopen(conversation)),
  "events.get": Events.use(({ get }) => get(EventId.make(unknown))),
  "events.list": Events.use(({ list }) => list({ type: null, since: null, ...page })),
  "members.list": Members.use(({ list }) => list),
  "messages.get": Messages.use(({ get }) => get(conversation, MessageId.make(unknown))),
  "messages.list": Messages.use(({ list }) => list(conversation, null)),
  "sends.list": Sends.use(({ list }) => list(page)),
  "sends.get": Sends.use(({ get }) => get(SendId.make(unknown))),
  "sends.send": Sends.use(({ send }) => send(conversation, SendMessage.make({ type: "text", text: "Hi" }))),
  "sends.start": Sends.use(({ start }) =>
    start(StartConversation.make({
      channel_id: ChannelId.make(unknown),
      phone: Phone.make("+4915112345678"),
      template: { id: "greeting", components: [] }
    }))
  ),
  "tags.create": Tags.use(({ create }) => create(CreateTag.make({ name: "vip", color: "red" }))),
  "tags.list": Tags.use(({ list }) => list),
  "templates.list": Templates.use(({ list }) => list),
  "webhook_deliveries.list": WebhookDeliveries.use(({ list }) => list(webhook)),
  "webhook_deliveries.retry": WebhookDeliveries.use(({ retry }) => retry(webhook, WebhookDeliveryId.make(unknown))),
  "webhooks.create": Webhooks.use(({ create }) =>
    create(CreateWebhook.make({ url: "https://shop.example/hook", event_types: ["message.sent"] }))
  ),
  "webhooks.disable": Webhooks.use(({ disable }) => disable(webhook)),
  "webhooks.get": Webhooks.use(({ get }) => get(webhook)),
  "webhooks.list": Webhooks.use(({ list }) => list({ status: null })),
  "webhooks.replay": WebhookReplays.use(({ start }) =>
    start(webhook, ReplayWebhook.make({ since: DateTime.makeUnsafe("2026-11-20T09:00:00Z") }))
  ),
  "webhooks.rotate_secret": Webhooks.use(({ rotateSecret }) => rotateSecret(webhook)),
  "webhooks.test": WebhookDeliveries.use(({ test }) => test(webhook)),
  "webhooks.update": Webhooks.use(({ update }) =>
    update(webhook, UpdateWebhook.make({ event_types: ["message.sent"] }))
  )
}

/** An actor whose API key has these scopes. */
const actorWith = Effect.fnUntraced(function*(scopes: ReadonlyArray<Scope>) {
  const organization_id = yield* Fixtures.organization
  const { id: member_id } = yield* Fixtures.member(organization_id)
  const operator = { organization_id, member_id: null }
  const { key } = yield* ApiKeys.use((keys) =>
    keys.create(CreateApiKey.make({ created_by: member_id, name: "key", scopes, expires: "90d" }))
  ).pipe(Effect.provideService(CurrentActor, operator))
  const { actor } = yield* ApiKeys.use((keys) => Effect.flatMap(keys.digest(key), keys.authenticate))
  return { actor, operator }
})

const isInsufficient = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof InsufficientScope

describe("authorization", () => {
  for (const [name, call] of Record.toEntries(calls)) {
    const { scope } = operations[name]
    const others = Scope.literals.filter((each) => each !== scope)

    it.effect(`${name} needs ${scope} and no other scope`, () =>
      Effect.gen(function*() {
        const { actor, operator } = yield* actorWith(others)
        const as = Effect.provideService(CurrentActor, actor)
        assert.deepStrictEqual(
          yield* Effect.flip(as(authorize(name))),
          new InsufficientScope({ operation: name, required: scope })
        )
        assert.isTrue(isInsufficient(yield* Effect.exit(as(call))), "the operation itself, without authorize")
        const newest = { resource_id: null, key_id: actor.key_id ?? null, member_id: null, before: null }
        assert.deepStrictEqual(
          yield* Audit.use(({ list }) => list(newest, 1)).pipe(Effect.provideService(CurrentActor, operator)),
          []
        )
        const { actor: allowed } = yield* actorWith([scope])
        yield* Effect.provideService(authorize(name), CurrentActor, allowed)
        assert.isFalse(isInsufficient(yield* Effect.exit(Effect.provideService(call, CurrentActor, allowed))))
      }).pipe(Effect.provide(world)))
  }

  it.effect("lets no API key run the operations of operators", () =>
    Effect.gen(function*() {
      const { actor, operator } = yield* actorWith(Scope.literals)
      for (const name of Record.keys(operations) as ReadonlyArray<Operation>) {
        const isDenied = Option.isNone(
          yield* Effect.option(Effect.provideService(authorize(name), CurrentActor, actor))
        )
        assert.strictEqual(isDenied, rulesOf(name).scope === null, name)
        yield* Effect.provideService(authorize(name), CurrentActor, operator)
      }
      const exit = yield* ApiKeys.use((keys) => keys.list).pipe(Effect.provideService(CurrentActor, actor), Effect.exit)
      assert.isTrue(isInsufficient(exit))
    }).pipe(Effect.provide(world)))
})
