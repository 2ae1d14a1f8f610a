/**
 * Imports of contacts: many at once, from the rows of a table or one by one, each at most once (contract §18.4).
 *
 * A contact's ID is a hash of its imported values (or of its key column), so an
 * import that is repeated, was killed half way or runs twice concurrently inserts
 * only what is missing. It never changes an existing contact, except where it is asked to update (`upsertRows`).
 */
import { Array, Context, DateTime, Effect, Layer, Result, Schema } from "effect"
import { ContactFields } from "../catalog/ContactFields.ts"
import { Tags } from "../catalog/Tags.ts"
import { CurrentActor, RequestId } from "../kernel/Actor.ts"
import { ContactId, Ids, type OrganizationId, uuidOf } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import { sharedSpelling, spellings } from "../kernel/Phones.ts"
import { plainLine } from "../kernel/PlainText.ts"
import * as Audit from "../work/Audit.ts"
import { canonicalJson } from "../work/Idempotency.ts"
import type { Contact, ContactUnnamed, ImportedPerson, KnownPerson } from "./Contact.ts"
import { composeContact } from "./ContactDecisions.ts"
import type { CreateContact } from "./ContactInput.ts"
import { type CustomValueInvalid, makeLoadReferences, type ReferenceUnknown } from "./ContactReferences.ts"
import { ContactStore } from "./Contacts.ts"
import { emailKey } from "./ContactSearch.ts"
import {
  type CellsMismatch,
  type Column,
  type ColumnRepeated,
  type ColumnUnknown,
  type ImportTable,
  KeyMissing,
  type KeyUnsuitable,
  readColumns,
  readRow,
  type TagUnknown,
  type TextBroken,
  valueOf
} from "./ContactTable.ts"
import {
  ContactUpserts,
  type UpsertContact,
  UpsertContacts,
  type Upserted,
  type UpsertMatch,
  type UpsertPreview,
  type UpsertRejection
} from "./ContactUpserts.ts"

// ---------------------------------------------------------------- data

/** The outcome for one contact: inserted, or present already. */
export type ImportOutcome = "created" | "unchanged"

/** Another contact, or an earlier row, has the phone or the email of a row that would create a contact. */
export class ContactExists extends Schema.TaggedError<ContactExists>()("ContactExists", {
  field: Schema.Literals(["primary_phone", "primary_email"])
}) {}

/** Why a contact cannot be imported. */
export type ImportRejection = ContactExists | ContactUnnamed | ReferenceUnknown | CustomValueInvalid

/** Why a row of a table cannot be imported. */
export type RowRejection =
  | ImportRejection
  | UpsertRejection
  | CellsMismatch
  | KeyMissing
  | TagUnknown
  | TextBroken
  | Schema.SchemaError

/** The columns by which rows can update contacts. */
export type UpsertKey = Exclude<UpsertMatch, "external_id">

/** The contacts that the rows of an import have added so far, as far as later rows depend on them. */
interface Added {
  readonly ids: Set<ContactId>
  readonly phones: Set<string>
  readonly email_keys: Set<string>
}

/** The contacts that the rows of an import would have written so far. It grows with each row. */
export interface ImportPreview {
  readonly added: Added
  readonly upserted: UpsertPreview
}

/** How rows are imported. */
export interface ImportMode {
  /** Whether a row can create a contact with the phone or email of another contact. */
  readonly allows_duplicates: boolean
  /** The rows write nothing, and only add to the preview; null to write. */
  readonly preview: ImportPreview | null
}

const defaultMode: ImportMode = { allows_duplicates: false, preview: null }

const nothingAdded = (): Added => ({ ids: new Set(), phones: new Set(), email_keys: new Set() })

/** Makes the preview of an import. */
export const makePreview = (): ImportPreview => ({ added: nothingAdded(), upserted: new Map() })

/** How many contacts to import at once. One statement inserts them, well within the time limit of a statement. */
export const batch_size = 250

// ----------------------------------------------------------- decisions

/** A contact to import, and the values from which its ID is made. */
interface Imported {
  readonly input: CreateContact
  readonly id_values: Readonly<Record<string, unknown>>
}

/** Identifies a contact by all its non-empty values. The order of the tags does not matter. */
const byAllValues = (input: CreateContact): Imported => {
  const { custom_values, tag_ids, ...plain } = input
  const values = Object.entries(custom_values ?? {}).map(([id, value]) => [`custom_values.${id}`, value] as const)
  const tags = Array.dedupe(tag_ids ?? []).toSorted().join() || null
  const all = [...Object.entries(plain), ...values, ["tag_ids", tags] as const]
  return { input, id_values: Object.fromEntries(all.filter(([, value]) => value !== null)) }
}

