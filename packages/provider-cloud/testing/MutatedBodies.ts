/** Bodies with an item of any kind, with random values, and broken in one place. */
import { Array, Effect, Random } from "effect"
import { documented } from "./Documented.ts"
import { good, goodEntry, type Kind, kinds } from "./ItemKinds.ts"

// ------------------------------------------------------------ random parts

const nested = (depth: number): unknown => depth === 0 ? [] : [nested(depth - 1)]

/** Values that replace parts of a body. */
const strange: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "\u0000",
  "\ud800",
  "%_\\\"'$1\u0130\u00DF\u1E9E\uFB01e\u0301\u05D0\u200D\uFFFD\u{1F600}",
  "x".repeat(10_000),
  "9".repeat(40),
  [],
  [[[]]],
  [null, 1, {}],
  nested(2000),
  {},
  { __proto__: null, constructor: { prototype: 1 } },
  { id: { id: { id: {} } } }
]

/** The values of a documented callback, by the fields that have them. */
const fieldsIn = (value: unknown): ReadonlyArray<readonly [name: string, value: unknown]> =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => [[name, inner] as const, ...fieldsIn(inner)])
    : []

const known = documented.flatMap(({ entry }) => fieldsIn(entry("1", "wamid.0"))).filter(([name]) => !/^\d+$/.test(name))
const vocabulary = Array.fromIterable(Map.groupBy(known, ([name]) => name).values())

const pick = <A>(values: ReadonlyArray<A>) =>
  Effect.map(Random.nextIntBetween(0, values.length - 1), (index) => Array.getUnsafe(values, index))

const chance = (probability: number) => Effect.map(Random.next, (drawn) => drawn < probability)

/** Returns any JSON: values that the networks document, and unusual ones. */
const tree: (depth: number) => Effect.Effect<unknown> = Effect.fnUntraced(function*(depth) {
  if (depth === 0 || (yield* chance(0.2))) return yield* pick(strange)
  const size = yield* Random.nextIntBetween(0, 4)
  const parts = yield* Effect.forEach(
    Array.makeBy(size, (index) => index),
    Effect.fnUntraced(function*() {
      const [name, value] = yield* Effect.flatMap(pick(vocabulary), pick)
      return [name, (yield* chance(0.5)) ? value : yield* tree(depth - 1)] as const
    })
  )
  return (yield* chance(0.8)) ? Object.fromEntries(parts) : parts.map(([, value]) => value)
})

/** Returns a value that a documented field of this name has, or any. */
const partOf = Effect.fnUntraced(function*(name: string) {
  const values = known.filter(([field]) => field === name).map(([, value]) => value)
  return values.length > 0 && (yield* chance(0.6)) ? yield* mutated(yield* pick(values)) : yield* tree(4)
})

type Path = ReadonlyArray<string>

/** Every place in a value. */
const placesIn = (value: unknown, path: Path = []): ReadonlyArray<Path> =>
  typeof value === "object" && value !== null && path.length < 20
    ? [path, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))]
    : [path]

const at = (value: unknown, path: Path): unknown => path.reduce((inner, key) => Object(inner)[key], value)

/** Returns a value with other values in one place: none, one, or several where the place is in a list. */
const replaced = (value: unknown, [key, ...rest]: Path, by: ReadonlyArray<unknown>): unknown => {
  if (key === undefined) return by[0]
  const entries = Object.entries(Object(value)).flatMap(([name, inner]): ReadonlyArray<readonly [string, unknown]> => {
    if (name !== key) return [[name, inner]]
    return rest.length > 0 ? [[name, replaced(inner, rest, by)]] : by.map((other) => [name, other])
  })
  return Array.isArray(value) ? entries.map(([, inner]) => inner) : Object.fromEntries(entries)
}

/** Returns a value with one place deleted, duplicated, moved to another place, or replaced by an unusual value. */
const mutated = Effect.fnUntraced(function*(value: unknown) {
  const places = placesIn(value)
  const [place, other] = [yield* pick(places), yield* pick(places)]
  const by = yield* pick([[], [at(value, place), at(value, place)], [at(value, other)], [yield* pick(strange)]])
  return replaced(value, place, by)
})

// ------------------------------------------------------------ bodies

/**
 * Returns a body with an item of a kind that is changed in one place, and its other messages in a body of their own.
 *
 * `isOfKind`: the item is certainly of its kind, because only its part is changed. It depends on the seed of
 * `Random`, and on `index`, which is part of the IDs in it.
 */
export const mutatedBody = Effect.fnUntraced(function*(account: string, index: number, given?: Kind) {
  const kind = given ?? (yield* pick(kinds))
  const { object } = kind
  const intact = [1, 2, 3].map((part) => good(object, account, `good.${index}.${part}`))
  const part = yield* partOf(kind.name.split(": ").at(-1) ?? "")
  const { entryOf, item } = kind.make(account, `${index}.0`, part)
  const apart = goodEntry(object, account, intact)
  const isOfKind = yield* chance(0.5)
  const entry = isOfKind
    ? [entryOf(item, intact)]
    : (yield* chance(0.5))
    ? [entryOf(yield* mutated(item), intact)]
    : [yield* mutated(entryOf(item, [])), apart]
  const text = yield* Effect.orElseSucceed(
    Effect.try(() => JSON.stringify({ object, entry })),
    () => JSON.stringify({ object, entry: [apart] })
  )
  return { text, intact: JSON.stringify({ object, entry: [apart] }), kind, isOfKind }
})
