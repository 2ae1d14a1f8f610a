/** The operations whose cost is compared, each as one run on a database. */
import type { CurrentActor } from "@messaging-crm/core/Actor"
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
import { AnyEventType, EventStore } from "@messaging-crm/core/Events"
import { ChannelId, ContactId, MemberId, TagId } from "@messaging-crm/core/Ids"
import { MessageStore } from "@messaging-crm/core/Messages"
import { everySend, type SendFilters, SendMessage, Sends, SendStore } from "@messaging-crm/core/Sends"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import type { Effect } from "effect"
import { DateTime } from "effect"
import type { SqlClient } from "effect/sql"
import { Crowd } from "../harness/Fixtures.ts"
import { type Dataset, page_1, thread } from "./Datasets.ts"

export type Services =
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
export type Case = (dataset: Dataset, run: number) => Effect.Effect<unknown, unknown, Services> | null

const everyone: ContactCriteria = criteriaOf({})

/** Returns a number up to `count` that is derived from the run without a visible pattern. */
const spread = (run: number, count: number): number => 1 + (run * 7_919 + 13) % count

/** Returns a contact of the large organization. */
const contactOf = (dataset: Dataset, run: number): ContactId => {
  const number = spread(run, dataset.contacts)
  return number % 100 < 90 ? ContactId.make(Crowd.id("contact", number)) : contactOf(dataset, run + 1)
}

const contacts = (match: Partial<ContactCriteria>): Case => () =>
  ContactStore.use((store) => store.list(Crowd.large, { ...everyone, ...match }, page_1))

/** Lists the contacts with a value that a contact has. */
const known = (field: keyof Dataset["known"]): Case => (dataset, run) =>
  contacts({ [field]: dataset.known[field] })(dataset, run)

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
export const member = (number: number) => MemberId.make(Crowd.id("member", number))

const listCases: Readonly<Record<string, Case>> = {
  "read a contact": (dataset, run) => ContactStore.use((store) => store.find(Crowd.large, contactOf(dataset, run))),
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
    page_200.messages && MessageStore.use((store) => store.list(Crowd.large, thread, page_200.messages ?? page_1))
}

const filterCases: Readonly<Record<string, Case>> = {
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
  "filters: a text of 1/100, a tag of 1/20": contacts({ search_terms: ["berba"], ...tag(1) })
}

const searchCases: Readonly<Record<string, Case>> = {
  "text without a match": text("nobody has this"),
  "number without a match": text("4915112345678"),
  "text of everybody": text("49"),
  "text of 1/10": text("gmbh"),
  "text of 1/100": text("berba"),
  "text of 1/10,000": text("zanzibar"),
  "text of 1/10, only the oldest": text("vergessen"),
  "text of another organization": text("elsewhere"),
  "text of one character, common": text("a"),
  "text of one character, of 1/10,000": text("漢"),
  "text of one character, without a match": text("ß"),
  "text of two characters, common": text("an"),
  "text of two characters, of 1/10,000": text("qx"),
  "text of two characters, without a match": text("q9"),
  "a part of a number": text("+49 151 1", "491511")
}

const writeCases: Readonly<Record<string, Case>> = {
  "update a contact's city": (dataset, run) =>
    Contacts.use((contacts) => contacts.update(contactOf(dataset, run), UpdateContact.make({ city: `City ${run}` }))),
  "update a contact's name": (dataset, run) =>
    Contacts.use((contacts) =>
      contacts.update(contactOf(dataset, run), UpdateContact.make({ first_name: `Kim ${run}` }))
    ),
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
  "send a text": (dataset, run) =>
    Sends.use((sends) =>
      sends.send(
        dataset.conversations[run % dataset.conversations.length] ?? thread,
        SendMessage.make({ type: "text", text: "Hello" })
      )
    )
}

/** Every case. Writes come last, because they make contacts the most recent ones. */
export const cases: Readonly<Record<string, Case>> = { ...listCases, ...filterCases, ...searchCases, ...writeCases }
