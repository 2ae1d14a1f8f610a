/**
 * Contacts: the people in the CRM, with their identities on the channels (spec §2.1, §4.2).
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { ChannelType } from "./Channels.ts"
import { admits, ContactFieldStore, isCalendarDate, isWebUrl } from "./ContactFields.ts"
import type { ContactFieldId } from "./Ids.ts"
import { ContactId, ConversationId, IdentityId, Ids, MemberId, type OrganizationId, TagId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { Members } from "./Members.ts"
import { type CursorInvalid, Cursors, type Page, type PageRequest } from "./Page.ts"
import { Phone } from "./Phones.ts"
import { Tag, TagStore } from "./Tags.ts"
import { foldCase, line, lineOf, Text, text, visibleText } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"

// ---------------------------------------------------------------- data

export const LeadStatus = Schema.Literals([
  "new",
  "open",
  "in_progress",
  "open_deal",
  "unqualified",
  "attempted_to_contact",
  "connected",
  "bad_timing"
])
export type LeadStatus = typeof LeadStatus.Type

export const LifecycleStage = Schema.Literals([
  "subscriber",
  "lead",
  "marketing_qualified",
  "sales_qualified",
  "opportunity",
  "customer",
  "evangelist",
  "other"
])
export type LifecycleStage = typeof LifecycleStage.Type

/** Who a contact is on one type of channel. */
export const Identity = Schema.Struct({
  id: IdentityId,
  channel_type: ChannelType,
  external_id: Schema.String,
  display_name: Schema.NullOr(Schema.String),
  username: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Identity" })
export interface Identity extends Schema.Schema.Type<typeof Identity> {}

const OptionalText = Schema.NullOr(Schema.String)

export const Contact = Schema.Struct({
  id: ContactId,
  first_name: OptionalText,
  last_name: OptionalText,
  primary_email: OptionalText,
  primary_phone: OptionalText,
  company: OptionalText,
  job_title: OptionalText,
  birthday: OptionalText,
  city: OptionalText,
  region: OptionalText,
  country: OptionalText,
  street_address: OptionalText,
  postal_code: OptionalText,
  website_url: OptionalText,
  network_url: OptionalText,
  source: OptionalText,
  notes: OptionalText,
  owner_user_id: Schema.NullOr(MemberId),
  lead_status: Schema.NullOr(LeadStatus),
  lifecycle_stage: Schema.NullOr(LifecycleStage),
  custom_values: Schema.Record(Schema.String, Schema.String),
  identities: Schema.Array(Identity),
  tags: Schema.Array(Tag),
  last_activity_at: Schema.NullOr(Timestamp),
  last_activity_preview: OptionalText,
  last_conversation_id: Schema.NullOr(ConversationId),
  updated_at: Timestamp
}).annotate({ identifier: "Contact" })
export interface Contact extends Schema.Schema.Type<typeof Contact> {}

const name = line(limits.name_chars_max)

const email = lineOf(
  text({ min: 1, max: limits.email_chars_max }).check(
    Schema.makeFilter((value: string) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/u.test(value), {
      expected: "an email address"
    })
  )
)

const webUrl = lineOf(
  text({ min: 1, max: limits.url_chars_max }).check(
    Schema.makeFilter(isWebUrl, { expected: "an absolute http or https URL" })
  )
)

const birthday = lineOf(
  Text.check(Schema.makeFilter(isCalendarDate, { expected: "a date of the calendar, YYYY-MM-DD" }))
)

const CustomValue = text({ min: 0, max: limits.custom_value_chars_max })

/** What a caller may write, each field optional and nullable (spec §4.2). */
export const WritableContact = Schema.Struct({
  first_name: Schema.optionalKey(name),
  last_name: Schema.optionalKey(name),
  primary_email: Schema.optionalKey(email),
  primary_phone: Schema.optionalKey(lineOf(Phone)),
  company: Schema.optionalKey(name),
  job_title: Schema.optionalKey(name),
  birthday: Schema.optionalKey(birthday),
  city: Schema.optionalKey(name),
  region: Schema.optionalKey(name),
  country: Schema.optionalKey(name),
  street_address: Schema.optionalKey(name),
  postal_code: Schema.optionalKey(name),
  website_url: Schema.optionalKey(webUrl),
  network_url: Schema.optionalKey(webUrl),
  source: Schema.optionalKey(name),
  notes: Schema.optionalKey(Schema.NullOr(text({ min: 0, max: limits.notes_chars_max }))),
  owner_user_id: Schema.optionalKey(Schema.NullOr(MemberId)),
  lead_status: Schema.optionalKey(Schema.NullOr(LeadStatus)),
  lifecycle_stage: Schema.optionalKey(Schema.NullOr(LifecycleStage)),
  custom_values: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.NullOr(CustomValue)))),
  tag_ids: Schema.optionalKey(Schema.NullOr(Schema.Array(TagId).check(Schema.isMaxLength(limits.tag_ids_max))))
})
export interface WritableContact extends Schema.Schema.Type<typeof WritableContact> {}

