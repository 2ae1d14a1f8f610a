import { assert, describe, it } from "@effect/vitest"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { ChannelAccountRows, ChannelAccountStore } from "@messaging-crm/core/ChannelAccounts"
import { ChannelHoldRows, ChannelHoldStore } from "@messaging-crm/core/ChannelHolds"
import { ChannelRows } from "@messaging-crm/core/Channels"
import { ContactStore } from "@messaging-crm/core/Contacts"
import { ConversationStore, everyConversation } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { Decide } from "@messaging-crm/core/Decide"
import { Dispatch } from "@messaging-crm/core/Dispatch"
import { AnyEventType, EventStore } from "@messaging-crm/core/Events"
import { IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { Ids, MemberId } from "@messaging-crm/core/Ids"
import { MemberRows } from "@messaging-crm/core/Members"
import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import { MessageStore } from "@messaging-crm/core/Messages"
import { Rows } from "@messaging-crm/core/Rows"
import { Secrets } from "@messaging-crm/core/Secrets"
import { everySend, SendStore } from "@messaging-crm/core/Sends"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { TagRows } from "@messaging-crm/core/Tags"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookReplayRows } from "@messaging-crm/core/WebhookReplays"
import { WebhookRows, WebhookStore } from "@messaging-crm/core/Webhooks"
import { WorkKind, WorkQueue, WorkSignal } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { unlimited } from "../../src/database/TimeLimits.ts"
import * as Crowd from "../../testing/Crowd.ts"
import * as Database from "../../testing/Database.ts"
import * as Plans from "../Plans.ts"
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
  named,
  now,
  pages,
  rare,
  searches,
  send,
  sendFilters,
  tag,
  webhook
} from "./PlanCases.ts"
import { claim, type Services, writes } from "./PlanWrites.ts"

/** The digest of one of the crowd's keys. */
const digest = createHash("sha256").update("7").digest("hex")

/** Frequent look-ups by key, each of which finds something. */
const lookups: Readonly<Record<string, Effect.Effect<unknown, unknown, Services>>> = {
  "a key": ApiKeyStore.use((store) => store.authenticate(digest, 120, now)),
  "an idempotency key": IdempotencyStore.use((store) => store.find(Crowd.large, IdempotencyKey.make("crowd-key-77"))),
  "a member": Rows.use((rows) => rows.find(MemberRows, Crowd.large, MemberId.make(Crowd.id("member", 1)))),
  "the members": Rows.use((rows) => rows.list(MemberRows, Crowd.large)),
  "a channel": Rows.use((rows) => rows.locate(ChannelRows, channel)),
  "the tags": Rows.use((rows) => rows.list(TagRows, Crowd.large)),
  "the tags of a contact": Rows.use((rows) => rows.findMany(TagRows, Crowd.large, [tag(1).tag_id, tag(2).tag_id])),
  "a contact": ContactStore.use((store) => store.find(Crowd.large, contact)),
  "a contact to change": ContactStore.use((store) => store.load(Crowd.large, contact)),
  "the contact of a new identity": ContactStore.use((store) =>
    store.match(Crowd.large, "primary_phone", ["+4915561335771", "+551187654321"])
  ),
  "the contact of an email": ContactStore.use((store) =>
    store.match(Crowd.large, "email_key", ["nobody@crowd.example", "gunbastein10058@crowd.example"])
  ),
  "the people of an import": ContactStore.use((store) =>
    store.knownPeople(Crowd.large, [
      { id: contact, phones: ["+4915561335771", "+551187654321"], email_key: "nobody@crowd.example" },
      { id: null, phones: ["+4915561335772", "+551187654321"], email_key: null }
    ])
  ),
  "the identities of names": ContactStore.use((store) =>
    store.identify(Crowd.large, "phone_messaging", ["person-10058", "person-1022", "nobody"])
  ),
  "the conversations of names": ConversationStore.use((store) =>
    store.identify(Crowd.large, { id: channel, type: "phone_messaging" }, ["person-10058", "person-1022", "nobody"])
  ),
  "a conversation": ConversationStore.use((store) => store.find(Crowd.large, conversation)),
  "a message": MessageStore.use((store) => store.find(Crowd.large, conversation, message)),
  "a message by the provider's id": MessageStore.use((store) =>
    store.findByProviderId(Crowd.large, channel, "message-9")
  ),
  "early updates of a message": MessageStore.use((store) => store.findByProviderId(Crowd.large, channel, "unknown-9")),
  "the webhooks": WebhookStore.use((store) => store.list(Crowd.large, { status: null }, 100)),
  "the active webhooks": WebhookStore.use((store) => store.list(Crowd.large, { status: "active" }, 100)),
  "a webhook": Rows.use((rows) => rows.find(WebhookRows, Crowd.large, webhook)),
  "the number of active webhooks": WebhookStore.use((store) => store.countActive(Crowd.large)),
  "the secrets that another key encrypted": WebhookStore.use((store) =>
    Effect.andThen(store.sealedOtherwise("v2.", null, 100), store.sealedOtherwise("v2.", webhook, 100))
  ),
  "the deliveries to a webhook": WebhookDeliveryStore.use((store) => store.list(Crowd.large, webhook, 100)),
  "the events": EventStore.use((store) =>
    Effect.all(
      [null, eventPage.after].flatMap((after) =>
        [AnyEventType.literals, ["message.sent"] as const, ["webhook.test"] as const].flatMap((types) =>
          [null, now].map((since) => store.list(Crowd.large, { types, since }, { after, size: 101 }))
        )
      )
    )
  ),
  "the next events of a replay": EventStore.use((store) =>
    store.next(Crowd.large, { types: AnyEventType.literals, until: now }, eventPage)
  ),
  "the committed events of a follower": EventStore.use((store) =>
    Effect.all([
      store.committed(Crowd.large, { from: Fixtures.beforeCommits, size: 101 }),
      store.lastCommitted(Crowd.large),
      store.haveNext([{ ...Fixtures.beforeCommits, organization_id: Crowd.large }])
    ])
  ),
  "a delivery": WebhookDeliveryStore.use((store) => store.load(Crowd.large, delivery)),
  "a send": SendStore.use((store) => store.find(Crowd.large, send)),
  "a send to attempt": SendStore.use((store) => store.load(Crowd.large, send))
}

