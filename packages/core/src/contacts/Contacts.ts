/**
 * Contacts: the people in the CRM (contract §8).
 */
import { Context, DateTime, Effect, Layer, Option, Result, Schema, Struct } from "effect"
import { MemberRows } from "../accounts/Members.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { zipConcurrently } from "../kernel/Concurrency.ts"
import { ContactId, type OrganizationId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import {
  type CursorInvalid,
  Cursors,
  type ListOptions,
  type Page,
  type PageRequest,
  type Position
} from "../kernel/Page.ts"
import { resultFunction } from "../kernel/ResultFunction.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Events from "../webhooks/Events.ts"
import type { AuditRecord } from "../work/Audit.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext, type Write } from "../work/Decide.ts"
import type { Respond } from "../work/RecordedResponses.ts"
import {
  type AddNote,
  type Contact,
  type CreateContact,
  emptyContact,
  type Identity,
  type KnownIdentity,
  type LoadedContact,
  type MatchedContact,
  type Person,
  type UpdateContact
} from "./Contact.ts"
import {
  type CustomValueInvalid,
  editsTags,
  makeLoadReferences,
  type References,
  type ReferenceUnknown,
  resolve,
  type TagsTooMany,
  withinTagLimit
} from "./ContactReferences.ts"
import { ContactRows, insert, keysOf } from "./ContactRows.ts"
import { type ContactCriteria, type ContactFilters, criteriaOf, searched_fields } from "./ContactSearch.ts"

// ---------------------------------------------------------------- data

export * from "./Contact.ts"
export { CustomValueInvalid, ReferenceUnknown, TagsTooMany } from "./ContactReferences.ts"
export * from "./ContactRows.ts"
export * from "./ContactSearch.ts"

// -------------------------------------------------------------- errors

export class ContactNotFound extends Schema.TaggedError<ContactNotFound>()("ContactNotFound", {}) {}

/** A contact needs at least a name, a phone or an email. */
export class ContactUnnamed extends Schema.TaggedError<ContactUnnamed>()("ContactUnnamed", {}) {}

/** A list with filters took longer than a search may. The request is valid; a narrower one takes less time. */
export class SearchTimeout extends Schema.TaggedError<SearchTimeout>()("SearchTimeout", {}) {}

/** The contact has so many notes that no more of this length can be added. */
export class NotesTooLong extends Schema.TaggedError<NotesTooLong>()("NotesTooLong", { limit: Schema.Int }) {}

/** Why a contact is not updated. */
export type ContactRejection = ContactNotFound | ReferenceUnknown | CustomValueInvalid | TagsTooMany

// ----------------------------------------------------------- decisions

/** Returns a new contact that has nothing but the person's phone, if known. */
export const newContact = (id: ContactId, person: Pick<Person, "phone">, updated_at: Timestamp): Contact => ({
  ...emptyContact,
  id,
  primary_phone: person.phone,
  updated_at
})

/** Returns the contact that `input` describes, without ID and `updated_at`. */
export const compose = (
  references: References,
  input: CreateContact
): Result.Result<Omit<Contact, "id" | "updated_at">, ContactUnnamed | ReferenceUnknown | CustomValueInvalid> => {
  const { custom_values, tag_ids: _tag_ids, ...plain } = input
  const named = [plain.first_name, plain.last_name, plain.primary_phone, plain.primary_email]
  if (named.every((value) => value === undefined || value === null)) return Result.fail(new ContactUnnamed())
  return Result.map(resolve(references, input), (tags) => ({
    ...emptyContact,
    ...plain,
    custom_values: present(custom_values ?? {}),
    tags
  }))
}

/** Expects the owners to be unchanged at the commit, which ensures that none of them has left. */
export const ownersExpected = ({ owners }: References): Changes.Changes =>
  Changes.all(...Array.from(owners.values(), (owner) => MemberRows.expect(owner)))

/** Returns a contact without the version that it was loaded with. */
const withoutVersion = ({ version: _version, ...contact }: Contact & Partial<LoadedContact>): Contact => contact

const subjectOf = (contact: Contact): Events.Subject<"contact"> => ({
  name: "contact",
  value: contact,
  contact_id: contact.id,
  message_id: null
})

/** Inserts a contact, and raises the event of its creation. */
export const add = (contact: Contact, context: DecisionContext): Changes.Changes =>
  Changes.all(
    insert(contact),
    Changes.raise(Events.make("contact.created", { contact_id: contact.id }, context, subjectOf(contact)))
  )

/** Raises `contact.updated` with the names of the changed fields, if there are any. `contact` is the contact after the change. */
export const raiseUpdated = (
  contact: Contact & Partial<LoadedContact>,
  changed_fields: ReadonlyArray<string>,
  context: DecisionContext
): Changes.Changes =>
  changed_fields.length === 0
    ? Changes.none
    : Changes.raise(
      Events.make(
        "contact.updated",
        { contact_id: contact.id, changed_fields },
        context,
        subjectOf(withoutVersion(contact))
      )
    )

/** Returns whether a field has the same value, as callers see it in JSON. */
const isSame = (after: unknown, before: unknown): boolean =>
  after === before || (typeof after === "object" && JSON.stringify(after) === JSON.stringify(before))

/** Sets fields of a contact, its `updated_at`, and the texts by which it is found. `updated_at` never moves backwards. */
export const change = (
  { version, ...contact }: LoadedContact,
  set: Partial<Omit<Contact, "id">>,
  context: DecisionContext
): Changes.Decision<Contact> => {
  const updated_at = DateTime.max(contact.updated_at, context.now)
  const result: Contact = { ...contact, ...set, updated_at }
  const derived = searched_fields.some((field) => field in set) ? { updated_at, ...keysOf(result) } : { updated_at }
  // The preview is excluded: every activity changes it without an event, and here only an erasure sets it.
  const changed = Struct.keys(set).filter((field) =>
    field !== "last_activity_preview" && !isSame(result[field], contact[field])
  )
  return {
    result,
    changes: Changes.all(
      ContactRows.update({ id: contact.id, version }, { ...set, ...derived }),
      raiseUpdated(result, changed, context)
    )
  }
}

export const create = (
  references: References,
  input: CreateContact,
  context: DecisionContext
): Result.Result<Changes.Decision<Contact>, ContactUnnamed | ReferenceUnknown | CustomValueInvalid> =>
  Result.map(compose(references, input), (described) => {
    const contact: Contact = { ...described, id: ContactId.make(context.uuid()), updated_at: context.now }
    return { result: contact, changes: Changes.all(add(contact, context), ownersExpected(references)) }
  })

/** Returns a contact as it was loaded. */
export const current = (found: Option.Option<LoadedContact>): Result.Result<Contact, ContactNotFound> =>
  Result.map(Result.fromOption(found, () => new ContactNotFound()), withoutVersion)

/** Sets the given fields of a contact. Custom fields that are not given keep their values; tags are replaced, or added and removed. */
export const update = resultFunction(
  function*(
    found: Option.Option<LoadedContact>,
    references: References,
    input: UpdateContact,
    context: DecisionContext
  ) {
    const resolved = yield* resolve(references, input, Option.getOrUndefined(found))
    const loaded = yield* Result.fromOption(found, () => new ContactNotFound())
    if (Object.keys(input).length === 0) {
      return { result: yield* current(found), changes: Changes.none }
    }
    const { add_tag_ids: _add, custom_values, remove_tag_ids: _remove, tag_ids: _set, ...plain } = input
    const { result, changes } = change(loaded, {
      ...plain,
      ...(custom_values === undefined ? {} : { custom_values: merged(loaded.custom_values, custom_values) }),
      ...(editsTags(input) ? { tags: yield* withinTagLimit(resolved) } : {})
    }, context)
    return { result, changes: Changes.all(changes, ownersExpected(references)) }
  }
)

/** Appends a note after a blank line. */
export const addNote = (
  found: Option.Option<LoadedContact>,
  { text }: AddNote,
  context: DecisionContext
): Result.Result<Changes.Decision<Contact>, ContactNotFound | NotesTooLong> => {
  if (Option.isNone(found)) return Result.fail(new ContactNotFound())
  const notes = found.value.notes === null ? text : `${found.value.notes}\n\n${text}`
  return Array.from(notes).length > limits.notes_chars_max
    ? Result.fail(new NotesTooLong({ limit: limits.notes_chars_max }))
    : Result.succeed(change(found.value, { notes }, context))
}

/** Returns the custom values after an update: null removes one value, or all. */
const merged = (
  values: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string | null>> | null
): Record<string, string> => given === null ? {} : present({ ...values, ...given })

/** Returns the given custom values without those that are null. */
const present = (values: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null))

