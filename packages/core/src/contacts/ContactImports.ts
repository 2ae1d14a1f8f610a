/**
 * Imports of contacts: many at once, from a table or described one by one, and each at most once.
 *
 * A contact's id follows from what is said of it, so an import that is repeated,
 * or was killed in the middle, or runs twice at a time, finds what is there and
 * adds what is not. It never changes a contact.
 */
import { Array, Context, DateTime, Effect, Layer, Result, type Schema } from "effect"
import { ContactFields } from "../catalog/ContactFields.ts"
import { Tags } from "../catalog/Tags.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { ContactId, type OrganizationId, uuidOf } from "../kernel/Ids.ts"
import { canonicalJson } from "../work/Idempotency.ts"
import { reader } from "./ContactReferences.ts"
import {
  compose,
  type Contact,
  ContactStore,
  type ContactUnnamed,
  type CreateContact,
  type CustomValueInvalid,
  type ReferenceUnknown
} from "./Contacts.ts"
import {
  type CellsMismatch,
  type Column,
  type ColumnRepeated,
  type ColumnUnknown,
  KeyMissing,
  type KeyUnsuitable,
  readColumns,
  readRow,
  type Table,
  type TagUnknown,
  type TextBroken,
  valueOf
} from "./ContactTable.ts"

// ---------------------------------------------------------------- data

/** What became of a contact to import: it is new, or it was there. */
export type Arrival = "created" | "unchanged"

/** Why a contact cannot be imported. */
export type ContactRefused = ContactUnnamed | ReferenceUnknown | CustomValueInvalid

/** Why a row of a table cannot be imported. */
export type RowRefused = ContactRefused | CellsMismatch | KeyMissing | TagUnknown | TextBroken | Schema.SchemaError

/** How many contacts are best imported at once: one statement writes them, and ends long before it is cut short. */
export const batch_size = 250

// ----------------------------------------------------------- decisions

/** A contact to import, and what makes it the one that it is. */
interface Described {
  readonly input: CreateContact
  readonly identity: Readonly<Record<string, unknown>>
}

/** A contact is the one of which all of this is said: whatever is not empty, and its tags in no order. */
const byEverything = (input: CreateContact): Described => {
  const { custom_values, tag_ids, ...plain } = input
  const values = Object.entries(custom_values ?? {}).map(([id, value]) => [`custom_values.${id}`, value] as const)
  const tags = Array.dedupe(tag_ids ?? []).toSorted().join() || null
  const said = [...Object.entries(plain), ...values, ["tag_ids", tags] as const]
  return { input, identity: Object.fromEntries(said.filter(([, value]) => value !== null)) }
}

/** A contact is the one with this value in the key. */
const byKey = (input: CreateContact, key: Column): Result.Result<Described, KeyMissing> => {
  const value = valueOf(input, key)
  return value === null
    ? Result.fail(new KeyMissing({ column: key.name }))
    : Result.succeed({ input, identity: { [key.param]: value } })
}

const idOf = (organization_id: OrganizationId, { identity }: Described): ContactId =>
  ContactId.make(uuidOf(organization_id, canonicalJson(identity)))

// ---------------------------------------------------------- operations

/** Operations that bring many contacts to the current actor's organization. */
export class ContactImports extends Context.Service<ContactImports, {
  /** Creates those of the contacts that the organization lacks, in one step, and answers for each. */
  readonly add: (
    inputs: ReadonlyArray<CreateContact>
  ) => Effect.Effect<ReadonlyArray<Result.Result<Arrival, ContactRefused>>, never, CurrentActor>
  /** Understands the columns of a table, of which `key` alone tells contacts apart unless it is null. Writes nothing. */
  readonly open: (
    columns: ReadonlyArray<string>,
    key: string | null
  ) => Effect.Effect<Table, ColumnUnknown | ColumnRepeated | KeyUnsuitable, CurrentActor>
  /** Creates those of the rows' contacts that the organization lacks, in one step, and answers for each row. */
  readonly addRows: (
    table: Table,
    rows: ReadonlyArray<ReadonlyArray<string>>
  ) => Effect.Effect<ReadonlyArray<Result.Result<Arrival, RowRefused>>, never, CurrentActor>
}>()("@messaging-crm/core/ContactImports") {
  static readonly layer = Layer.effect(
    ContactImports,
    Effect.gen(function*() {
      const fields = yield* ContactFields
      const read = yield* reader
      const store = yield* ContactStore
      const tags = yield* Tags

      const arrive = Effect.fnUntraced(function*<E>(described: ReadonlyArray<Result.Result<Described, E>>) {
        const { organization_id } = yield* CurrentActor
        const references = yield* read(Array.getSuccesses(described).map(({ input }) => input))
        const updated_at = yield* DateTime.now
        const contacts = described.map(Result.flatMap((one) =>
          Result.map(
            compose(references, one.input),
            (contact): Contact => ({ ...contact, id: idOf(organization_id, one), updated_at })
          )
        ))
        const distinct = Array.dedupeWith(Array.getSuccesses(contacts), (a, b) => a.id === b.id)
        const inserted = new Set(yield* store.insertNew(organization_id, distinct))
        // Of several that are one contact, the first is the one that was inserted.
        return contacts.map(Result.map(({ id }): Arrival => inserted.delete(id) ? "created" : "unchanged"))
      })

      const add = Effect.fn("ContactImports.add")((inputs: ReadonlyArray<CreateContact>) =>
        arrive(inputs.map((input) => Result.succeed(byEverything(input))))
      )

      const open = Effect.fn("ContactImports.open")(function*(columns: ReadonlyArray<string>, key: string | null) {
        const catalogues = { fields: yield* fields.list, tags: yield* tags.list }
        return yield* Effect.fromResult(readColumns(columns, key, catalogues))
      })

      const addRows = Effect.fn("ContactImports.addRows")(
        (table: Table, rows: ReadonlyArray<ReadonlyArray<string>>) =>
          arrive(rows.map((cells) =>
            Result.gen(function*() {
              const input = yield* readRow(table, cells)
              return table.key === null ? byEverything(input) : yield* byKey(input, table.key)
            })
          ))
      )

      return ContactImports.of({ add, open, addRows })
    })
  )
}
