/** The IDs of people as the networks write them, and as core does. */
import { withSpellings } from "@messaging-crm/core/ContactIdentities"

/** A phone number as the network writes it: digits only. */
const digits = /^[1-9][0-9]{4,14}$/

/** Returns a network's ID in core's form: a number with `+`, any other ID unchanged. */
export const coreId = (id: string): string => digits.test(id) ? `+${id}` : id

/** Returns whether an ID in core's form is a phone number. */
export const isPhoneNumber = (id: string): boolean => id.startsWith("+") && digits.test(id.slice(1))

export type Ids = ReadonlyArray<string | undefined>

const isPresent = (value: string | undefined): value is string => value !== undefined

/** Returns the rank of an ID among those of a person: numbers first, parent IDs last. */
export const rankOf = (id: string): number => isPhoneNumber(id) ? 0 : /^[A-Z]{2}\.ENT\./.test(id) ? 2 : 1

/** Returns the distinct IDs in core's form: numbers first, the other spellings of the numbers last. */
export const networkIdsOf = (given: Ids): ReadonlyArray<string> => {
  const ids = given.filter(isPresent).map(coreId).toSorted((a, b) => rankOf(a) - rankOf(b))
  return withSpellings("phone_messaging", ids)
}
