/** The cost of an operation in PostgreSQL at two sizes of one database. */
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { CurrentActor } from "@messaging-crm/core/Actor"
import {
  type ContactCriteria,
  Contacts,
  ContactStore,
  criteriaOf,
  type SearchTerms,
  UpdateContact
} from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { type ConversationFilters, ConversationStore, everyConversation } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { AnyEventType, EventStore } from "@messaging-crm/core/Events"
import { ChannelId, ContactId, ConversationId, Ids, MemberId, TagId } from "@messaging-crm/core/Ids"
import { MessageStore } from "@messaging-crm/core/Messages"
import type { PageRequest } from "@messaging-crm/core/Page"
import { everySend, type SendFilters, SendMessage, Sends, SendStore } from "@messaging-crm/core/Sends"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import { DateTime, Duration, Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import * as Crowd from "../../packages/adapter-postgres/testing/Crowd.ts"
import * as Provider from "../../packages/conformance/src/Provider.ts"
import { percentile } from "./Percentiles.ts"

/** The facts of a database that the cases need. */
interface Size {
  /** The number of contacts. */
  readonly contacts: number
  /** Conversations whose reply window is open. */
  readonly conversations: ReadonlyArray<ConversationId>
  /** Values that contacts have. */
  readonly known: { readonly phone: string; readonly email_key: string; readonly external_id: string }
  /** Where the 200th page of a list begins; null if there is none. */
  readonly page_200: { readonly [list in "contacts" | "conversations" | "messages"]: PageRequest | null }
}

type Services =
  | Contacts
  | ContactUpserts
  | ContactStore
  | ConversationStore
  | EventStore
  | MessageStore
  | Sends
  | SendStore
  | CurrentActor
  | SqlClient.SqlClient

/** Makes one run of an operation, or returns null where the database is too small for it. */
type Case = (size: Size, run: number) => Effect.Effect<unknown, unknown, Services> | null

const page_size = 50
/** A list reads one row more than the page, to see whether another page follows. */
const page_1: PageRequest = { after: null, size: page_size + 1 }
const thread = ConversationId.make(Crowd.id("conversation", 1))

const everyone: ContactCriteria = criteriaOf({})

/** A number up to `count` that shows no pattern. */
const spread = (run: number, count: number): number => 1 + (run * 7_919 + 13) % count

/** A contact of the large organization. */
const contactOf = (size: Size, run: number): ContactId => {
  const number = spread(run, size.contacts)
  return number % 100 < 90 ? ContactId.make(Crowd.id("contact", number)) : contactOf(size, run + 1)
}

const contacts = (match: Partial<ContactCriteria>): Case => () =>
  ContactStore.use((store) => store.list(Crowd.large, { ...everyone, ...match }, page_1))

/** Lists the contacts with a value that a contact has. */
const known = (field: keyof Size["known"]): Case => (size, run) => contacts({ [field]: size.known[field] })(size, run)

const text = (...search_terms: SearchTerms): Case => contacts({ search_terms })

const conversations = (filters: Partial<ConversationFilters>): Case => () =>
  ConversationStore.use((store) => store.list(Crowd.large, { ...everyConversation, ...filters }, page_1))

const sendsOf = (filters: Partial<SendFilters>): Case => () =>
  SendStore.use((store) => store.list(Crowd.large, { ...everySend, ...filters }, page_1))

const eventsOf = (types: ReadonlyArray<AnyEventType>, since: Timestamp | null = null): Case => () =>
  EventStore.use((store) => store.list(Crowd.large, { types, since }, page_1))

const channel = (number: number) => ChannelId.make(Crowd.id("channel", number))
const recently = DateTime.makeUnsafe("2026-11-20T11:00:00Z")
const tag = (number: number) => ({ tag_id: TagId.make(Crowd.id("tag", 10 + number)) })
const member = (number: number) => MemberId.make(Crowd.id("member", number))

export const cases: Readonly<Record<string, Case>> = {
  "read a contact": (size, run) => ContactStore.use((store) => store.find(Crowd.large, contactOf(size, run))),
  "list contacts": contacts({}),
  "list contacts, page 200": ({ page_200 }) =>
    page_200.contacts && ContactStore.use((store) => store.list(Crowd.large, everyone, page_200.contacts ?? page_1)),
  "list conversations": conversations({}),
  "list conversations, page 200": ({ page_200 }) =>
    page_200.conversations &&
    ConversationStore.use((store) => store.list(Crowd.large, everyConversation, page_200.conversations ?? page_1)),
  "list open conversations": conversations({ status: "open" }),
  "list a member's conversations": conversations({ assigned_user_id: member(1) }),
  "list unassigned conversations": conversations({ unassigned: true }),
  "list unassigned conversations, open": conversations({ unassigned: true, status: "open" }),
  "list a contact's conversations": conversations({ contact_id: ContactId.make(Crowd.id("contact", 1)) }),
  "list a channel's conversations": conversations({ channel_id: channel(3) }),
  "list a channel's conversations of a member": conversations({ channel_id: channel(3), assigned_user_id: member(1) }),
  "list a member's conversations on a channel without any": conversations({
    channel_id: channel(4),
    assigned_user_id: member(1)
  }),
  "list a channel's unassigned conversations": conversations({ channel_id: channel(3), unassigned: true }),
  "list sends": sendsOf({}),
  "list sent sends": sendsOf({ status: "sent" }),
  "list failed sends": sendsOf({ status: "failed" }),
  "list queued sends": sendsOf({ status: "queued" }),
  "list sends with the status `unknown`": sendsOf({ status: "unknown" }),
  "list sends since a time": sendsOf({ created_since: recently }),
  "list a conversation's sends": sendsOf({ conversation_id: thread }),
  "list events": eventsOf(AnyEventType.literals),
  "list events of a type": eventsOf(["message.sent"]),
  "list events of a type without any": eventsOf(["webhook.test"]),
  "list events since a time": eventsOf(AnyEventType.literals, recently),
  "read the next 100 events of a replay": () =>
    EventStore.use((store) =>
      store.next(Crowd.large, { types: ["message.sent"], until: DateTime.makeUnsafe(Crowd.now) }, {
        after: { at: recently, id: Crowd.id("event", 0) },
        size: 100
      })
    ),
  "list messages": () => MessageStore.use((store) => store.list(Crowd.large, thread, page_1)),
  "list messages, page 200": ({ page_200 }) =>
    page_200.messages && MessageStore.use((store) => store.list(Crowd.large, thread, page_200.messages ?? page_1)),
  "filter: a phone": known("phone"),
  "filter: an email": known("email_key"),
  "filter: an external id": known("external_id"),
  "filter: updated since": contacts({ updated_since: recently }),
  "filter: an owner of 1/5": contacts({ owner_user_id: member(0) }),
  "filter: a stage of 3/7": contacts({ lifecycle_stage: "lead" }),
  "filter: a tag of 2/5": contacts(tag(0)),
  "filter: a tag of 1/20": contacts(tag(1)),
  "filter: a tag of 1/2,000": contacts(tag(2)),
  "filter: a tag of none": contacts(tag(9)),
  "filter: a tag of the oldest": contacts(tag(3)),
  "filter: a channel of nearly all": contacts({ channel: "phone_messaging" }),
  "filter: a channel of 1/12": contacts({ channel: "photo_social" }),
  "filter: a channel of 1/2,000": contacts({ channel: "page_messaging" }),
  "filters: an owner of 1/5, a stage of 3/7": contacts({ owner_user_id: member(0), lifecycle_stage: "lead" }),
  "filters: an owner of 1/5, a stage of 1/9,000": contacts({ owner_user_id: member(0), lifecycle_stage: "evangelist" }),
  "filters: a tag of 1/20, a channel of 1/12": contacts({ ...tag(1), channel: "photo_social" }),
  "filters: a tag of the oldest, a channel of 1/12": contacts({ ...tag(3), channel: "photo_social" }),
  "filters: a text of 1/100, a tag of 1/20": contacts({ search_terms: ["berba"], ...tag(1) }),
  "text of nobody": text("nobody has this"),
  "text of nobody, a number": text("4915112345678"),
  "text of everybody": text("49"),
  "text of 1/10": text("gmbh"),
  "text of 1/100": text("berba"),
  "text of 1/10,000": text("zanzibar"),
  "text of 1/10, only the oldest": text("vergessen"),
  "text of another organization": text("elsewhere"),
  "text of one character, common": text("a"),
  "text of one character, of 1/10,000": text("漢"),
  "text of one character, of nobody": text("ß"),
  "text of two characters, common": text("an"),
  "text of two characters, of 1/10,000": text("qx"),
  "text of two characters, of nobody": text("q9"),
  "a part of a number": text("+49 151 1", "491511"),
  // Writes come last: they make contacts the most recent ones.
  "update a contact's city": (size, run) =>
    Contacts.use((contacts) => contacts.update(contactOf(size, run), UpdateContact.make({ city: `City ${run}` }))),
  "update a contact's name": (size, run) =>
    Contacts.use((contacts) => contacts.update(contactOf(size, run), UpdateContact.make({ first_name: `Kim ${run}` }))),
  "upsert 100 contacts": (_, run) =>
    ContactUpserts.use((all) =>
      all.upsert(UpsertContacts.make({
        match: "primary_email",
        contacts: Array.from({ length: 100 }, (_, index) => ({
          primary_email: `upserted-${index}@crowd.example`,
          city: `City ${run}`
        }))
      }))
    ),
  "send a text": (size, run) =>
    Sends.use((sends) =>
      sends.send(
        size.conversations[run % size.conversations.length] ?? thread,
        SendMessage.make({ type: "text", text: "Hello" })
      )
    )
}

const from = (row: { readonly at: DateTime.Utc; readonly id: string } | undefined): PageRequest | null =>
  row === undefined ? null : { after: { at: row.at, id: row.id }, size: page_1.size }

/** Opens the reply windows of some conversations, as messages of their contacts do, and returns them. */
const openConversations = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly id: string }>`
    UPDATE conversations
    SET last_inbound_at = now(), status = 'open', closed_at = NULL
    WHERE organization_id = ${Crowd.large} AND id IN (
      SELECT id
      FROM conversations
      WHERE organization_id = ${Crowd.large} AND id <> ${thread}
      ORDER BY md5(id::text)
      LIMIT 200
    )
    RETURNING id
  `
).pipe(Effect.map((rows) => rows.map(({ id }) => ConversationId.make(id))))

