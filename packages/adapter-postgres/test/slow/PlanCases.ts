/** The lists whose plans are tested, and the rows of the crowd that they are tried on. */
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import type { ContactCriteria } from "@messaging-crm/core/Contacts"
import type { ConversationFilters } from "@messaging-crm/core/Conversations"
import {
  ChannelId,
  ContactId,
  ConversationId,
  MemberId,
  MessageId,
  SendId,
  TagId,
  WebhookDeliveryId,
  WebhookId
} from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import type { SendFilters } from "@messaging-crm/core/Sends"
import { DateTime, Effect, Struct } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import * as Crowd from "../../testing/Crowd.ts"

export const now = DateTime.makeUnsafe(Crowd.now)
export const channel = ChannelId.make(Crowd.id("channel", 3))
export const contact = ContactId.make(Crowd.id("contact", 1))
export const conversation = ConversationId.make(Crowd.id("conversation", 1))
export const message = MessageId.make(Crowd.id("message", 2))
export const webhook = WebhookId.make(Crowd.id("webhook", 2))
export const delivery = WebhookDeliveryId.make(Crowd.id("work", 9))
export const eventPage = {
  after: { at: DateTime.makeUnsafe("2026-05-20T00:00:00.000Z"), id: Crowd.id("event", 0) },
  size: 101
}
export const send = SendId.make(Crowd.id("send", 4))
export const tag = (number: number) => ({ tag_id: TagId.make(Crowd.id("tag", 10 + number)) })
export const owner = (number: number) => ({ owner_user_id: MemberId.make(Crowd.id("member", number)) })
export const assigned = (number: number) => ({ assigned_user_id: MemberId.make(Crowd.id("member", number)) })

/** The first page, and one from the middle of the order. */
export const pages: Readonly<Record<string, PageRequest>> = {
  "the first page": { after: null, size: 51 },
  "a late page": {
    after: { at: DateTime.makeUnsafe("2026-05-20T00:00:00.000Z"), id: Crowd.id("contact", 0) },
    size: 51
  }
}

export type Matches = Readonly<Record<string, Partial<ContactCriteria>>>

export const queries = {
  "a term of most contacts": { search_terms: ["an"] },
  "a character of most contacts": { search_terms: ["a"] },
  "a term of a tenth of the contacts": { search_terms: ["gmbh"] },
  "a term of a hundredth of the contacts": { search_terms: ["berba"] },
  "a term of ten contacts": { search_terms: ["zanzibar"] },
  "a term of no contact": { search_terms: ["nobody has this"] },
  "a term of another organization only": { search_terms: ["elsewhere"] },
  "two characters of ten contacts": { search_terms: ["qx"] },
  "two characters of no contact": { search_terms: ["q9"] },
  "a character of ten contacts": { search_terms: ["漢"] },
  "a character of no contact": { search_terms: ["ß"] },
  "no letters": { search_terms: ["+/-"] },
  "four digits": { search_terms: ["1511"] },
  "a part of a number": { search_terms: ["+49 151 1", "491511"] },
  "a term of many contacts without recent activity": { search_terms: ["vergessen"] },
  "a number": { search_terms: ["4915112345678"] }
} satisfies Matches

export const filters = {
  "an owner of many": owner(0),
  "an owner of ten": owner(19),
  "a common stage": { lifecycle_stage: "lead" },
  "a rare stage": { lifecycle_stage: "evangelist" },
  "a stage of no contact": { lifecycle_stage: "other" },
  "a common tag": tag(0),
  "a tag of a twentieth": tag(1),
  "a tag of fifty": tag(2),
  "a tag of no contact": tag(9),
  "phone messaging": { channel: "phone_messaging" },
  "a second channel": { channel: "photo_social" },
  "a channel of fifty": { channel: "page_messaging" }
} satisfies Matches

