/**
 * Contacts: the people in the CRM (contract §8).
 */
import { type Array, Context, Effect, Layer, Option } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { zipConcurrently } from "../kernel/Concurrency.ts"
import { DefaultCountry } from "../kernel/Countries.ts"
import type { ContactId, OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import {
  type CursorInvalid,
  Cursors,
  type Found,
  type ListOptions,
  type Page,
  type PageRequest,
  type Position
} from "../kernel/Page.ts"
import type { AuditRecord } from "../work/Audit.ts"
import { Decide, type Write } from "../work/Decide.ts"
import {
  type Contact,
  type ContactChanged,
  ContactNotFound,
  type ContactPrecondition,
  type ContactUnnamed,
  type Identity,
  type ImportedPerson,
  type KnownIdentity,
  type KnownPerson,
  type LoadedContact,
  type MatchedContact,
  type NotesTooLong,
  type SearchTimeout
} from "./Contact.ts"
import {
  addNote,
  type CheckedContact,
  type ContactRejection,
  create,
  ifMet,
  update,
  withoutVersion
} from "./ContactDecisions.ts"
import type { AddNote, CreateContact, UpdateContact } from "./ContactInput.ts"
import { ExternalIdUnreadable, isReadable } from "./ContactNetworkIds.ts"
import { type CustomValueInvalid, makeLoadReferences, type ReferenceUnknown } from "./ContactReferences.ts"
import { type ContactCriteria, type ContactFilters, criteriaOf } from "./ContactSearch.ts"

export * from "./Contact.ts"
export * from "./ContactDecisions.ts"
export * from "./ContactInput.ts"
export { CustomValueInvalid, ReferenceUnknown, TagsTooMany } from "./ContactReferences.ts"
export * from "./ContactSearch.ts"

// ----------------------------------------------------------- decisions

/** Returns the position of a contact in lists. */
export const positionOf = ({ id, updated_at }: Pick<Contact, "id" | "updated_at">): Position => ({ at: updated_at, id })

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
 *   `notes` and `custom_values` are long texts. A store may stop a list with filters early, and
 *   then returns the contacts up to a position, and that position. It may fail with `SearchTimeout` if a list with filters
 *   takes more than a second, or waits longer than that for those of other organizations.
 * - `identify` looks network IDs up on a type of channel and returns the identities
 *   found, each with the ID that was looked up, in the order of the IDs.
 * - `match` returns the most recently updated contact with the first of the given phones or folded emails that any contact has,
 *   and whether others have it too. It looks all of them up at one time, so that it also finds a contact whose phone changes
 *   from one of them to another meanwhile.
 * - `knownPeople` returns for each contact to import, in the given order, whether the
 *   organization has a contact with its ID, and others with one of its phones or its folded email.
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
  ) => Effect.Effect<Found<Contact>, SearchTimeout>
  readonly identify: (
    organization_id: OrganizationId,
    channel_type: Identity["channel_type"],
    network_ids: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<KnownIdentity>>
  readonly match: (
    organization_id: OrganizationId,
    by: "email_key" | "primary_phone",
    values: Array.NonEmptyReadonlyArray<string>
  ) => Effect.Effect<Option.Option<MatchedContact>>
  readonly knownPeople: (
    organization_id: OrganizationId,
    people: ReadonlyArray<ImportedPerson>
  ) => Effect.Effect<ReadonlyArray<KnownPerson>>
  readonly insertNew: (
    organization_id: OrganizationId,
    contacts: ReadonlyArray<Contact>,
    records: ReadonlyArray<AuditRecord>
  ) => Effect.Effect<ReadonlyArray<ContactId>>
}>()("@messaging-crm/core/Contacts/ContactStore") {}

// ---------------------------------------------------------- operations