/** Identifies a contact by its value in the key column, an email regardless of case. */
const byKey = (input: CreateContact, key: Column): Result.Result<Imported, KeyMissing> => {
  const value = valueOf(input, key)
  return value === null
    ? Result.fail(new KeyMissing({ column: key.name }))
    : Result.succeed({
      input,
      id_values: { [key.param]: key.param === "primary_email" ? emailKey(value) : plainLine(value) }
    })
}

/** Returns the contact of a row to insert. */
const readImported = (table: ImportTable, cells: ReadonlyArray<string>) =>
  Effect.map(
    Effect.result(readRow(table, cells)),
    Result.flatMap((input) => table.key === null ? Result.succeed(byAllValues(input)) : byKey(input, table.key))
  )

/** Returns the contact of a row to upsert. A row without tags keeps those of the contact. */
const readUpsert = (table: ImportTable, key: UpsertKey, cells: ReadonlyArray<string>) =>
  Effect.map(
    Effect.result(readRow(table, cells)),
    Result.flatMap(({ tag_ids, ...fields }) =>
      (fields[key] ?? null) === null
        ? Result.fail(new KeyMissing({ column: key }))
        : Result.succeed({ ...fields, ...(tag_ids?.length ? { tag_ids } : {}) })
    )
  )

/** Derives the ID of a contact from its values. The spellings of a number give the same ID. */
const idOf = (organization_id: OrganizationId, { id_values }: Imported): ContactId => {
  const { primary_phone, ...others } = id_values
  const phone = typeof primary_phone === "string" ? { primary_phone: sharedSpelling(primary_phone) } : {}
  return ContactId.make(uuidOf(organization_id, canonicalJson({ ...others, ...phone })))
}

/** Returns the ID and the values by which a contact can exist already. */
const personOf = (
  { primary_email = null, primary_phone = null }: Readonly<Partial<Pick<Contact, "primary_email" | "primary_phone">>>,
  id: ContactId | null
): ImportedPerson => ({
  id,
  phones: primary_phone === null ? [] : spellings(primary_phone),
  email_key: emailKey(primary_email)
})

const nothing_known: KnownPerson = { has_id: false, has_phone: false, has_email: false }

/** Adds what rows before this one have added to what the organization has. */
const knownWith = (
  added: Added,
  { email_key, id, phones }: ImportedPerson,
  known: KnownPerson
): KnownPerson => ({
  has_id: known.has_id || (id !== null && added.ids.has(id)),
  has_phone: known.has_phone || phones.some((phone) => added.phones.has(phone)),
  has_email: known.has_email || (email_key !== null && added.email_keys.has(email_key))
})

const addTo = (added: Added, { email_key, id, phones }: ImportedPerson): void => {
  if (id !== null) added.ids.add(id)
  for (const phone of phones) added.phones.add(phone)
  if (email_key !== null) added.email_keys.add(email_key)
}

/** Returns whether a contact is added, is there already, or would be a second contact of one person. */
const outcomeOf = (
  { has_email, has_id, has_phone }: KnownPerson,
  { allows_duplicates }: ImportMode
): Result.Result<ImportOutcome, ContactExists> => {
  if (has_id) return Result.succeed("unchanged")
  if (allows_duplicates || !(has_phone || has_email)) return Result.succeed("created")
  return Result.fail(new ContactExists({ field: has_phone ? "primary_phone" : "primary_email" }))
}

/** Returns the outcomes of contacts to insert, in order, each of which depends on those before it. */
const outcomesOf = (
  people: ReadonlyArray<ImportedPerson>,
  known: ReadonlyArray<KnownPerson>,
  mode: ImportMode,
  added: Added
): ReadonlyArray<Result.Result<ImportOutcome, ContactExists>> =>
  people.map((person, index) => {
    const outcome = outcomeOf(knownWith(added, person, known[index] ?? nothing_known), mode)
    if (Result.isSuccess(outcome) && outcome.success === "created") addTo(added, person)
    return outcome
  })

/** Returns whether a contact has the value in the key column, and whether another one has the other value of phone and email. */
const matchesOf = ({ has_email, has_phone }: KnownPerson, key: UpsertKey) =>
  key === "primary_phone" ? { has_key: has_phone, has_other: has_email } : { has_key: has_email, has_other: has_phone }

/** Fails if an upsert would create a second contact of one person. */
const requireNew = (known: KnownPerson, key: UpsertKey): Result.Result<void, ContactExists> => {
  const { has_key, has_other } = matchesOf(known, key)
  return has_key || !has_other
    ? Result.void
    : Result.fail(new ContactExists({ field: key === "primary_phone" ? "primary_email" : "primary_phone" }))
}

