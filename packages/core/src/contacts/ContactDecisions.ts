/**
 * The rows of contacts, and the decisions about them: what a write sets, and the event that reports it (contract §8).
 */
import { DateTime, Option, Result, Schema, Struct } from "effect"
import { MemberRows } from "../accounts/Members.ts"
import * as Events from "../events/Events.ts"
import { ContactId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { resultFunction } from "../kernel/ResultFunction.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import {
  Contact,
  ContactChanged,
  ContactNotFound,
  ContactUnnamed,
  emptyContact,
  type LoadedContact,
  NotesTooLong,
  type Person
} from "./Contact.ts"
import type { AddNote, CreateContact, UpdateContact } from "./ContactInput.ts"
import {
  type CustomValueInvalid,
  editsTags,
  type References,
  type ReferenceUnknown,
  resolveReferences,
  type TagsTooMany,
  withinTagLimit
} from "./ContactReferences.ts"
import { emailKey, type Searched, searched_fields, searchText } from "./ContactSearch.ts"

// ---------------------------------------------------------------- data

/** The columns of a contact. Its row includes the texts by which it is found, and copies of its identities and tags. */
export const ContactColumns = Schema.Struct({
  ...Contact.fields,
  search_text: Schema.String,
  email_key: Schema.NullOr(Schema.String)
})
export interface ContactColumns extends Schema.Schema.Type<typeof ContactColumns> {}

export const ContactRows = Changes.declareTable(ContactColumns)({
  name: "contacts",
  key: { id: "uuid" },
  activity: {
    row: "contact_id",
    latest: "last_activity_at",
    newest: { last_activity_preview: "preview", last_conversation_id: "conversation_id" },
    moved: { updated_at: "at" }
  }
})

/** Returns the texts by which a contact is found. */
export const searchColumnsOf = (contact: Searched) => ({
  search_text: searchText(contact),
  email_key: emailKey(contact.primary_email)
})

/** Inserts a contact with the texts by which it is found. */
export const insertContact = (contact: Contact): Changes.Changes =>
  ContactRows.insert({ ...contact, ...searchColumnsOf(contact) })

// ----------------------------------------------------------- decisions

/** Why a contact is not updated. */
export type ContactRejection = ContactNotFound | ReferenceUnknown | CustomValueInvalid | TagsTooMany

/** Returns a new contact that has nothing but the person's phone, if known. */
export const newContact = (id: ContactId, person: Pick<Person, "phone">, updated_at: Timestamp): Contact => ({
  ...emptyContact,
  id,
  primary_phone: person.phone,
  updated_at
})

/** Returns the contact that `input` describes, without ID and `updated_at`. */
export const composeContact = (
  references: References,
  input: CreateContact
): Result.Result<Omit<Contact, "id" | "updated_at">, ContactUnnamed | ReferenceUnknown | CustomValueInvalid> => {
  const { custom_values, tag_ids: _tag_ids, ...plain } = input
  const named = [plain.first_name, plain.last_name, plain.primary_phone, plain.primary_email]
  if (named.every((value) => value === undefined || value === null)) return Result.fail(new ContactUnnamed())
  return Result.map(resolveReferences(references, input), (tags) => ({
    ...emptyContact,
    ...plain,
    custom_values: withoutNulls(custom_values ?? {}),
    tags
  }))
}

/** Expects the owners to be unchanged at the commit, which ensures that none of them has left. */
export const expectOwners = ({ owners }: References): Changes.Changes =>
  Changes.all(...Array.from(owners.values(), (owner) => MemberRows.expect(owner)))

/** Returns a contact without the version that it was loaded with. */
export const withoutVersion = ({ version: _version, ...contact }: Contact & Partial<LoadedContact>): Contact => contact

const resourceOf = (contact: Contact): Events.NamedResource<"contact"> => ({
  name: "contact",
  value: contact,
  contact_id: contact.id,
  message_id: null
})