const position = ({ id, updated_at }: Contact): Position => ({ at: updated_at, id })

/** Returns how many characters the long texts of a contact have in JSON. Texts that are too short to matter are counted without escapes. */
const chars = ({ custom_values, notes }: Contact): number => {
  let count = notes?.length ?? 0
  // A loop, because a list of entries for each contact of a page costs more.
  for (const key in custom_values) count += key.length + (custom_values[key]?.length ?? 0)
  const isShort = 6 * count < limits.page_chars_max / limits.page_size_max
  return isShort ? count : JSON.stringify([custom_values, notes]).length
}

// ---------------------------------------------------------------- port

/**
 * Port: where contacts and their identities are read.
 *
 * **Contract** (checked by `conformance/Ports/Contacts.ts`)
 *
 * - `find` returns what was committed last, with its identities by ID and its
 *   tags by `name_key`, and none for another organization's contact. `load`
 *   returns the same with its version.
 * - `list` returns the contacts that pass every filter that is not null, ordered
 *   by `updated_at` descending, then ID descending, starting after the position.
 *   A term matches where the search text contains it, character by character.
 *   The filter for phone messaging also passes contacts with a `primary_phone`.
 *   `external_id` is any network ID of an identity, of the type `channel` if both are given.
 *   A store may fail with `SearchTimeout` if a list with filters takes more than a second,
 *   or waits longer than that for those of other organizations.
 * - `identify` looks network IDs up on a type of channel and returns the identities
 *   found, each with the ID that was looked up, in the order of the IDs.
 * - `match` returns the most recently updated contact with a phone or folded email, and whether there are others.
 * - `insertNew` inserts the contacts whose IDs the organization does not have,
 *   and returns the inserted IDs. The IDs given are distinct. Existing contacts
 *   stay as they are. Of the audit records it stores those of inserted contacts.
 *   Of any number of concurrent calls exactly one inserts a contact, and none fails.
 *   It is for imports; every other write is a commit.
 */