export const CreateContact = WritableContact.annotate({ identifier: "CreateContact" })
export interface CreateContact extends WritableContact {}

/** What a caller may change: a field that is absent keeps its value, null clears it (spec §4.2). */
export const UpdateContact = WritableContact.annotate({ identifier: "UpdateContact" })
export interface UpdateContact extends WritableContact {}

export const AddNote = Schema.Struct({
  text: visibleText({ min: limits.note_text_chars_min, max: limits.note_text_chars_max })
}).annotate({ identifier: "AddNote" })
export interface AddNote extends Schema.Schema.Type<typeof AddNote> {}

/** Which contacts a list shows; a filter that is null lets all pass (spec §4.1). */
export interface ContactFilters {
  readonly query: string | null
  readonly tag_id: TagId | null
  readonly owner_user_id: MemberId | null
  readonly lifecycle_stage: LifecycleStage | null
  readonly channel: ChannelType | null
}

/** What is looked for in a contact's search text: any one of the needles. */
export interface ContactMatch extends Omit<ContactFilters, "query"> {
  readonly needles: ReadonlyArray<string> | null
}

/** A person as a channel shows them: what is needed to find or create a contact. */
export interface Person {
  readonly channel_type: ChannelType
  readonly external_id: string
  /** The number, where the channel's ids are numbers. */
  readonly phone: string | null
  readonly display_name: string | null
  readonly username: string | null
}

// -------------------------------------------------------------- errors

export class ContactNotFound extends Schema.TaggedError<ContactNotFound>()("ContactNotFound", {}) {}

/** A contact needs at least a name, a phone or an email. */
export class ContactUnnamed extends Schema.TaggedError<ContactUnnamed>()("ContactUnnamed", {}) {}

/** The body refers to something the organization does not have. `param` is its path. */
export class ReferenceUnknown extends Schema.TaggedError<ReferenceUnknown>()("ReferenceUnknown", {
  param: Schema.String
}) {}

/** The notes would become longer than they may be. */
export class NotesTooLong extends Schema.TaggedError<NotesTooLong>()("NotesTooLong", {}) {}

/** A custom value does not fit its field's type. */
export class CustomValueInvalid extends Schema.TaggedError<CustomValueInvalid>()("CustomValueInvalid", {
  param: Schema.String,
  type: Schema.String
}) {}

// ---------------------------------------------------------- transitions

const empty = {
  first_name: null,
  last_name: null,
  primary_email: null,
  primary_phone: null,
  company: null,
  job_title: null,
  birthday: null,
  city: null,
  region: null,
  country: null,
  street_address: null,
  postal_code: null,
  website_url: null,
  network_url: null,
  source: null,
  notes: null,
  owner_user_id: null,
  lead_status: null,
  lifecycle_stage: null,
  custom_values: {},
  identities: [],
  tags: [],
  last_activity_at: null,
  last_activity_preview: null,
  last_conversation_id: null
} satisfies Omit<Contact, "id" | "updated_at">

/** Returns a person's name, or null when the contact has none. */
export const fullName = (contact: Pick<Contact, "first_name" | "last_name">): string | null =>
  [contact.first_name, contact.last_name].filter((part) => part !== null).join(" ") || null

/** Returns the contact that a person nobody knew becomes. */
export const introduce = (id: ContactId, person: Person, updated_at: Timestamp): Contact => ({
  ...empty,
  id,
  primary_phone: person.phone,
  updated_at
})

/**
 * Returns the text that a `query` is looked for in: name, phone, email and
 * company, folded, each on a line of its own so that nothing matches across two.
 */
export const searchText = (contact: Contact): string =>
  [fullName(contact), contact.primary_phone, contact.primary_email, contact.company]
    .flatMap((part) => part === null ? [] : foldCase(part))
    .join("\n")

/** Returns what to look for, or null for a blank query. A number is also looked for without its separators. */
export const needlesOf = (query: string | null): ReadonlyArray<string> | null => {
  if (query === null || query.trim() === "") return null
  const digits = query.replace(/[\s()\-./+]/gu, "")
  return /^[0-9]+$/.test(digits) ? Array.from(new Set([foldCase(query), digits])) : [foldCase(query)]
}

/** Returns the notes with one more, after a blank line. */
const appended = (notes: string | null, text: string): string => notes === null ? text : `${notes}\n\n${text}`