/** Filters and terms whose contacts are not among the most recent, or few. */
export const rare: ReadonlyArray<Partial<ContactCriteria>> = [
  queries["a term of many contacts without recent activity"],
  { ...queries["a term of many contacts without recent activity"], ...filters["a second channel"] },
  tag(3),
  { ...tag(3), ...filters["a second channel"] },
  queries["two characters of ten contacts"],
  { ...queries["a term of many contacts without recent activity"], ...filters["a rare stage"] },
  { ...tag(3), ...filters["an owner of many"] },
  queries["a part of a number"],
  queries["no letters"],
  queries["a term of a hundredth of the contacts"],
  filters["a channel of fifty"],
  filters["a tag of fifty"],
  { ...filters["a tag of a twentieth"], ...filters["a second channel"] },
  { ...filters["an owner of many"], ...filters["a rare stage"] },
  {
    ...queries["a term of a hundredth of the contacts"],
    ...filters["a tag of a twentieth"],
    ...filters["phone messaging"]
  }
]

/** Updates some contacts of all ages: when they were updated, their search text, or their tags. */
export const changeSome = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const some = (first: number) =>
    sql`organization_id = ${Crowd.large} AND id = ANY(${
      Array.from({ length: 200 }, (_, index) => Crowd.id("contact", first + 400 * index))
    }::text[]::uuid[])`
  yield* sql`
    UPDATE contacts
    SET updated_at = ${Crowd.now}::timestamptz - interval '3 days' - interval '1 ms' * length(search_text)
    WHERE ${some(1)}
  `
  yield* sql`
    WITH changed AS (
      UPDATE contacts SET search_text = search_text || ' vergessen qx' WHERE ${some(2)}
      RETURNING organization_id, id, search_text
    )
    UPDATE contact_texts copy SET search_text = changed.search_text
    FROM changed
    WHERE copy.organization_id = changed.organization_id AND copy.contact_id = changed.id
  `
  yield* sql`
    WITH changed AS (
      UPDATE contacts SET tags = '[]' WHERE ${some(3)}
      RETURNING organization_id, id
    )
    DELETE FROM contact_tags copy USING changed
    WHERE copy.organization_id = changed.organization_id AND copy.contact_id = changed.id
  `
})

/** Returns all combinations of two different filters. */
export const pairs = (matches: Matches) =>
  Object.entries(matches).flatMap(([a, left]) =>
    Object.entries(matches)
      .filter(([b, right]) => a < b && Object.keys(left)[0] !== Object.keys(right)[0])
      .map(([b, right]) => [`${a} and ${b}`, { ...left, ...right }] as const)
  )

export const telling = Struct.pick(queries, [
  "a term of most contacts",
  "a term of a tenth of the contacts",
  "a term of a hundredth of the contacts",
  "a term of ten contacts",
  "two characters of ten contacts",
  "a part of a number"
])

/** Returns the condition for `contact` to match, and to come after a page. */
const isMatch = Effect.fnUntraced(function*(match: Partial<ContactCriteria>, { after }: PageRequest) {
  const sql = yield* SqlClient.SqlClient
  const { channel, lifecycle_stage, search_terms, owner_user_id, tag_id } = { ...Fixtures.everyone, ...match }
  const all: Array<Statement.Fragment> = []
  if (after !== null) {
    all.push(sql`(contact.updated_at, contact.id) < (${DateTime.toDateUtc(after.at)}, ${after.id}::uuid)`)
  }
  if (lifecycle_stage !== null) all.push(sql`contact.lifecycle_stage = ${lifecycle_stage}`)
  if (owner_user_id !== null) all.push(sql`contact.owner_user_id = ${owner_user_id}`)
  if (search_terms !== null) {
    all.push(sql.or(search_terms.map((term) => sql`position(${term} IN copy.search_text) > 0`)))
  }
  if (tag_id !== null) all.push(sql`contact.id IN (SELECT contact_id FROM contact_tags WHERE tag_id = ${tag_id})`)
  if (channel !== null) {
    all.push(sql`(
      contact.id IN (SELECT contact_id FROM identities WHERE channel_type = ${channel})
      OR (${channel} = 'phone_messaging' AND contact.primary_phone IS NOT NULL)
    )`)
  }
  return sql.and(all)
})

