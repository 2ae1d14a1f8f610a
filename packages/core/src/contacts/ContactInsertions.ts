/**
 * Contact insertions: inserts the imported contacts that are missing, and changes none (contract §18.4).
 *
 * A contact's ID is a hash of its imported values (or of its key column), so an import that is repeated, was killed half
 * way or runs twice concurrently inserts only what is missing.
 */
import { Array, DateTime, Effect, Result } from "effect"
import { CurrentActor, RequestId } from "../kernel/Actor.ts"
import { ContactId, Ids, type OrganizationId, uuidOf } from "../kernel/Ids.ts"
import { sharedSpelling } from "../kernel/Phones.ts"
import { plainLine } from "../kernel/Text.ts"
import * as Audit from "../work/Audit.ts"
import { canonicalJson } from "../work/Idempotency.ts"
import type { Contact, ImportedPerson, KnownPerson } from "./Contact.ts"
import { composeContact } from "./ContactDecisions.ts"
import type { CreateContact } from "./ContactInput.ts"
import { makeLoadReferences } from "./ContactReferences.ts"
import { ContactStore } from "./Contacts.ts"
import { emailKey } from "./ContactSearch.ts"
import { type Column, type ImportTable, KeyMissing, readRow, valueOf } from "./ContactTable.ts"
import {
  type Added,
  addTo,
  ContactExists,
  type ImportMode,
  knownWith,
  nothing_known,
  nothingAdded,
  personOf,
  replaceSuccesses
} from "./ImportedPeople.ts"

// ---------------------------------------------------------------- data

/** The outcome for one contact: inserted, or present already. */
export type ImportOutcome = "created" | "unchanged"

// ----------------------------------------------------------- decisions

/** A contact to import, and the values from which its ID is made. */
interface Imported {
  readonly input: CreateContact
  readonly id_values: Readonly<Record<string, unknown>>
}

/** Identifies a contact by all its non-empty values. The order of the tags does not matter. */
export const byAllValues = (input: CreateContact): Imported => {
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
export const readImported = (table: ImportTable, cells: ReadonlyArray<string>) =>
  Effect.map(
    Effect.result(readRow(table, cells)),
    Result.flatMap((input) => table.key === null ? Result.succeed(byAllValues(input)) : byKey(input, table.key))
  )

/** Derives the ID of a contact from its values. The spellings of a number give the same ID. */
const idOf = (organization_id: OrganizationId, { id_values }: Imported): ContactId => {
  const { primary_phone, ...others } = id_values
  const phone = typeof primary_phone === "string" ? { primary_phone: sharedSpelling(primary_phone) } : {}
  return ContactId.make(uuidOf(organization_id, canonicalJson({ ...others, ...phone })))
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

// ---------------------------------------------------------- operations

/** Makes the function that inserts the contacts that are missing, and returns the outcome of each, in order. */
export const makeInsertMissing = Effect.gen(function*() {
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