/** Returns a phone, an email, and an external id, each of one contact. */
const knownValues = Effect.map(
  SqlClient.SqlClient.use((sql) =>
    sql<Size["known"]>`
      SELECT
        (SELECT max(primary_phone) FROM contacts WHERE organization_id = ${Crowd.large}) AS phone,
        (SELECT max(email_key) FROM contacts WHERE organization_id = ${Crowd.large}) AS email_key,
        (SELECT max(external_id) FROM identities WHERE organization_id = ${Crowd.large}) AS external_id
    `
  ),
  ([values]) => Option.getOrThrow(Option.fromUndefinedOr(values))
)

const sizeOf = Effect.fnUntraced(function*(contacts: number) {
  const sql = yield* SqlClient.SqlClient
  const skipped = 199 * page_size - 1
  const startOf = Effect.fnUntraced(function*(table: string, at: string, condition: string) {
    const [row] = yield* sql<{ readonly at: DateTime.Utc; readonly id: string }>`
      SELECT ${sql(at)} AS at, id
      FROM ${sql(table)}
      WHERE organization_id = ${Crowd.large} AND ${sql.literal(condition)}
      ORDER BY ${sql(at)} DESC, id DESC
      OFFSET ${skipped}
      LIMIT 1
    `
    return from(row)
  })
  return {
    contacts,
    conversations: yield* openConversations,
    known: yield* knownValues,
    page_200: {
      contacts: yield* startOf("contacts", "updated_at", "true"),
      conversations: yield* startOf("conversations", "last_activity_at", "true"),
      messages: yield* startOf("messages", "created_at", `conversation_id = '${thread}'`)
    }
  } satisfies Size
})