/** Returns how many people come before the first that may be created or not, depending on one before it. */
const independentCount = (
  people: ReadonlyArray<ImportedPerson>,
  known: ReadonlyArray<KnownPerson>,
  key: UpsertKey
): number => {
  const added = nothingAdded()
  const first = people.findIndex((person, index) => {
    const { has_email, has_phone } = knownWith(added, person, nothing_known)
    addTo(added, person)
    return (has_email || has_phone) && !matchesOf(known[index] ?? nothing_known, key).has_key
  })
  return first < 0 ? people.length : first
}

/** Returns results in which each success is replaced by the next of the given results. */
const replaceSuccesses = <A, E, B, F>(
  results: ReadonlyArray<Result.Result<A, E>>,
  next: ReadonlyArray<Result.Result<B, F>>
): ReadonlyArray<Result.Result<B, E | F>> => {
  let index = 0
  return results.map(Result.flatMap((): Result.Result<B, F> => Array.getUnsafe(next, index++)))
}

// ---------------------------------------------------------- operations

/** Makes the function that inserts the contacts that are missing, and returns the outcome of each, in order. */
const makeInsertMissing = Effect.gen(function*() {
  const { next: uuid } = yield* Ids
  const loadReferences = yield* makeLoadReferences
  const store = yield* ContactStore

  const insert = Effect.fnUntraced(function*(contacts: ReadonlyArray<Contact>) {
    if (contacts.length === 0) return new Set<ContactId>()
    const actor = yield* CurrentActor
    const request_id = yield* RequestId
    const now = yield* DateTime.now
    const records = contacts.map(({ id }) => Audit.make("contacts.import", id, actor, request_id, { now, uuid }))
    return new Set(yield* store.insertNew(actor.organization_id, contacts, records))
  })

  /** Returns the outcomes of contacts, and inserts those that are created unless it is a preview. */
  const insertOrPreview = Effect.fnUntraced(function*(contacts: ReadonlyArray<Contact>, mode: ImportMode) {
    const { organization_id } = yield* CurrentActor
    const { allows_duplicates, preview } = mode
    const people = contacts.map((contact) => personOf(contact, contact.id))
    // The insertion itself finds the IDs that exist.
    const known = people.length === 0 || (allows_duplicates && preview === null)
      ? []
      : yield* store.knownPeople(organization_id, people)
    const outcomes = outcomesOf(people, known, mode, preview === null ? nothingAdded() : preview.added)
    if (preview !== null) return outcomes
    const isCreated = (index: number) => Result.getOrNull(Array.getUnsafe(outcomes, index)) === "created"
    const inserted = yield* insert(contacts.filter((_, index) => isCreated(index)))
    return outcomes.map((outcome, index) =>
      isCreated(index) && !inserted.has(Array.getUnsafe(contacts, index).id)
        ? Result.succeed("unchanged" as const)
        : outcome
    )
  })

  return Effect.fnUntraced(function*<E>(imported: ReadonlyArray<Result.Result<Imported, E>>, mode: ImportMode) {
    const { organization_id } = yield* CurrentActor
    const references = yield* loadReferences(Array.getSuccesses(imported).map(({ input }) => input))
    const now = yield* DateTime.now
    const contacts = imported.map(Result.flatMap((one) =>
      Result.map(
        composeContact(references, one.input),
        (contact): Contact => ({ ...contact, id: idOf(organization_id, one), updated_at: now })
      )
    ))
    return replaceSuccesses(contacts, yield* insertOrPreview(Array.getSuccesses(contacts), mode))
  })
})

