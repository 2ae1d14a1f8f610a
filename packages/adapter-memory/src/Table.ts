/**
 * Rows by owner and key. The owner comes first in every call, so that a row of
 * one organization cannot be reached with the id of another.
 */
import { HashMap, Option } from "effect"

export type Table<Row> = HashMap.HashMap<string, HashMap.HashMap<string, Row>>

export const empty = <Row>(): Table<Row> => HashMap.empty()

const shelf = <Row>(table: Table<Row>, owner: string): HashMap.HashMap<string, Row> =>
  Option.getOrElse(HashMap.get(table, owner), () => HashMap.empty<string, Row>())

export const get = <Row>(table: Table<Row>, owner: string, key: string): Option.Option<Row> =>
  HashMap.get(shelf(table, owner), key)

export const has = <Row>(table: Table<Row>, owner: string, key: string): boolean =>
  HashMap.has(shelf(table, owner), key)

export const set = <Row>(table: Table<Row>, owner: string, key: string, row: Row): Table<Row> =>
  HashMap.set(table, owner, HashMap.set(shelf(table, owner), key, row))

export const remove = <Row>(table: Table<Row>, owner: string, key: string): Table<Row> => {
  const rest = HashMap.remove(shelf(table, owner), key)
  return HashMap.isEmpty(rest) ? HashMap.remove(table, owner) : HashMap.set(table, owner, rest)
}

/** Returns every row of an owner, in no order. */
export const all = <Row>(table: Table<Row>, owner: string): ReadonlyArray<Row> => HashMap.toValues(shelf(table, owner))
