/** The several ids under which a network knows one person, in the form that core keeps. */

/** A number: the network writes its digits alone. */
const digits = /^[1-9][0-9]{4,14}$/

/** Returns an id of the network's as core keeps it: a number with `+`, any other as it is. */
export const spelled = (id: string): string => digits.test(id) ? `+${id}` : id

/** Returns whether an id that core keeps is a number. */
export const isNumber = (id: string): boolean => id.startsWith("+") && digits.test(id.slice(1))

/**
 * The numbers that phone messaging spells in two ways: Brazil's mobile numbers
 * with or without the ninth digit, Mexico's with or without the 1.
 */
const pairs: ReadonlyArray<readonly [long: RegExp, short: RegExp, inserted: string]> = [
  [/^(\+55[1-9][1-9])9([6-9][0-9]{7})$/, /^(\+55[1-9][1-9])([6-9][0-9]{7})$/, "9"],
  [/^(\+52)1([1-9][0-9]{9})$/, /^(\+52)([1-9][0-9]{9})$/, "1"]
]

/** Returns the other spellings of a number, as far as the number itself tells: often none. */
export const otherSpellings = (number: string): ReadonlyArray<string> =>
  pairs.flatMap(([long, short, inserted]) => {
    if (long.test(number)) return number.replace(long, "$1$2")
    return short.test(number) ? number.replace(short, `$1${inserted}$2`) : []
  })
