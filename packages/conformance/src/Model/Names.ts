import { DateTime } from "effect"

/** Stands in the model for an id that the service chooses. Later names have the higher ordinal, as later ids sort after. */
export class Name {
  readonly ordinal: number
  constructor(ordinal: number) {
    this.ordinal = ordinal
  }
}

/**
 * The names of one run, and the IDs to which they are bound.
 *
 * A name is bound to the ID that is first found in its place, and keeps it.
 * No two names are bound to one ID.
 */
export class Names {
  readonly #ids = new Map<Name, string>()
  readonly #bound = new Set<unknown>()
  #given = 0

  readonly give = (): Name => new Name(this.#given++)

  /** Returns the ID to which a name is bound. */
  readonly idOf = (name: Name): string => this.#ids.get(name) ?? "a name that is not bound to an ID"

  /** Returns the expected value with IDs for names, and moments as text. */
  readonly resolve = (expected: unknown, found: unknown): unknown => {
    if (expected instanceof Name) return this.#bind(expected, found)
    return wire(expected, found, this.resolve)
  }

  readonly #bind = (name: Name, found: unknown): unknown => {
    if (!this.#ids.has(name) && typeof found === "string" && !this.#bound.has(found)) {
      this.#ids.set(name, found)
      this.#bound.add(found)
    }
    return this.#ids.get(name) ?? name
  }
}

/** Maps the parts of a value with `each`, which also gets the part found in the same place. Moments become text. */
const wire = (value: unknown, found: unknown, each: (part: unknown, found: unknown) => unknown): unknown => {
  if (DateTime.isDateTime(value)) return DateTime.formatIso(value)
  if (Array.isArray(value)) return value.map((part, index) => each(part, partOf(found, index)))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, each(part, partOf(found, key))]))
}

const partOf = (value: unknown, key: string | number): unknown =>
  typeof value === "object" && value !== null && key in value ? Reflect.get(value, key) : undefined

/** Returns the service's result, with moments as text. */
export const shown = (value: unknown): unknown => wire(value, value, shown)
