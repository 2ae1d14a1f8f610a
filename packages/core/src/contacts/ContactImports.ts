/**
 * Imports of contacts: many at once, from the rows of a table or one by one, each at most once (contract §18.4).
 *
 * An import never changes an existing contact, except where it is asked to update (`upsertRows`).
 */
import { Context, Effect, Layer, Result, type Schema } from "effect"
import { ContactFields } from "../catalog/ContactFields.ts"
import { Tags } from "../catalog/Tags.ts"
import type { CurrentActor } from "../kernel/Actor.ts"
import { operation } from "../kernel/Operations.ts"
import type { ContactUnnamed } from "./Contact.ts"
import type { CreateContact } from "./ContactInput.ts"
import { byAllValues, type ImportOutcome, makeInsertMissing, readImported } from "./ContactInsertions.ts"
import type { CustomValueInvalid, ReferenceUnknown } from "./ContactReferences.ts"
import {
  type CellsMismatch,
  type ColumnRepeated,
  type ColumnUnknown,
  type ImportTable,
  type KeyMissing,
  type KeyUnsuitable,
  readColumns,
  type TagUnknown,
  type TextBroken
} from "./ContactTable.ts"
import type { Upserted, UpsertRejection } from "./ContactUpserts.ts"
import { type ContactExists, defaultMode, type ImportMode } from "./ImportedPeople.ts"
import { makeUpsertRead, readUpsert, type UpsertKey } from "./RowUpserts.ts"

export type { ImportOutcome } from "./ContactInsertions.ts"
export { ContactExists, type ImportMode, type ImportPreview, makePreview } from "./ImportedPeople.ts"
export type { UpsertKey } from "./RowUpserts.ts"

// ---------------------------------------------------------------- data

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

/** How many contacts to import at once. One statement inserts them, well within the time limit of a statement. */
export const batch_size = 250

// ---------------------------------------------------------- operations

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
