/** Lists that a store returns in pages, and their order. */
import { assert } from "@effect/vitest"
import { DateTime, Effect } from "effect"

/** Reads a list from its start to its end, page by page, and asserts that no page has more than `size` items. */
export const readAllPages = Effect.fnUntraced(function*<Item, Position, E, R>(
  size: number,
  read: (after: Position | null) => Effect.Effect<ReadonlyArray<Item>, E, R>,
  positionOf: (item: Item) => Position
) {
  const items: Array<Item> = []
  let position: Position | null = null
  for (;;) {
    const page: ReadonlyArray<Item> = yield* read(position)
    assert.isAtMost(page.length, size)
    const last = page.at(-1)
    if (last === undefined) return items
    items.push(...page)
    position = positionOf(last)
  }
})

/** Sorts rows by time, the latest first, and rows of the same time by ID, the greatest first. */
export const newestFirst = <Row extends { readonly id: string }>(
  rows: ReadonlyArray<Row>,
  at: (row: Row) => DateTime.Utc
) => rows.toSorted((a, b) => DateTime.Order(at(b), at(a)) || (a.id < b.id ? 1 : -1))

/** Returns the secrets of a store that do not begin with a prefix, read in pages of a size: ordered by ID, each once. */
export const sealedOtherwise = Effect.fnUntraced(function*<Id extends string, Row extends { readonly id: Id }>(
  store: {
    readonly sealedOtherwise: (prefix: string, after: Id | null, limit: number) => Effect.Effect<ReadonlyArray<Row>>
  },
  prefix: string,
  size: number
) {
  const secrets = yield* readAllPages(
    size,
    (after: Id | null) => store.sealedOtherwise(prefix, after, size),
    ({ id }) => id
  )
  const ids = secrets.map(({ id }) => id)
  assert.deepStrictEqual(ids, Array.from(new Set(ids)).toSorted())
  return secrets
})
