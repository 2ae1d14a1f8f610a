import { DateTime } from "effect"

/** Stands in the model for an id that the service chooses. Later names have the higher ordinal, as later ids sort after. */
export class Name {
  readonly ordinal: number
  constructor(ordinal: number) {
    this.ordinal = ordinal
  }
}

/**
 * The names of one run and the ids they turned out to stand for.
 *
 * A name takes the id that is found in its place when the two first meet, and
 * keeps it. No two names take one id.
 */
export class Names {
  readonly #ids = new Map<Name, string>()
  readonly #taken = new Set<unknown>()
  #given = 0

  readonly give = (): Name => new Name(this.#given++)

  /** Returns the id of a name that has met one. */
  readonly idOf = (name: Name): string => this.#ids.get(name) ?? "a name that has not met its id"

  /** Returns what is expected with ids for names, and moments as the wire shows them. */
  readonly resolve = (expected: unknown, found: unknown): unknown => {
    if (expected instanceof Name) return this.#meet(expected, found)
    return wire(expected, found, this.resolve)
  }

  readonly #meet = (name: Name, found: unknown): unknown => {
    if (!this.#ids.has(name) && typeof found === "string" && !this.#taken.has(found)) {
      this.#ids.set(name, found)
      this.#taken.add(found)
    }
    return this.#ids.get(name) ?? name
  }
}

/** Returns a value with its parts passed through `each`, beside what was found in their place, and moments as text. */
const wire = (value: unknown, found: unknown, each: (part: unknown, found: unknown) => unknown): unknown => {
  if (DateTime.isDateTime(value)) return DateTime.formatIso(value)
  if (Array.isArray(value)) return value.map((part, index) => each(part, partOf(found, index)))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, each(part, partOf(found, key))]))
}

const partOf = (value: unknown, key: string | number): unknown =>
  typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : undefined

/** Returns what the service answered, with moments as the wire shows them. */
export const shown = (value: unknown): unknown => wire(value, value, shown)
