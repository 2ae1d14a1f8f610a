/**
 * Contacts: the people in the CRM, with their identities on the channels (spec §2.1, §4.2).
 */
import { Context, DateTime, Effect, Layer, Option, Result, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import type { ChannelType } from "./Channels.ts"
import type { AddNote, Contact, CreateContact, Identity, Person, UpdateContact, Who } from "./Contacts/Contact.ts"
import {
  type CustomValueInvalid,
  reader,
  type References,
  type ReferenceUnknown,
  resolve
} from "./Contacts/References.ts"
import { type ContactFilters, type ContactMatch, needlesOf } from "./Contacts/Search.ts"
import { ContactId, type ConversationId, IdentityId, Ids, type MemberId, type OrganizationId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { type CursorInvalid, Cursors, type Page, type PageRequest } from "./Page.ts"
import type { Timestamp } from "./Timestamps.ts"
import { UnitOfWork } from "./UnitOfWork.ts"

// ---------------------------------------------------------------- data

export * from "./Contacts/Contact.ts"
export { CustomValueInvalid, ReferenceUnknown } from "./Contacts/References.ts"
export * from "./Contacts/Search.ts"

// -------------------------------------------------------------- errors

export class ContactNotFound extends Schema.TaggedError<ContactNotFound>()("ContactNotFound", {}) {}

/** A contact needs at least a name, a phone or an email. */
export class ContactUnnamed extends Schema.TaggedError<ContactUnnamed>()("ContactUnnamed", {}) {}

/** The notes would become longer than they may be. */
export class NotesTooLong extends Schema.TaggedError<NotesTooLong>()("NotesTooLong", {}) {}

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

/** Returns the contact that a person nobody knew becomes. */
export const introduce = (id: ContactId, person: Pick<Person, "phone">, updated_at: Timestamp): Contact => ({
  ...empty,
  id,
  primary_phone: person.phone,
  updated_at
})

/** Returns the contact that somebody describes, without what only its birth decides. */
export const compose = (
  references: References,
  input: CreateContact
): Result.Result<Omit<Contact, "id" | "updated_at">, ContactUnnamed | ReferenceUnknown | CustomValueInvalid> => {
  const { custom_values, tag_ids: _tag_ids, ...plain } = input
  const named = [plain.first_name, plain.last_name, plain.primary_phone, plain.primary_email]
  if (named.every((value) => value === undefined || value === null)) return Result.fail(new ContactUnnamed())
  return Result.map(resolve(references, input), (tags) => ({
    ...empty,
    ...plain,
    custom_values: present(custom_values ?? {}),
    tags
  }))
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
 * - `insertNew` inserts those of the contacts, whose ids differ, that the
 *   organization does not have, and returns their ids. The others stay as they
 *   are. Of any number of concurrent calls exactly one inserts a contact, and none fails.
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
 * - `claimIdentity` returns the identity of (organization, channel type) that
 *   is known by the external id or, failing that, the first alias that is known, and
 *   its contact; the names that are new become its aliases, and a display name
 *   and username that are given replace its own. When there is none it makes
 *   `identity`, for the most recently updated contact with that
 *   `primary_phone`, else for `newcomer`, which it then inserts. Of any number
 *   of concurrent calls that share a name all get one identity and one contact,
 *   and no other remains.
 * - `addAliases` makes the names lead to the identity, except those that lead to another.
 * - `renameIdentity` puts another name in the place of one that leads to an
 *   identity, as its external id if it was that, with a display name and
 *   username if given, and returns its contact: none, and nothing changes, when
 *   nobody is known by the former or somebody else by the other.
 * - `recordActivity` sets the contact's last activity and moves `updated_at`, never backwards.
 * - `replacePreview` replaces the preview when the last activity was at that very moment.
 */
export class ContactStore extends Context.Service<ContactStore, {
  readonly insert: (organization_id: OrganizationId, contact: Contact) => Effect.Effect<void>
  readonly insertNew: (
    organization_id: OrganizationId,
    contacts: ReadonlyArray<Contact>
  ) => Effect.Effect<ReadonlyArray<ContactId>>
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
    newcomer: Contact,
    aliases: ReadonlyArray<string>
  ) => Effect.Effect<Who>
  readonly addAliases: (
    organization_id: OrganizationId,
    channel_type: ChannelType,
    who: Who,
    aliases: ReadonlyArray<string>
  ) => Effect.Effect<void>
  readonly renameIdentity: (
    organization_id: OrganizationId,
    former: Pick<Identity, "channel_type" | "external_id">,
    now: Pick<Identity, "external_id" | "display_name" | "username">
  ) => Effect.Effect<Option.Option<ContactId>>
  readonly recordActivity: (
    organization_id: OrganizationId,
    id: ContactId,
    activity: { readonly at: Timestamp; readonly preview: string; readonly conversation_id: ConversationId }
  ) => Effect.Effect<void>
  readonly replacePreview: (
    organization_id: OrganizationId,
    id: ContactId,
    at: Timestamp,
    preview: string
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
  ) => Effect.Effect<Who>
  /** Follows a person to another id of the same type of channel, with their number if they had it. Joins the caller's unit of work. */
  readonly follow: (
    organization_id: OrganizationId,
    former_external_id: string,
    person: Person
  ) => Effect.Effect<void>
}>()("@messaging-crm/core/Contacts") {
  static readonly layer = Layer.effect(
    Contacts,
    Effect.gen(function*() {
      const cursors = yield* Cursors
      const ids = yield* Ids
      const read = yield* reader
      const store = yield* ContactStore
      const unitOfWork = yield* UnitOfWork

      const create = Effect.fn("Contacts.create")(function*(input: CreateContact) {
        const { organization_id } = yield* CurrentActor
        const described = yield* Effect.fromResult(compose(yield* read([input]), input))
        const contact: Contact = {
          ...described,
          id: ContactId.make(yield* ids.uuid),
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
        const tags = yield* Effect.fromResult(resolve(yield* read([input]), input))
        const move = (contact: Contact) =>
          Effect.succeed({ ...edit(contact, input), tags: input.tag_ids === undefined ? contact.tags : tags })
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
        return yield* store.claimIdentity(organization_id, identity, newcomer, person.aliases)
      })

      const follow = Effect.fn("Contacts.follow")(function*(
        organization_id: OrganizationId,
        former_external_id: string,
        person: Person
      ) {
        const former = { channel_type: person.channel_type, external_id: former_external_id }
        const contact_id = yield* store.renameIdentity(organization_id, former, person)
        if (Option.isNone(contact_id)) return
        const contact = Option.getOrThrow(yield* store.lock(organization_id, contact_id.value))
        const primary_phone = contact.primary_phone === former_external_id && person.phone !== null
          ? person.phone
          : contact.primary_phone
        yield* store.update(organization_id, { ...contact, primary_phone, updated_at: yield* DateTime.now })
      })

      return Contacts.of({ create, get, update, addNote, list, meet, follow })
    })
  )
}