export class ContactStore extends Context.Service<ContactStore, {
  readonly find: (organization_id: OrganizationId, id: ContactId) => Effect.Effect<Option.Option<Contact>>
  readonly load: (organization_id: OrganizationId, id: ContactId) => Effect.Effect<Option.Option<LoadedContact>>
  readonly list: (
    organization_id: OrganizationId,
    match: ContactCriteria,
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<Contact>, SearchTimeout>
  readonly identify: (
    organization_id: OrganizationId,
    channel_type: Identity["channel_type"],
    network_ids: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<KnownIdentity>>
  readonly match: (
    organization_id: OrganizationId,
    by: "email_key" | "primary_phone",
    value: string
  ) => Effect.Effect<Option.Option<MatchedContact>>
  readonly insertNew: (
    organization_id: OrganizationId,
    contacts: ReadonlyArray<Contact>,
    records: ReadonlyArray<AuditRecord>
  ) => Effect.Effect<ReadonlyArray<ContactId>>
}>()("@messaging-crm/core/Contacts/ContactStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's contacts. */
export class Contacts extends Context.Service<Contacts, {
  /** Creates a contact. Sends no message (contract §8.3). */
  readonly create: Write<[input: CreateContact], Contact, ContactUnnamed | ReferenceUnknown | CustomValueInvalid>
  readonly get: (id: ContactId) => Effect.Effect<Contact, ContactNotFound, CurrentActor>
  /** Changes the given fields (contract §8.4). */
  readonly update: Write<[id: ContactId, input: UpdateContact], Contact, ContactRejection>
  /** Appends to the notes (contract §8.7). */
  readonly addNote: Write<[id: ContactId, input: AddNote], Contact, ContactNotFound | NotesTooLong>
  /** Returns a page of contacts, most recently updated first (contract §8.8). */
  readonly list: (
    options: ListOptions<ContactFilters>
  ) => Effect.Effect<Page<Contact>, CursorInvalid | SearchTimeout, CurrentActor>
}>()("@messaging-crm/core/Contacts") {
  static readonly layer = Layer.effect(
    Contacts,
    Effect.gen(function*() {
      const cursors = yield* Cursors
      const { runAudited } = yield* Decide
      const loadReferences = yield* makeLoadReferences
      const store = yield* ContactStore

      const createContact = operation("contacts.create")(
        function*<Out>(input: CreateContact, respond?: Respond<Contact, Out>) {
          return yield* runAudited("contacts.create", {
            load: loadReferences([input]),
            decide: (references, context) => create(references, input, context)
          }, respond)
        }
      )

      const get = operation("contacts.get")(function*(id: ContactId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        return yield* Effect.fromOption(found, () => new ContactNotFound())
      })

      const updateContact = operation("contacts.update")(function*<Out>(
        id: ContactId,
        input: UpdateContact,
        respond?: Respond<Contact, Out>
      ) {
        const { organization_id } = yield* CurrentActor
        const load = zipConcurrently(store.load(organization_id, id), loadReferences([input]))
        const decide = ([found, references]: Effect.Success<typeof load>, context: DecisionContext) =>
          update(found, references, input, context)
        return yield* runAudited("contacts.update", { load, decide, current: ([found]) => current(found) }, respond)
      })

      const addNoteToContact = operation("contacts.add_note")(function*<Out>(
        id: ContactId,
        input: AddNote,
        respond?: Respond<Contact, Out>
      ) {
        const { organization_id } = yield* CurrentActor
        return yield* runAudited("contacts.add_note", {
          load: store.load(organization_id, id),
          decide: (found, context) => addNote(found, input, context)
        }, respond)
      })

      const list = operation("contacts.list")(function*(
        { cursor, page_size, ...filters }: ListOptions<ContactFilters>
      ) {
        const { organization_id } = yield* CurrentActor
        const match = criteriaOf(filters)
        const fetch = (page: PageRequest) => store.list(organization_id, match, page)
        return yield* cursors.page({
          list: "contacts",
          filters: { ...match },
          cursor,
          size: page_size,
          fetch,
          position,
          chars
        })
      })

      return Contacts.of({ create: createContact, get, update: updateContact, addNote: addNoteToContact, list })
    })
  )
}
