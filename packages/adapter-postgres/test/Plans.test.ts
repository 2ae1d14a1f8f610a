import { assert, describe, it } from "@effect/vitest"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Crowd from "@messaging-crm/adapter-postgres/testing/Crowd"
import * as Database from "@messaging-crm/adapter-postgres/testing/Database"
import { ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { ChannelStore } from "@messaging-crm/core/Channels"
import * as Fixtures from "@messaging-crm/core/conformance/Fixtures"
import { type ContactMatch, ContactStore } from "@messaging-crm/core/Contacts"
import { type ConversationFilters, ConversationStore } from "@messaging-crm/core/Conversations"
import type { StoragePorts } from "@messaging-crm/core/Crm"
import { EventStore } from "@messaging-crm/core/Events"
import { IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import {
  ChannelId,
  ContactId,
  ConversationId,
  IdentityId,
  Ids,
  MemberId,
  MessageId,
  SendId,
  TagId,
  WebhookDeliveryId,
  WebhookId
} from "@messaging-crm/core/Ids"
import { MemberStore } from "@messaging-crm/core/Members"
import { MessageStore } from "@messaging-crm/core/Messages"
import type { PageRequest } from "@messaging-crm/core/Page"
import { SendStore } from "@messaging-crm/core/Sends"
import { TagStore } from "@messaging-crm/core/Tags"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer, Struct } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import * as Plans from "./Plans.ts"

const now = DateTime.makeUnsafe(Crowd.now)
const channel = ChannelId.make(Crowd.id("channel", 3))
const contact = ContactId.make(Crowd.id("contact", 1))
const conversation = ConversationId.make(Crowd.id("conversation", 1))
const message = MessageId.make(Crowd.id("message", 4))
const webhook = WebhookId.make(Crowd.id("webhook", 2))
const delivery = WebhookDeliveryId.make(Crowd.id("work", 9))
const send = SendId.make(Crowd.id("send", 4))
const tag = (number: number) => ({ tag_id: TagId.make(Crowd.id("tag", 10 + number)) })
const owner = (number: number) => ({ owner_user_id: MemberId.make(Crowd.id("member", number)) })
const assigned = (number: number) => ({ assigned_user_id: MemberId.make(Crowd.id("member", number)) })

/** The first page, and one from the middle of the order. */
const pages: Readonly<Record<string, PageRequest>> = {
  "the first page": { after: null, size: 51 },
  "a page far on": {
    after: { at: DateTime.makeUnsafe("2026-05-20T00:00:00.000Z"), id: Crowd.id("contact", 0) },
    size: 51
  }
}

type Matches = Readonly<Record<string, Partial<ContactMatch>>>

const queries = {
  "what most have": { needles: ["an"] },
  "a character that most have": { needles: ["a"] },
  "what a tenth has": { needles: ["gmbh"] },
  "what a hundredth has": { needles: ["berba"] },
  "what ten have": { needles: ["zanzibar"] },
  "what nobody has": { needles: ["nobody has this"] },
  "what only another organization has": { needles: ["elsewhere"] },
  "two characters that ten have": { needles: ["qx"] },
  "two characters that nobody has": { needles: ["q9"] },
  "a character that ten have": { needles: ["漢"] },
  "a character that nobody has": { needles: ["ß"] },
  "no letters": { needles: ["+/-"] },
  "four digits": { needles: ["1511"] },
  "a part of a number": { needles: ["+49 151 1", "491511"] },
  "a number": { needles: ["+4915112345678", "4915112345678"] }
} satisfies Matches

const filters = {
  "an owner of many": owner(0),
  "an owner of ten": owner(19),
  "a common stage": { lifecycle_stage: "lead" },
  "a rare stage": { lifecycle_stage: "evangelist" },
  "a stage that nobody is in": { lifecycle_stage: "other" },
  "a common tag": tag(0),
  "a tag of a twentieth": tag(1),
  "a tag of fifty": tag(2),
  "a tag of nobody": tag(9),
  "phone messaging": { channel: "phone_messaging" },
  "a second channel": { channel: "photo_social" },
  "a channel of fifty": { channel: "page_messaging" }
} satisfies Matches

/** Returns every two that are of different filters, together. */
const pairs = (matches: Matches) =>
  Object.entries(matches).flatMap(([a, left]) =>
    Object.entries(matches)
      .filter(([b, right]) => a < b && Object.keys(left)[0] !== Object.keys(right)[0])
      .map(([b, right]) => [`${a} and ${b}`, { ...left, ...right }] as const)
  )

const telling = Struct.pick(queries, [
  "what most have",
  "what a tenth has",
  "what a hundredth has",
  "what ten have",
  "two characters that ten have",
  "a part of a number"
])

/** The contacts that pass, by asking each of them. */
const passing = Effect.fnUntraced(function*(match: Partial<ContactMatch>, { after, size }: PageRequest) {
  const sql = yield* SqlClient.SqlClient
  const { channel, lifecycle_stage, needles, owner_user_id, tag_id } = { ...Fixtures.everyone, ...match }
  const all: Array<Statement.Fragment> = [sql`c.organization_id = ${Crowd.large}`]
  if (after !== null) all.push(sql`(c.updated_at, c.id) < (${DateTime.toDateUtc(after.at)}, ${after.id}::uuid)`)
  if (lifecycle_stage !== null) all.push(sql`c.lifecycle_stage = ${lifecycle_stage}`)
  if (owner_user_id !== null) all.push(sql`c.owner_user_id = ${owner_user_id}`)
  if (needles !== null) all.push(sql.or(needles.map((needle) => sql`position(${needle} IN t.search_text) > 0`)))
  if (tag_id !== null) all.push(sql`c.id IN (SELECT contact_id FROM contact_tags WHERE tag_id = ${tag_id})`)
  if (channel !== null) {
    all.push(sql`(
      c.id IN (SELECT contact_id FROM identities WHERE channel_type = ${channel})
      OR (${channel} = 'phone_messaging' AND c.primary_phone IS NOT NULL)
    )`)
  }
  const rows = yield* sql<{ readonly id: ContactId }>`
    SELECT c.id
    FROM contacts c
    JOIN contact_texts t ON t.contact_id = c.id
    WHERE ${sql.and(all)}
    ORDER BY c.updated_at DESC, c.id DESC
    LIMIT ${size}
  `
  return rows.map(({ id }) => id)
})

const searches = Object.entries<Partial<ContactMatch>>({
  everyone: {},
  ...queries,
  ...filters,
  "a tag of those long not heard of": tag(3),
  ...Object.fromEntries(pairs({ ...telling, ...filters }))
})

const conversationFilters: Readonly<Record<string, ConversationFilters>> = {
  "all conversations": { status: null, assigned_user_id: null },
  "the open ones": { status: "open", assigned_user_id: null },
  "the closed ones": { status: "closed", assigned_user_id: null },
  "those of a member with many": { status: null, ...assigned(1) },
  "the few open ones of a member with many": { status: "open", ...assigned(1) },
  "the closed ones of a member with many": { status: "closed", ...assigned(1) },
  "those of a member with few": { status: null, ...assigned(19) },
  "those of a member with none": { status: "open", ...assigned(0) }
}

/** What is done all the time, and by what row. */
const lookups: Readonly<Record<string, Effect.Effect<unknown, unknown, StoragePorts | Ids>>> = {
  "a key": ApiKeyStore.use((store) => store.admit("a".repeat(64), 120, now)),
  "an idempotency key": IdempotencyStore.use((store) => {
    const key = IdempotencyKey.make("crowd-key-77")
    return store.exclusively(Crowd.large, key, store.find(Crowd.large, key))
  }),
  "a member": MemberStore.use((store) => store.find(Crowd.large, MemberId.make(Crowd.id("member", 1)))),
  "a channel": ChannelStore.use((store) => store.locate(channel)),
  "the tags of a contact": TagStore.use((store) => store.findMany(Crowd.large, [tag(1).tag_id, tag(2).tag_id])),
  "a contact": ContactStore.use((store) => store.find(Crowd.large, contact)),
  "a contact to change": ContactStore.use((store) => store.lock(Crowd.large, contact)),
  "an identity": Effect.flatMap(
    Fixtures.stranger("person-10"),
    ({ identity, newcomer }) => ContactStore.use((store) => store.claimIdentity(Crowd.large, identity, newcomer, []))
  ),
  "the contact of a new identity": Effect.flatMap(
    Fixtures.stranger("+4915111111111", "+4915111111111"),
    ({ identity, newcomer }) => ContactStore.use((store) => store.claimIdentity(Crowd.large, identity, newcomer, []))
  ),
  "the activity of a contact": ContactStore.use((store) =>
    store.recordActivity(Crowd.large, contact, { at: now, preview: "Hi", conversation_id: conversation })
  ),
  "the preview of a contact": ContactStore.use((store) => store.replacePreview(Crowd.large, contact, now, "Hi")),
  "an identity that moves": ContactStore.use((store) =>
    store.renameIdentity(
      Crowd.large,
      { channel_type: "phone_messaging", external_id: "person-10" },
      { external_id: "person-ten", display_name: null, username: null }
    )
  ),
  "the preview of a conversation": ConversationStore.use((store) =>
    store.replacePreview(Crowd.large, conversation, now, "Hi")
  ),
  "a conversation": ConversationStore.use((store) => store.find(Crowd.large, conversation)),
  "a conversation to change": ConversationStore.use((store) => store.lock(Crowd.large, conversation)),
  "the conversation of an identity": ConversationStore.use((store) =>
    store.open(Crowd.large, ConversationId.make(Crowd.id("lane", 1)), {
      channel_id: channel,
      contact_id: contact,
      identity_id: IdentityId.make(Crowd.id("identity", 3))
    }, now)
  ),
  "a message": MessageStore.use((store) => store.find(Crowd.large, conversation, message)),
  "a message by the provider's id": MessageStore.use((store) =>
    store.findByProviderId(Crowd.large, channel, "message-9")
  ),
  "reports of a message": MessageStore.use((store) => store.takeParked(Crowd.large, channel, "unknown-9")),
  "the deliveries to a webhook": WebhookDeliveryStore.use((store) => store.list(Crowd.large, webhook, 100)),
  "a delivery": WebhookDeliveryStore.use((store) => store.load(Crowd.large, delivery)),
  "a delivery to change": WebhookDeliveryStore.use((store) => store.lock(Crowd.large, delivery)),
  "the webhooks of an event": EventStore.use((store) => store.subscribers(Crowd.large, "message.sent")),
  "a send": SendStore.use((store) => store.find(Crowd.large, send)),
  "a send to change": SendStore.use((store) => store.lock(Crowd.large, send))
}

const claim = {
  kind: "send",
  limit: 32,
  now,
  lease_until: DateTime.add(now, { minutes: 1 }),
  token: Crowd.id("lane", 1)
} as const

const chores: Readonly<Record<string, Effect.Effect<unknown, unknown, StoragePorts | Ids>>> = {
  "claims and settles work": WorkQueue.use((queue) =>
    Effect.flatMap(queue.claim(claim), ([first, second, third]) =>
      Effect.all([
        first === undefined ? Effect.void : queue.finish(first),
        second === undefined ? Effect.void : queue.postpone(second, now),
        third === undefined ? Effect.void : queue.release(third)
      ]))
  ),
  "sweeps": WorkQueue.use((queue) => Effect.andThen(queue.claim(claim), queue.sweep(claim.lease_until))),
  "forgets parked reports": MessageStore.use((store) => store.purgeParked(DateTime.subtract(now, { days: 30 }), 500)),
  "forgets events": EventStore.use((store) => store.purge(DateTime.subtract(now, { days: 30 }), 500)),
  "forgets idempotency keys": IdempotencyStore.use((store) => store.purge(DateTime.subtract(now, { hours: 72 }), 500))
}

const crowd = Layer.effectDiscard(Crowd.fill)

const database = Layer.mergeAll(Postgres.layer, Ids.layer, crowd).pipe(Layer.provideMerge(Database.layer))

it.layer(database, { excludeTestServices: true, timeout: "3 minutes" })("Plans, at 100,000 contacts", (it) => {
  const sound = (name: string, effect: Effect.Effect<unknown, unknown, StoragePorts | Ids>) =>
    it.effect(name, () =>
      Effect.gen(function*() {
        const plans = yield* Plans.plansOf(effect)
        assert.isNotEmpty(plans)
        assert.deepStrictEqual(Plans.complaints(plans), [])
      }))

  for (const [where, page] of Object.entries(pages)) {
    describe(`read no more than they must for ${where} of contacts`, () => {
      for (const [name, match] of searches) {
        sound(name, ContactStore.use((store) => store.list(Crowd.large, { ...Fixtures.everyone, ...match }, page)))
      }
    })
    describe(`read no more than they must for ${where} of conversations`, () => {
      for (const [name, match] of Object.entries(conversationFilters)) {
        sound(name, ConversationStore.use((store) => store.list(Crowd.large, match, page)))
      }
    })
    sound(
      `read no more than they must for ${where} of messages`,
      MessageStore.use((store) => store.list(Crowd.large, conversation, page))
    )
  }

  it.effect("lead to the contacts that a reading of all of them finds", () =>
    Effect.gen(function*() {
      const store = yield* ContactStore
      const few = { ...filters["a tag of a twentieth"], ...filters["a second channel"] }
      const hardlyAny = { ...filters["an owner of many"], ...filters["a rare stage"] }
      const some = {
        ...queries["what a hundredth has"],
        ...filters["a tag of a twentieth"],
        ...filters["phone messaging"]
      }
      const far = [
        queries["a part of a number"],
        queries["no letters"],
        queries["two characters that ten have"],
        queries["what a hundredth has"],
        filters["a channel of fifty"],
        filters["a tag of fifty"],
        tag(3),
        few,
        hardlyAny,
        some
      ]
      for (const match of far) {
        for (const page of Object.values(pages)) {
          const found = yield* store.list(Crowd.large, { ...Fixtures.everyone, ...match }, page)
          assert.deepStrictEqual(found.map(({ id }) => id), yield* passing(match, page))
        }
      }
    }))

  describe("find at once", () => {
    for (const [name, effect] of Object.entries(lookups)) sound(name, effect)
  })

  describe("look at little when a worker", () => {
    for (const [name, effect] of Object.entries(chores)) sound(name, effect)
  })
})
