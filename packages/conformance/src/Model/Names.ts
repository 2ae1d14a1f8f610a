import { DateTime } from "effect"

/** Stands in the model for an ID that the service chooses. */
export class Name {
  /** Later names have the higher ordinal, as most later IDs sort after. */
  readonly ordinal: number
  /** The ID to which the name is bound. */
  id: string | null = null
  constructor(ordinal: number) {
    this.ordinal = ordinal
  }
}

/** The order of names: that of their IDs where both are known. */
export const byId = (a: Name, b: Name): number =>
  a.id === null || b.id === null ? a.ordinal - b.ordinal : a.id < b.id ? -1 : a.id > b.id ? 1 : 0

/**
 * The names of one run, and the IDs to which they are bound.
 *
 * A name is bound to the ID that is first found in its place, and keeps it.
 * No two names are bound to one ID.
 */
export class Names {
  readonly #bound = new Set<unknown>()
  #given = 0

  readonly give = (): Name => new Name(this.#given++)

  /** Returns the ID to which a name is bound. */
  readonly idOf = (name: Name): string => name.id ?? "a name that is not bound to an ID"

  /** Returns the expected value with IDs for names, and moments as text. */
  readonly resolve = (expected: unknown, found: unknown): unknown => {
    if (expected instanceof Name) return this.#bind(expected, found)
    return wire(expected, found, this.resolve)
  }

  /** Binds the one name that is not bound yet to the one ID that no name is bound to. */
  readonly bindNewest = (names: ReadonlyArray<Name>, ids: ReadonlyArray<string>): void => {
    const name = names.find(({ id }) => id === null)
    if (name !== undefined) this.#bind(name, ids.find((id) => !this.#bound.has(id)))
  }

  readonly #bind = (name: Name, found: unknown): unknown => {
    if (name.id === null && typeof found === "string" && !this.#bound.has(found)) {
      name.id = found
      this.#bound.add(found)
    }
    return name.id ?? name
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
