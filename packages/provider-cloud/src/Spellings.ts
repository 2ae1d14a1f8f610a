/** Converts a network's ids of a person into core's form. */

/** A phone number as the network writes it: digits only. */
const digits = /^[1-9][0-9]{4,14}$/

/** Returns a network's id in core's form: a number with `+`, any other id unchanged. */
export const spelled = (id: string): string => digits.test(id) ? `+${id}` : id

/** Returns whether an id in core's form is a phone number. */
export const isNumber = (id: string): boolean => id.startsWith("+") && digits.test(id.slice(1))

/**
 * The numbers with two spellings on phone messaging: Argentina's with or without
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