/** Returns the IDs in the events of a contact. */
const dataOf = ({ id, last_conversation_id }: Contact) => ({ conversation_id: last_conversation_id, contact_id: id })

/** Inserts a contact, and raises the event of its creation. */
export const addContact = (contact: Contact, context: DecisionContext): Changes.Changes =>
  Changes.all(
    insertContact(contact),
    Changes.raise(Events.make("contact.created", dataOf(contact), context, resourceOf(contact)))
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
        { ...dataOf(contact), changed_fields },
        context,
        resourceOf(withoutVersion(contact))
      )
    )

/** Returns whether a field has the same value, as callers see it in JSON. */
const isSame = (after: unknown, before: unknown): boolean =>
  after === before || (typeof after === "object" && JSON.stringify(after) === JSON.stringify(before))

/** Sets fields of a contact, its `updated_at`, and the texts by which it is found. `updated_at` never moves backwards. */
export const changeContact = (
  { version, ...contact }: LoadedContact,
  set: Partial<Omit<Contact, "id">>,
  context: DecisionContext
): Changes.Decision<Contact> => {
  const updated_at = DateTime.max(contact.updated_at, context.now)
  const result: Contact = { ...contact, ...set, updated_at }
  const derived = searched_fields.some((field) => field in set)
    ? { updated_at, ...searchColumnsOf(result) }
    : { updated_at }
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
  Result.map(composeContact(references, input), (described) => {
    const contact: Contact = { ...described, id: ContactId.make(context.uuid()), updated_at: context.now }
    return { result: contact, changes: Changes.all(addContact(contact, context), expectOwners(references)) }
  })

/**
 * Sets the given fields of a contact.
 *
 * Custom fields that are not given keep their values; tags are replaced, or added and removed.
 */
export const update = resultFunction(
  function*(
    found: Option.Option<LoadedContact>,
    references: References,
    input: UpdateContact,
    context: DecisionContext
  ) {
    const resolved = yield* resolveReferences(references, input, Option.getOrUndefined(found))
    const loaded = yield* Result.fromOption(found, () => new ContactNotFound())
    if (Object.keys(input).length === 0) {
      // The response is recorded, and must not be after an erasure.
      return { result: withoutVersion(loaded), changes: ContactRows.expect(loaded) }
    }
    const { add_tag_ids: _add, custom_values, remove_tag_ids: _remove, tag_ids: _set, ...plain } = input
    const { result, changes } = changeContact(loaded, {
      ...plain,
      ...(custom_values === undefined ? {} : { custom_values: mergeCustomValues(loaded.custom_values, custom_values) }),
      ...(editsTags(input) ? { tags: yield* withinTagLimit(resolved) } : {})
    }, context)
    return { result, changes: Changes.all(changes, expectOwners(references)) }
  }
)

/** A contact as it was loaded for a write, and whether it meets the write's precondition. */
export interface CheckedContact {
  readonly found: Option.Option<LoadedContact>
  /** True if there is no precondition, or no contact. */
  readonly is_met: boolean
}

/** Decides about a contact that meets the precondition of the write, or does not exist. */
export const ifMet = <A, E>(
  { found, is_met }: CheckedContact,
  decide: (found: CheckedContact["found"]) => Result.Result<A, E>
): Result.Result<A, ContactChanged | E> => is_met ? decide(found) : Result.fail(new ContactChanged())

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
    : Result.succeed(changeContact(found.value, { notes }, context))
}

/** Returns the custom values after an update: null removes one value, or all. */
const mergeCustomValues = (
  values: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string | null>> | null
): Record<string, string> => given === null ? {} : withoutNulls({ ...values, ...given })

/**
 * Returns the given custom values without those that are null, ordered by field: the response of a write has the same bytes,
 * and so the same `ETag`, as a later read.
 */
const withoutNulls = (values: Readonly<Record<string, string | null>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values)
      .filter((entry): entry is [string, string] => entry[1] !== null)
      .toSorted(([a], [b]) => a < b ? -1 : 1)
  )