const makeList = Effect.gen(function*() {
  const cursors = yield* Cursors
  const store = yield* ContactStore

  return operation("contacts.list")(function*({ cursor, page_size, ...filters }: ListOptions<ContactFilters>) {
    const { organization_id } = yield* CurrentActor
    const match = criteriaOf(filters, yield* DefaultCountry)
    if (match.external_id !== null && !isReadable(match.channel, match.external_id)) {
      return yield* new ExternalIdUnreadable()
    }
    return yield* cursors.page({
      list: "contacts",
      filters: { ...match },
      cursor,
      size: page_size,
      fetch: (request) => store.list(organization_id, match, request),
      position: positionOf
    })
  })
})

/** Makes the function that loads a contact for a write, and checks the write's precondition. Each attempt to commit checks it again. */
const makeLoadChecked = Effect.gen(function*() {
  const { load } = yield* ContactStore

  const check = (
    found: Option.Option<LoadedContact>,
    precondition: ContactPrecondition
  ): Effect.Effect<CheckedContact> =>
    Option.isNone(found)
      ? Effect.succeed({ found, is_met: true })
      : Effect.map(precondition(withoutVersion(found.value)), (is_met) => ({ found, is_met }))

  return (organization_id: OrganizationId, id: ContactId, precondition?: ContactPrecondition) =>
    precondition === undefined
      ? Effect.map(load(organization_id, id), (found): CheckedContact => ({ found, is_met: true }))
      : Effect.flatMap(load(organization_id, id), (found) => check(found, precondition))
})

/** Operations on the current actor's contacts. */
export class Contacts extends Context.Service<Contacts, {
  /** Creates a contact. Sends no message (contract §8.3). */
  readonly create: Write<[input: CreateContact], Contact, ContactUnnamed | ReferenceUnknown | CustomValueInvalid>
  readonly get: (id: ContactId) => Effect.Effect<Contact, ContactNotFound, CurrentActor>
  /** Changes the given fields (contract §8.4) of a contact that meets the precondition. */
  readonly update: Write<
    [id: ContactId, input: UpdateContact, precondition?: ContactPrecondition],
    Contact,
    ContactChanged | ContactRejection
  >
  /** Appends to the notes (contract §8.7) of a contact that meets the precondition. */
  readonly addNote: Write<
    [id: ContactId, input: AddNote, precondition?: ContactPrecondition],
    Contact,
    ContactChanged | ContactNotFound | NotesTooLong
  >
  /** Returns a page of contacts, most recently updated first (contract §8.8). */
  readonly list: (
    options: ListOptions<ContactFilters>
  ) => Effect.Effect<Page<Contact>, CursorInvalid | ExternalIdUnreadable | SearchTimeout, CurrentActor>
}>()("@messaging-crm/core/Contacts") {
  static readonly layer = Layer.effect(
    Contacts,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const loadChecked = yield* makeLoadChecked
      const loadReferences = yield* makeLoadReferences
      const store = yield* ContactStore

      const createContact = write("contacts.create", function*(input: CreateContact) {
        return {
          load: loadReferences([input]),
          decide: (references, context) => create(references, input, context)
        }
      })

      const get = operation("contacts.get")(function*(id: ContactId) {
        const { organization_id } = yield* CurrentActor
        const found = yield* store.find(organization_id, id)
        return yield* Effect.fromOption(found, () => new ContactNotFound())
      })

      const updateContact = write("contacts.update", function*(
        id: ContactId,
        input: UpdateContact,
        precondition?: ContactPrecondition
      ) {
        const { organization_id } = yield* CurrentActor
        return {
          load: zipConcurrently(loadChecked(organization_id, id, precondition), loadReferences([input])),
          decide: ([checked, references], context) =>
            ifMet(checked, (found) => update(found, references, input, context))
        }
      })

      const addNoteToContact = write("contacts.add_note", function*(
        id: ContactId,
        input: AddNote,
        precondition?: ContactPrecondition
      ) {
        const { organization_id } = yield* CurrentActor
        return {
          load: loadChecked(organization_id, id, precondition),
          decide: (checked, context) => ifMet(checked, (found) => addNote(found, input, context))
        }
      })

      return Contacts.of({
        create: createContact,
        get,
        update: updateContact,
        addNote: addNoteToContact,
        list: yield* makeList
      })
    })
  )
}
