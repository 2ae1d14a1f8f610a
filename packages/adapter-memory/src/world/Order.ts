import { fitting, type Found, type PageRequest, type Position } from "@messaging-crm/core/Page"
import { utf8Bytes } from "@messaging-crm/core/Text"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime } from "effect"

/** Compares two rows by time, then by id. IDs are lower-case hexadecimal, so text order is byte order. */
const compare = (a: Position, b: Position): number =>
  DateTime.toEpochMillis(a.at) - DateTime.toEpochMillis(b.at) || (a.id < b.id ? -1 : Number(a.id > b.id))

interface Created {
  readonly id: string
  readonly created_at: Timestamp
}

/** Returns the position of a row in the order of creation. */
export const positionOf = ({ created_at: at, id }: Created): Position => ({ at, id })

/** Compares two rows by age, the oldest first, then by id. */
export const byAge = (a: Created, b: Created): number => compare(positionOf(a), positionOf(b))

/** Returns at most `size` rows that come first in an order. Sorts no more rows than these. */
const first = <Row>(
  rows: Iterable<Row>,
  size: number,
  order: (one: Row, other: Row) => number
): ReadonlyArray<Row> => {
  const kept: Array<Row> = []
  for (const row of rows) {
    const last = kept[size - 1]
    if (last !== undefined && order(last, row) <= 0) continue
    kept.splice(kept.findLastIndex((other) => order(other, row) <= 0) + 1, 0, row)
    kept.length = Math.min(kept.length, size)
  }
  return kept
}

/** Returns the requested page of rows, from the newest to the oldest. */
export const page = <Row>(
  rows: Iterable<Row>,
  { after, size }: PageRequest,
  position: (row: Row) => Position
): ReadonlyArray<Row> => {
  const next = after === null ? rows : Array.from(rows).filter((row) => compare(position(row), after) < 0)
  return first(next, size, (one, other) => compare(position(other), position(one)))
}

/** Returns the bytes of a long text, or of a value as JSON. */
const bytesOf = (value: unknown): number =>
  value === null ? 0 : utf8Bytes(typeof value === "string" ? value : JSON.stringify(value))

/** Returns the requested page of rows with long columns, up to the limit of their bytes. */
export const longPage = <Row, Column extends keyof Row>(
  rows: Iterable<Row>,
  request: PageRequest,
  position: (row: Row) => Position,
  long: ReadonlyArray<Column>
): Found<Row> => {
  const length = (row: Row) => long.reduce((sum, column) => sum + bytesOf(row[column]), 0)
  return fitting(page(rows, request, position), length, position)
}

/** Returns at most `size` of the newest rows, the newest first. */
export const newest = <Row extends Created>(rows: Iterable<Row>, size: number): ReadonlyArray<Row> =>
  page(rows, { after: null, size }, positionOf)
