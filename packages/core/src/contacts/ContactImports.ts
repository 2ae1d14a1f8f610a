/**
 * Imports of contacts: many at once, from the rows of a table or one by one, each at most once (contract §18.4).
 *
 * A contact's ID is a hash of its imported values (or of its key column), so an
 * import that is repeated, was killed half way or runs twice concurrently inserts
 * only what is missing. It never changes an existing contact, except where it is asked to update (`upsertRows`).
 */
import { Array, Context, DateTime, Effect, Layer, Result, type Schema } from "effect"
import { ContactFields } from "../catalog/ContactFields.ts"
import { Tags } from "../catalog/Tags.ts"
import { CurrentActor, RequestId } from "../kernel/Actor.ts"
import { ContactId, Ids, type OrganizationId, uuidOf } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import { sharedSpelling } from "../kernel/Phones.ts"
import { plainLine } from "../kernel/PlainText.ts"
import * as Audit from "../work/Audit.ts"
import { canonicalJson } from "../work/Idempotency.ts"
import type { Contact, ContactUnnamed } from "./Contact.ts"
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
  UpsertContacts,
  type Upserted,
  type UpsertMatch,
  type UpsertRejection
} from "./ContactUpserts.ts"

// ---------------------------------------------------------------- data

/** The outcome for one contact: inserted, or present already. */
export type ImportOutcome = "created" | "unchanged"

/** Why a contact cannot be imported. */
export type ImportRejection = ContactUnnamed | ReferenceUnknown | CustomValueInvalid

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

// ---------------------------------------------------------- operations

/** Makes the function that inserts the contacts that are missing, and returns the outcome of each, in order. */
const makeInsertMissing = Effect.gen(function*() {
  const { next: uuid } = yield* Ids
  const loadReferences = yield* makeLoadReferences
  const store = yield* ContactStore

  return Effect.fnUntraced(function*<E>(imported: ReadonlyArray<Result.Result<Imported, E>>) {
    const actor = yield* CurrentActor
    const { organization_id } = actor
    const request_id = yield* RequestId
    const references = yield* loadReferences(Array.getSuccesses(imported).map(({ input }) => input))
    const now = yield* DateTime.now
    const contacts = imported.map(Result.flatMap((one) =>
      Result.map(
        composeContact(references, one.input),
        (contact): Contact => ({ ...contact, id: idOf(organization_id, one), updated_at: now })
      )
    ))
    const distinct = Array.dedupeWith(Array.getSuccesses(contacts), (a, b) => a.id === b.id)
    const records = distinct.map(({ id }) => Audit.make("contacts.import", id, actor, request_id, { now, uuid }))
    const inserted = new Set(yield* store.insertNew(organization_id, distinct, records))
    // `delete` is true once for each ID, so only the first of several equal contacts counts as created.
    return contacts.map(Result.map(({ id }): ImportOutcome => inserted.delete(id) ? "created" : "unchanged"))
  })
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
  /** Inserts the rows' contacts that are missing, in one statement. Returns the outcome of each row, in order. */
  readonly addRows: (
    table: ImportTable,
    rows: ReadonlyArray<ReadonlyArray<string>>
  ) => Effect.Effect<ReadonlyArray<Result.Result<ImportOutcome, RowRejection>>, never, CurrentActor>
  /**
   * Updates or creates the rows' contacts, at most 100, which the key column identifies. An empty cell changes nothing.
   * Returns the outcome of each row, in order.
   */
  readonly upsertRows: (
    table: ImportTable,
    key: UpsertKey,
    rows: ReadonlyArray<ReadonlyArray<string>>
  ) => Effect.Effect<ReadonlyArray<Result.Result<Upserted["outcome"], RowRejection>>, never, CurrentActor>
}>()("@messaging-crm/core/ContactImports") {
  static readonly layer = Layer.effect(
    ContactImports,
    Effect.gen(function*() {
      const fields = yield* ContactFields
      const insertMissing = yield* makeInsertMissing
      const tags = yield* Tags
      const upserts = yield* ContactUpserts

      const add = operation("contacts.import")(function*(inputs: ReadonlyArray<CreateContact>) {
        return yield* insertMissing(inputs.map((input) => Result.succeed(byAllValues(input))))
      })

      const open = operation("contacts.import")(function*(columns: ReadonlyArray<string>, key: string | null) {
        const catalogs = { fields: yield* fields.list, tags: yield* tags.list }
        return yield* Effect.fromResult(readColumns(columns, key, catalogs))
      })

      const addRows = operation("contacts.import")(
        function*(table: ImportTable, rows: ReadonlyArray<ReadonlyArray<string>>) {
          return yield* insertMissing(yield* Effect.forEach(rows, (cells) => readImported(table, cells)))
        }
      )

      const upsertRows = operation("contacts.import")(
        function*(table: ImportTable, key: UpsertKey, rows: ReadonlyArray<ReadonlyArray<string>>) {
          const read = yield* Effect.forEach(rows, (cells) => readUpsert(table, key, cells))
          const contacts = Array.getSuccesses(read)
          const results = contacts.length === 0
            ? []
            : yield* upserts.upsert(UpsertContacts.make({ match: key, contacts }))
          // There is a result for each row that was read, in order.
          let next = 0
          return read.map(
            Result.flatMap((): Result.Result<Upserted["outcome"], RowRejection> =>
              Result.map(Array.getUnsafe(results, next++), ({ outcome }) => outcome)
            )
          )
        }
      )

      return ContactImports.of({ add, open, addRows, upsertRows })
    })
  )
}