/** Makes the function that upserts contacts, and returns the outcome of each, in order. */
const makeUpsertRead = Effect.gen(function*() {
  const store = yield* ContactStore
  const upserts = yield* ContactUpserts

  const upsertOrPreview = Effect.fnUntraced(
    function*(contacts: ReadonlyArray<UpsertContact>, key: UpsertKey, { preview }: ImportMode) {
      if (contacts.length === 0) return []
      const input = UpsertContacts.make({ match: key, contacts })
      return yield* preview === null ? upserts.upsert(input) : upserts.preview(input, preview.upserted)
    }
  )

  /** Upserts the first of some contacts that do not depend on each other, except those that would be second contacts. */
  const upsertFirst = Effect.fnUntraced(
    function*(contacts: ReadonlyArray<UpsertContact>, key: UpsertKey, mode: ImportMode) {
      const { organization_id } = yield* CurrentActor
      const added = mode.preview?.added ?? nothingAdded()
      const people = contacts.map((contact) => personOf(contact, null))
      const stored = yield* store.knownPeople(organization_id, people)
      const known = people.map((person, index) => knownWith(added, person, stored[index] ?? nothing_known))
      const count = independentCount(people, known, key)
      const allowed = known.slice(0, count).map((one) => requireNew(one, key))
      const wanted = contacts.slice(0, count).filter((_, index) => Result.isSuccess(Array.getUnsafe(allowed, index)))
      const results = replaceSuccesses(allowed, yield* upsertOrPreview(wanted, key, mode))
      for (const [index, result] of results.entries()) {
        if (Result.isSuccess(result)) addTo(added, Array.getUnsafe(people, index))
      }
      return results
    }
  )

  const upsertNew = Effect.fnUntraced(
    function*(contacts: ReadonlyArray<UpsertContact>, key: UpsertKey, mode: ImportMode) {
      const results: Array<Result.Result<Upserted, ContactExists | UpsertRejection>> = []
      while (results.length < contacts.length) {
        results.push(...yield* upsertFirst(contacts.slice(results.length), key, mode))
      }
      return results
    }
  )

  return Effect.fnUntraced(
    function*<E>(read: ReadonlyArray<Result.Result<UpsertContact, E>>, key: UpsertKey, mode: ImportMode) {
      const upsertAll = mode.allows_duplicates ? upsertOrPreview : upsertNew
      const results: ReadonlyArray<Result.Result<Upserted, ContactExists | UpsertRejection>> = yield* upsertAll(
        Array.getSuccesses(read),
        key,
        mode
      )
      return replaceSuccesses(read, results.map(Result.map(({ outcome }) => outcome)))
    }
  )
})

/** Operations that import contacts into the current actor's organization. */
export class ContactImports extends Context.Service<ContactImports, {
  /** Inserts the contacts that are missing, in one statement. Returns the outcome of each, in order. */
  readonly add: (
    inputs: ReadonlyArray<CreateContact>
  ) => Effect.Effect<ReadonlyArray<Result.Result<ImportOutcome, ImportRejection>>, never, CurrentActor>
  /** Reads the header of a table. `key` is the column that identifies a contact, or null for all columns. Writes nothing. */
  readonly open: (
    columns: ReadonlyArray<string>,
    key: string | null
  ) => Effect.Effect<ImportTable, ColumnUnknown | ColumnRepeated | KeyUnsuitable, CurrentActor>
  /**
   * Inserts the rows' contacts that are missing, in one statement. Returns the outcome of each row, in order. By default, a
   * row is rejected if another contact, or an earlier row, has its phone or email.
   */
  readonly addRows: (
    table: ImportTable,
    rows: ReadonlyArray<ReadonlyArray<string>>,
    mode?: ImportMode
  ) => Effect.Effect<ReadonlyArray<Result.Result<ImportOutcome, RowRejection>>, never, CurrentActor>
  /**
   * Updates or creates the rows' contacts, at most 100, which the key column identifies. An empty cell changes nothing.
   * Returns the outcome of each row, in order. By default, a row whose key is new is rejected if another contact, or an
   * earlier row, has its other value of phone and email.
   */
  readonly upsertRows: (
    table: ImportTable,
    key: UpsertKey,
    rows: ReadonlyArray<ReadonlyArray<string>>,
    mode?: ImportMode
  ) => Effect.Effect<ReadonlyArray<Result.Result<Upserted["outcome"], RowRejection>>, never, CurrentActor>
}>()("@messaging-crm/core/ContactImports") {
  static readonly layer = Layer.effect(
    ContactImports,
    Effect.gen(function*() {
      const fields = yield* ContactFields
      const insertMissing = yield* makeInsertMissing
      const tags = yield* Tags
      const upsertRead = yield* makeUpsertRead

      const add = operation("contacts.import")(function*(inputs: ReadonlyArray<CreateContact>) {
        const imported = inputs.map((input) => Result.succeed(byAllValues(input)))
        return yield* insertMissing(imported, { allows_duplicates: true, preview: null })
      })

      const open = operation("contacts.import")(function*(columns: ReadonlyArray<string>, key: string | null) {
        const catalogs = { fields: yield* fields.list, tags: yield* tags.list }
        return yield* Effect.fromResult(readColumns(columns, key, catalogs))
      })

      const addRows = operation("contacts.import")(
        function*(table: ImportTable, rows: ReadonlyArray<ReadonlyArray<string>>, mode: ImportMode = defaultMode) {
          return yield* insertMissing(yield* Effect.forEach(rows, (cells) => readImported(table, cells)), mode)
        }
      )

      const upsertRows = operation("contacts.import")(
        function*(
          table: ImportTable,
          key: UpsertKey,
          rows: ReadonlyArray<ReadonlyArray<string>>,
          mode: ImportMode = defaultMode
        ) {
          return yield* upsertRead(yield* Effect.forEach(rows, (cells) => readUpsert(table, key, cells)), key, mode)
        }
      )

      return ContactImports.of({ add, open, addRows, upsertRows })
    })
  )
}