const actor = Layer.succeed(CurrentActor, { organization_id: Crowd.large, member_id: member(0) })

/** The service on a database, without workers. Reads share one connection. */
const service = (url: string) =>
  Layer.merge(Crm.layer, actor).pipe(
    Layer.provideMerge(Layer.mergeAll(Postgres.layer, Provider.layer("callback_ref"), Ids.layer, WorkSignal.layer)),
    Layer.provideMerge(Client.layer({ url: Redacted.make(url), connections: 3 }))
  )

/** The time that PostgreSQL has spent on a database: of its statements, and the processor time of its connections. */
interface Spent {
  readonly statements_us: number
  readonly processor_us: number
}

interface Database {
  readonly size: Size
  readonly run: <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.Effect<A, E>
  readonly spent: Effect.Effect<Spent>
}

/** Reads the processor time of a process, which the kernel gives in nanoseconds. */
const processorTime = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/schedstat`, "utf8").split(" ")[0]) / 1000

const open = Effect.fnUntraced(function*(url: string, contacts: number) {
  const context = yield* Layer.build(service(url))
  const run: Database["run"] = (effect) => Effect.provideContext(effect, context)
  const size = yield* run(sizeOf(contacts))
  // Another connection, so that reading the statistics is not counted: it is made in another database.
  const sql = yield* SqlClient.SqlClient
  const name = new URL(url).pathname.slice(1)
  const spent = sql<{ readonly us: number; readonly pids: ReadonlyArray<number> }>`
    SELECT
      coalesce(sum(total_exec_time + total_plan_time), 0) * 1000 AS us,
      ARRAY(SELECT pid FROM pg_stat_activity WHERE datname = ${name} AND backend_type = 'client backend') AS pids
    FROM pg_stat_statements(false)
    WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = ${name})
  `.pipe(
    Effect.map(([{ pids, us } = { us: 0, pids: [] }]): Spent => ({
      statements_us: us,
      processor_us: pids.map(processorTime).reduce((sum, each) => sum + each, 0)
    })),
    Effect.orDie
  )
  return { size, run, spent } satisfies Database
})

const at = (times: ReadonlyArray<number>, share: number): number => Math.round(percentile(times, share))

interface Cost {
  /** How many rows the last run returned. */
  readonly rows: number
  /** The median of the processor time. It depends less on what else the machine does than the other two. */
  readonly processor_p50_us: number
  readonly p50_us: number
  readonly p95_us: number
  /** The median time of the whole operation, the service's part included. */
  readonly elapsed_p50_us: number
}

/** The plans of a connection are made, and its caches filled, before anything is counted. */
const warm_up = 8

/**
 * Runs every case at two sizes in turn, and returns the time of one run in PostgreSQL
 * in microseconds: of all its statements together. Reads `/proc`, so it works on
 * Linux only.
 */
export const compare = Effect.fnUntraced(function*(
  urls: Readonly<Record<number, string>>,
  { only = /./, runs }: { readonly only?: RegExp; readonly runs: number }
) {
  const databases = yield* Effect.forEach(
    Object.entries(urls),
    ([contacts, url]) => open(url, Number(contacts))
  )
  const results: Record<string, Record<string, Cost>> = {}
  for (const [name, make] of Object.entries(cases)) {
    if (!only.test(name)) continue
    const costs = databases.map((): Array<Spent & { readonly elapsed_us: number }> => [])
    const rows = databases.map(() => 0)
    for (let run = 0; run < warm_up + runs; run++) {
      for (const [index, { run: runOn, size, spent }] of databases.entries()) {
        const effect = make(size, run)
        if (effect === null) continue
        const before = yield* spent
        const [elapsed, found] = yield* Effect.timed(runOn(effect))
        rows[index] = Array.isArray(found) ? found.length : 1
        const after = yield* spent
        if (run < warm_up) continue
        costs[index]?.push({
          statements_us: after.statements_us - before.statements_us,
          processor_us: after.processor_us - before.processor_us,
          elapsed_us: Duration.toMillis(elapsed) * 1000
        })
      }
    }
    results[name] = Object.fromEntries(
      databases.flatMap(({ size: { contacts } }, index) => {
        const of = costs[index] ?? []
        const statements = of.map(({ statements_us }) => statements_us)
        const cost: Cost = {
          rows: rows[index] ?? 0,
          processor_p50_us: at(of.map(({ processor_us }) => processor_us), 0.5),
          p50_us: at(statements, 0.5),
          p95_us: at(statements, 0.95),
          elapsed_p50_us: at(of.map(({ elapsed_us }) => elapsed_us), 0.5)
        }
        return of.length === 0 ? [] : [[contacts, cost]]
      })
    )
  }
  return results
})