/** Look-ups by key of what the crowd does not have. */
const absent: Readonly<Record<string, Effect.Effect<unknown, unknown, Services>>> = {
  "the account of a channel": Rows.use((rows) =>
    Effect.all([rows.find(ChannelAccountRows, Crowd.large, channel), rows.locate(ChannelAccountRows, channel)])
  ),
  "the channel of an account": ChannelAccountStore.use((store) =>
    Effect.all([
      store.locateByAccount("phone_messaging", "account-3"),
      store.locateByBusinessAccount("account")
    ])
  ),
  "the hold of a channel": Rows.use((rows) => rows.find(ChannelHoldRows, Crowd.large, channel)),
  "the paused channels": ChannelHoldStore.use((store) => store.countPaused),
  "a replay": Rows.use((rows) => rows.find(WebhookReplayRows, Crowd.large, webhook))
}

const chores: Readonly<Record<string, Effect.Effect<unknown, unknown, Services>>> = {
  ...Object.fromEntries(WorkKind.literals.map((kind) => [
    `claims and settles work: ${kind}`,
    WorkQueue.use((queue) =>
      Effect.flatMap(queue.claim(claim(kind)), ([first, second, third, fourth]) =>
        Effect.all([
          first === undefined ? Effect.void : Fixtures.finishWork(first),
          second === undefined ? Effect.void : Fixtures.postponeWork(second, now),
          third === undefined ? Effect.void : Fixtures.releaseWork(third),
          fourth === undefined ? Effect.void : Fixtures.settleWork({ claimed: fourth, outcome: "defect", due_at: now })
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
  const sound = (name: string, effect: Effect.Effect<unknown, unknown, Services>, found?: "a row is found") =>
    it.effect(name, () =>
      Effect.gen(function*() {
        const plans = yield* Plans.plansOf(effect)
        assert.isNotEmpty(plans)
        assert.deepStrictEqual(Plans.complaints(plans), [])
        if (found !== undefined) assert.isTrue(plans.some(Plans.findsRows), found)
      }))

  for (const [where, page] of Object.entries(pages)) {
    describe(`read no more rows than necessary for ${where} of contacts`, () => {
      for (const [name, match] of searches) {
        sound(
          name,
          Fixtures.contacts(Crowd.large, match, page),
          // A plan that finds nothing shows little: a scan of a whole index may find nothing at once.
          ...(page.after === null && named.has(name) ? ["a row is found" as const] : [])
        )
      }
    })
    describe(`read no more rows than necessary for ${where} of conversations`, () => {
      for (const [name, match] of conversationFilters) {
        sound(
          name,
          ConversationStore.use((store) => store.list(Crowd.large, { ...everyConversation, ...match }, page))
        )
      }
    })
    describe(`read no more rows than necessary for ${where} of sends`, () => {
      for (const [name, match] of sendFilters) {
        sound(name, SendStore.use((store) => store.list(Crowd.large, { ...everySend, ...match }, page)))
      }
    })
    sound(
      `read no more rows than necessary for ${where} of messages`,
      MessageStore.use((store) => store.list(Crowd.large, conversation, page))
    )
  }

  const findsWhatMatches = Effect.fnUntraced(function*(matches: typeof rare) {
    const cases = matches.flatMap((match) => Object.values(pages).map((page) => [match, page] as const))
    const expected = yield* matching(cases)
    for (const [index, [match, page]] of cases.entries()) {
      const found = yield* Fixtures.contacts(Crowd.large, match, page)
      assert.deepStrictEqual(found.map(({ id }) => id), expected[index])
    }
  })

  /** Runs a check of every contact, which takes seconds on a busy machine, and rolls back what it writes. */
  const withoutLimits = <E, R>(check: Effect.Effect<void, E, R>) =>
    Plans.undo(SqlClient.SqlClient.use((sql) => unlimited(sql)(check)))

  it.effect("find the same contacts as a check of every contact", () => withoutLimits(findsWhatMatches(rare)))

  it.effect("find the same contacts after some were changed", () =>
    withoutLimits(Effect.andThen(changeSome, findsWhatMatches(rare))))

  describe("use an index to find", () => {
    for (const [name, effect] of Object.entries(lookups)) sound(name, effect, "a row is found")
    for (const [name, effect] of Object.entries(absent)) sound(name, effect)
  })

  describe("read no more rows than necessary to write", () => {
    for (const [name, effect] of Object.entries(writes)) sound(name, effect)
  })

  describe("read few rows when a worker", () => {
    for (const [name, effect] of Object.entries(chores)) sound(name, effect)
  })
})
