/** The IDs of people as the networks write them, and as core does. */

/** A phone number as the network writes it: digits only. */
const digits = /^[1-9][0-9]{4,14}$/

/** Returns a network's ID in core's form: a number with `+`, any other ID unchanged. */
export const coreId = (id: string): string => digits.test(id) ? `+${id}` : id

/** Returns whether an ID in core's form is a phone number. */
export const isPhoneNumber = (id: string): boolean => id.startsWith("+") && digits.test(id.slice(1))

/**
 * The numbers with two spellings on WhatsApp: Argentina's with or without
 * the 9, Brazil's mobile numbers with or without the ninth digit, and Mexico's
 * with or without the 1.
 */
const pairs: ReadonlyArray<readonly [long: RegExp, short: RegExp, inserted: string]> = [
  [/^(\+54)9([1-8][0-9]{9})$/, /^(\+54)([1-8][0-9]{9})$/, "9"],
  [/^(\+55[1-9][1-9])9([6-9][0-9]{7})$/, /^(\+55[1-9][1-9])([6-9][0-9]{7})$/, "9"],
  [/^(\+52)1([1-9][0-9]{9})$/, /^(\+52)([1-9][0-9]{9})$/, "1"]
]

/** Returns the other spellings of a number. Most numbers have none. */
export const otherSpellings = (number: string): ReadonlyArray<string> =>
  pairs.flatMap(([long, short, inserted]) => {
    if (long.test(number)) return number.replace(long, "$1$2")
    return short.test(number) ? number.replace(short, `$1${inserted}$2`) : []
  })

export type Ids = ReadonlyArray<string | undefined>

const isPresent = (value: string | undefined): value is string => value !== undefined

/** Returns the rank of an ID among those of a person: numbers first, parent IDs last. */
export const rankOf = (id: string): number => isPhoneNumber(id) ? 0 : /^[A-Z]{2}\.ENT\./.test(id) ? 2 : 1

/** Returns the distinct IDs in core's form: numbers first, the other spellings of the numbers last. */
export const networkIdsOf = (given: Ids): ReadonlyArray<string> => {
  const ids = given.filter(isPresent).map(coreId).toSorted((a, b) => rankOf(a) - rankOf(b))
  return Array.from(new Set([...ids, ...ids.flatMap(otherSpellings)]))
}
