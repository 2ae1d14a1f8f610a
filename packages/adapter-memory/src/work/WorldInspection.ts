/** Reads rows of a `WorldState`, for tests that check what a program has stored. */
export { all, get, has, type TableRef } from "../world/Table.ts"
export { IdempotencyRows } from "./PrivateTables.ts"
