/** Row upserts: updates or creates the contacts of rows, and rejects second contacts of one person (contract §18.4). */
import { Array, Effect, Result } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import type { ImportedPerson, KnownPerson } from "./Contact.ts"
import { ContactStore } from "./Contacts.ts"
import { type ImportTable, KeyMissing, readRow } from "./ContactTable.ts"
import {
  ContactUpserts,
  type UpsertContact,
  UpsertContacts,
  type Upserted,
  type UpsertMatch,
  type UpsertRejection
} from "./ContactUpserts.ts"
import {
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

/** The columns by which rows can update contacts. */
export type UpsertKey = Exclude<UpsertMatch, "external_id">

// ----------------------------------------------------------- decisions

/** Returns the contact of a row to upsert. A row without tags keeps those of the contact. */
export const readUpsert = (table: ImportTable, key: UpsertKey, cells: ReadonlyArray<string>) =>
  Effect.map(
    Effect.result(readRow(table, cells)),
    Result.flatMap(({ tag_ids, ...fields }) =>
      (fields[key] ?? null) === null
        ? Result.fail(new KeyMissing({ column: key }))
        : Result.succeed({ ...fields, ...(tag_ids?.length ? { tag_ids } : {}) })
    )
  )

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

// ---------------------------------------------------------- operations

/** Makes the function that upserts contacts, and returns the outcome of each, in order. */
export const makeUpsertRead = Effect.gen(function*() {
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