/** Finds the contacts on a page of each match, with one check of every contact. */
export const matching = Effect.fnUntraced(function*(
  cases: ReadonlyArray<readonly [match: Partial<ContactCriteria>, page: PageRequest]>
) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* Effect.forEach(
    cases,
    ([match, page]) =>
      Effect.map(isMatch(match, page), (condition) =>
        sql`to_jsonb((
        array_agg(contact.id ORDER BY contact.updated_at DESC, contact.id DESC) FILTER (WHERE ${condition})
      )[:${sql.literal(String(page.size))}])`)
  )
  const [row] = yield* sql<{ readonly ids: ReadonlyArray<ReadonlyArray<ContactId> | null> }>`
    SELECT jsonb_build_array(${sql.csv(found)}) AS ids
    FROM contacts contact
    JOIN contact_texts copy ON copy.contact_id = contact.id
    WHERE contact.organization_id = ${Crowd.large}
  `
  return (row?.ids ?? []).map((ids) => ids ?? [])
})

/** Filters that name one contact of the crowd. */
const exact: Matches = {
  "a phone": { phones: ["+4915561335771"] },
  "a phone with two spellings": { phones: ["+551187654321", "+4915561335771"] },
  "an email": { email_key: "gunbastein10058@crowd.example" },
  "an external id": { external_id: "person-10058" },
  "an external id on a channel": { external_id: "person-10058", channel: "photo_social" }
}

/** The names of these filters. */
export const named: ReadonlySet<string> = new Set(Object.keys(exact))

const combined: Matches = {
  ...exact,
  "contacts updated since": { updated_since: DateTime.makeUnsafe("2026-11-01T00:00:00.000Z") },
  "contacts updated in the future": { updated_since: DateTime.makeUnsafe("2999-01-01T00:00:00.000Z") }
}

export const searches = Object.entries<Partial<ContactCriteria>>({
  everyone: {},
  ...combined,
  ...Object.fromEntries(
    Object.entries(combined).map(([name, match]) => [
      `${name} and other filters`,
      { search_terms: ["an"], ...tag(0), ...owner(0), lifecycle_stage: "lead", ...match }
    ])
  ),
  ...queries,
  ...filters,
  "a tag of contacts without recent activity": tag(3),
  ...Object.fromEntries(pairs({ ...telling, ...filters }))
})

/** Returns every combination with at most one filter of each group. */
const combinations = <Filters extends object>(
  groups: ReadonlyArray<Readonly<Record<string, Partial<Filters>>>>
): ReadonlyArray<readonly [name: string, filters: Partial<Filters>]> =>
  groups.reduce<ReadonlyArray<readonly [string, Partial<Filters>]>>(
    (all, group) =>
      all.flatMap(([name, filters]) => [
        [name, filters] as const,
        ...Object.entries(group).map(([other, more]) => [`${name} ${other}`, { ...filters, ...more }] as const)
      ]),
    [["all", {}]]
  )

export const sendFilters = combinations<SendFilters>([
  {
    "that were sent": { status: "sent" },
    "that failed": { status: "failed" },
    "that wait": { status: "queued" },
    "whose outcome is unknown": { status: "unknown" }
  },
  { "of a conversation": { conversation_id: conversation } },
  {
    "since a time": { created_since: DateTime.makeUnsafe("2026-11-01T00:00:00.000Z") },
    "since a time in the future": { created_since: DateTime.makeUnsafe("2999-01-01T00:00:00.000Z") }
  }
])

export const conversationFilters = combinations<ConversationFilters>([
  { open: { status: "open" }, closed: { status: "closed" } },
  {
    "of a member with many": assigned(1),
    "of a member with few": assigned(19),
    "of a member with none": assigned(0),
    "of no member": { unassigned: true }
  },
  {
    "on a channel": { channel_id: channel },
    "on a channel without any": { channel_id: ChannelId.make(Crowd.id("channel", 4)) }
  },
  {
    "with a contact": { contact_id: contact },
    "with a contact without any": { contact_id: ContactId.make(Crowd.id("contact", 99_990)) }
  }
])