/** Returns the contact with the values of the given fields; custom values merge by key. */
const edit = (contact: Contact, { custom_values, tag_ids: _tag_ids, ...plain }: UpdateContact): Contact => ({
  ...contact,
  ...plain,
  custom_values: custom_values === null ? {} : present({ ...contact.custom_values, ...custom_values })
})

/** Returns the given custom values without those that are null. */
const present = (values: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null))

// ---------------------------------------------------------------- port

/**
 * Port: where contacts and their identities are kept.
 *
 * **Contract** (checked by `conformance/Contacts.ts`)
 *
 * - `find` returns what was inserted, with its identities by id and its tags by
 *   `name_key`, and none for another organization's contact.
 * - `lock` returns what `find` returns, and lets no other unit of work pass the
 *   same point for that contact until this one ends.
 * - `list` returns the contacts that pass every filter that is not null, in
 *   `updated_at` descending, id descending, those after the position only. A
 *   needle matches where it is contained in the search text, character by
 *   character. A contact is on phone messaging also by its primary phone.
 * - `update` writes every field but the identities and the activity, and
 *   replaces the tags. `setOwner` writes the owner; both move `updated_at`, never backwards.
 * - `claimIdentity` returns the identity of (organization, channel type,
 *   external id) and its contact. When there is none it makes `identity`, for
 *   the most recently updated contact with that `primary_phone`, else for
 *   `newcomer`, which it then inserts. Of any number of concurrent calls all
 *   get one identity and one contact, and no other remains.
 * - `recordActivity` sets the contact's last activity and moves `updated_at`, never backwards.
 */
