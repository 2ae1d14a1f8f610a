import type { PageRequest, Position } from "@messaging-crm/core/Page"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime } from "effect"

/** Order of two rows by a time, then by id: ids are hexadecimal in lower case, so their order is that of their bytes. */
const compare = (a: Position, b: Position): number =>
  DateTime.toEpochMillis(a.at) - DateTime.toEpochMillis(b.at) || (a.id < b.id ? -1 : Number(a.id > b.id))

interface Made {
  readonly id: string
  readonly created_at: Timestamp
}

/** Order of two rows from the oldest to the newest, then by id. */
export const byAge = (a: Made, b: Made): number =>
  compare({ at: a.created_at, id: a.id }, { at: b.created_at, id: b.id })

/** Returns the asked-for page of rows, from the newest to the oldest. */
export const page = <Row>(
  rows: ReadonlyArray<Row>,
  { after, size }: PageRequest,
  position: (row: Row) => Position
): ReadonlyArray<Row> =>
  rows
    .filter((row) => after === null || compare(position(row), after) < 0)
    .toSorted((a, b) => compare(position(b), position(a)))
    .slice(0, size)