export class ContactStore extends Context.Service<ContactStore, {
  readonly insert: (organization_id: OrganizationId, contact: Contact) => Effect.Effect<void>
  readonly update: (organization_id: OrganizationId, contact: Contact) => Effect.Effect<void>
  readonly setOwner: (
    organization_id: OrganizationId,
    id: ContactId,
    owner_user_id: MemberId | null,
    now: Timestamp
  ) => Effect.Effect<void>
  readonly lock: (organization_id: OrganizationId, id: ContactId) => Effect.Effect<Option.Option<Contact>>
  readonly find: (organization_id: OrganizationId, id: ContactId) => Effect.Effect<Option.Option<Contact>>
  readonly list: (
    organization_id: OrganizationId,
    match: ContactMatch,
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<Contact>>
  readonly claimIdentity: (
    organization_id: OrganizationId,
    identity: Identity,
    newcomer: Contact
  ) => Effect.Effect<{ readonly identity_id: IdentityId; readonly contact_id: ContactId }>
  readonly recordActivity: (
    organization_id: OrganizationId,
    id: ContactId,
    activity: { readonly at: Timestamp; readonly preview: string; readonly conversation_id: ConversationId }
  ) => Effect.Effect<void>
}>()("@messaging-crm/core/Contacts/ContactStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's contacts. */
export class Contacts extends Context.Service<Contacts, {
  /** Creates a contact. Sends no message (spec §4.2). */
  readonly create: (
    input: CreateContact
  ) => Effect.Effect<Contact, ContactUnnamed | ReferenceUnknown | CustomValueInvalid, CurrentActor>
  readonly get: (id: ContactId) => Effect.Effect<Contact, ContactNotFound, CurrentActor>
  /** Changes the given fields (spec §4.2). */
  readonly update: (
    id: ContactId,
    input: UpdateContact
  ) => Effect.Effect<Contact, ContactNotFound | ReferenceUnknown | CustomValueInvalid, CurrentActor>
  /** Appends to the notes (spec §4.2). */
  readonly addNote: (
    id: ContactId,
    input: AddNote
  ) => Effect.Effect<Contact, ContactNotFound | NotesTooLong, CurrentActor>
  /** Returns a page of contacts, most recently updated first (spec §4.1). */
  readonly list: (
    options: ContactFilters & { readonly cursor: string | null; readonly page_size: number }
  ) => Effect.Effect<Page<Contact>, CursorInvalid, CurrentActor>
  /** Returns the identity and contact of a person, made now when nobody has met them. Joins the caller's unit of work. */
  readonly meet: (
    organization_id: OrganizationId,
    person: Person
  ) => Effect.Effect<{ readonly identity_id: IdentityId; readonly contact_id: ContactId }>
}>()("@messaging-crm/core/Contacts") {
  static readonly layer = Layer.effect(
    Contacts,
    Effect.gen(function*() {
      const cursors = yield* Cursors
      const fields = yield* ContactFieldStore
      const ids = yield* Ids
      const members = yield* Members
      const store = yield* ContactStore
      const tags = yield* TagStore
      const unitOfWork = yield* UnitOfWork

      const checkOwner = Effect.fnUntraced(function*(id: MemberId | null) {
        if (id === null) return
        yield* Effect.catchTag(
          members.get(id),
          "MemberNotFound",
          () => new ReferenceUnknown({ param: "owner_user_id" })
        )
      })

      const checkCustomValues = Effect.fnUntraced(function*(values: Readonly<Record<string, string | null>>) {
        if (Object.keys(values).length === 0) return
        const { organization_id } = yield* CurrentActor
        const known = new Map((yield* fields.list(organization_id)).map((field) => [field.id, field]))
        for (const [key, value] of Object.entries(values)) {
          const param = `custom_values.${key}`
          const field = known.get(key as ContactFieldId)
          if (field === undefined) return yield* new ReferenceUnknown({ param })
          if (value !== null && !admits(field, value)) return yield* new CustomValueInvalid({ param, type: field.type })
        }
      })

      const findTags = Effect.fnUntraced(function*(tag_ids: ReadonlyArray<TagId>) {
        if (tag_ids.length === 0) return []
        const { organization_id } = yield* CurrentActor
        const wanted = Array.from(new Set(tag_ids))
        const found = yield* tags.findMany(organization_id, wanted)
        return found.length === wanted.length ? found : yield* new ReferenceUnknown({ param: "tag_ids" })
      })

      const create = Effect.fn("Contacts.create")(function*(input: CreateContact) {
        const { organization_id } = yield* CurrentActor
        const { custom_values, tag_ids, ...plain } = input
        const named = [plain.first_name, plain.last_name, plain.primary_phone, plain.primary_email]
        if (named.every((value) => value === undefined || value === null)) return yield* new ContactUnnamed()
        yield* checkOwner(plain.owner_user_id ?? null)
        yield* checkCustomValues(custom_values ?? {})
        const contact: Contact = {
          ...empty,
          ...plain,
          id: ContactId.make(yield* ids.uuid),
          custom_values: present(custom_values ?? {}),
          tags: yield* findTags(tag_ids ?? []),
          updated_at: yield* DateTime.now
        }
        yield* store.insert(organization_id, contact)
        return contact
      })

      const get = Effect.fn("Contacts.get")(function*(id: ContactId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        return Option.isSome(found) ? found.value : yield* new ContactNotFound()
      })

      /** Changes the locked contact and writes it. */
      const change = Effect.fnUntraced(function*<E, R>(
        id: ContactId,
        move: (contact: Contact) => Effect.Effect<Contact, E, R>
      ) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.lock(organization_id, id)
        if (Option.isNone(found)) return yield* new ContactNotFound()
        const moved = yield* move(found.value)
        const updated_at = DateTime.max(found.value.updated_at, yield* DateTime.now)
        const contact = { ...moved, updated_at }
        yield* store.update(organization_id, contact)
        return contact
      })

      const update = Effect.fn("Contacts.update")(function*(id: ContactId, input: UpdateContact) {
        if (Object.keys(input).length === 0) return yield* get(id)
        yield* checkOwner(input.owner_user_id ?? null)
        yield* checkCustomValues(input.custom_values ?? {})
        const replaced = input.tag_ids === undefined ? null : yield* findTags(input.tag_ids ?? [])
        const move = (contact: Contact) => Effect.succeed({ ...edit(contact, input), tags: replaced ?? contact.tags })
        return yield* unitOfWork.transact(change(id, move))
      })

      const addNote = Effect.fn("Contacts.addNote")(function*(id: ContactId, { text }: AddNote) {
        const move = (contact: Contact) => {
          const notes = appended(contact.notes, text)
          return Array.from(notes).length > limits.notes_chars_max
            ? Effect.fail(new NotesTooLong())
            : Effect.succeed({ ...contact, notes })
        }
        return yield* unitOfWork.transact(change(id, move))
      })

      const list = Effect.fn("Contacts.list")(function*(
        { cursor, page_size, query, ...filters }: ContactFilters & {
          readonly cursor: string | null
          readonly page_size: number
        }
      ) {
        const { organization_id } = yield* CurrentActor
        const match = { ...filters, needles: needlesOf(query) }
        return yield* cursors.page({
          list: "contacts",
          filters: { ...match },
          cursor,
          size: page_size,
          fetch: (page) => store.list(organization_id, match, page),
          position: (contact) => ({ at: contact.updated_at, id: contact.id })
        })
      })

      const meet = Effect.fn("Contacts.meet")(function*(organization_id: OrganizationId, person: Person) {
        const newcomer = introduce(ContactId.make(yield* ids.uuid), person, yield* DateTime.now)
        const identity: Identity = {
          id: IdentityId.make(yield* ids.uuid),
          channel_type: person.channel_type,
          external_id: person.external_id,
          display_name: person.display_name,
          username: person.username
        }
        return yield* store.claimIdentity(organization_id, identity, newcomer)
      })

      return Contacts.of({ create, get, update, addNote, list, meet })
    })
  )
}
