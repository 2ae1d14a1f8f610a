/**
 * Searching and filtering the list of contacts (contract §8.8, §8.9).
 */
import { Option } from "effect"
import type { ChannelType } from "../catalog/Channels.ts"
import type { MemberId, TagId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { canonical, spellings } from "../kernel/Phones.ts"
import { firstCharacters, foldCase } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import type { Contact, LifecycleStage } from "./Contact.ts"

/** The filters of a list. A filter that is null does not filter (contract §8.8). */
export interface ContactFilters {
  readonly query: string | null
  readonly tag_id: TagId | null
  readonly owner_user_id: MemberId | null
  readonly lifecycle_stage: LifecycleStage | null
  readonly channel: ChannelType | null
  /** A number in its canonical form. */
  readonly phone: string | null
  readonly email: string | null
  /** A network ID of an identity, of the type `channel` if that is given. */
  readonly external_id: string | null
  readonly updated_since: Timestamp | null
}

/** The filters that every contact passes. */
export const everyContact: ContactFilters = {
  query: null,
  tag_id: null,
  owner_user_id: null,
  lifecycle_stage: null,
  channel: null,
  phone: null,
  email: null,
  external_id: null,
  updated_since: null
}

/** Returns the text by which contacts with an email are found, regardless of case. */
export const emailKey = (primary_email: string | null): string | null =>
  primary_email === null ? null : foldCase(primary_email)

/** The terms of a query: its folded text, and another spelling of it. */
export type SearchTerms = readonly [term: string] | readonly [term: string, spelling: string]

/**
 * The filters as a store gets them. A contact matches when its search text contains any one of the terms, and its
 * `primary_phone` is any one of the phones, which are one or two spellings of a number.
 */
export interface ContactCriteria extends Omit<ContactFilters, "email" | "phone" | "query"> {
  readonly search_terms: SearchTerms | null
  readonly email_key: string | null
  readonly phones: ReturnType<typeof spellings> | null
}

/** Returns the filters of a list as a store gets them. */
export const criteriaOf = (given: Partial<ContactFilters>): ContactCriteria => {
  const { email, phone, query, ...filters } = { ...everyContact, ...given }
  return {
    ...filters,
    search_terms: searchTerms(query),
    email_key: emailKey(email),
    phones: phone === null ? null : spellings(phone)
  }
}

/** Returns a person's name, or null when the contact has none. */
export const fullName = (contact: Pick<Contact, "first_name" | "last_name">): string | null =>
  [contact.first_name, contact.last_name].filter((part) => part !== null).join(" ") || null

/** The fields that `query` is searched in. */
export const searched_fields = [
  "first_name",
  "last_name",
  "primary_phone",
  "primary_email",
  "company",
  "identities"
] as const satisfies ReadonlyArray<keyof Contact>

/** The values of a contact that `query` is searched in. */
export type Searched = Pick<Contact, typeof searched_fields[number]>

/**
 * Returns the beginning of each name that a contact has on the networks.
 *
 * Networks do not limit the length of names. The beginning of a name is enough to find it.
 */
const networkNames = ({ identities }: Searched): ReadonlyArray<string> =>
  identities.flatMap(({ display_name, username }) =>
    [display_name, username].flatMap((name) => name === null ? [] : firstCharacters(name, limits.name_chars_max))
  )

const phonesOf = ({ primary_phone }: Searched) => primary_phone === null ? [] : spellings(primary_phone)

/** The separator of the parts of a search text: an upper-case letter, which no folded part or term contains. */
const separator = "X"

/**
 * Returns the text that `query` is searched in: name, phone in each spelling, email, company and
 * names on the networks, case-folded, and separated so that no term matches across two.
 */
export const searchText = (contact: Searched): string =>
  [fullName(contact), ...phonesOf(contact), contact.primary_email, contact.company, ...networkNames(contact)]
    .flatMap((part) => part === null ? [] : foldCase(part))
    .join(separator)

/**
 * Returns a query without the separators of a phone number.
 *
 * A complete number with `+` or `00` is in its canonical form first.
 */
const withoutSeparators = (query: string): string => {
  const number = /^\s*(?:\+|00)/.test(query) ? canonical(query) : Option.none()
  return Option.getOrElse(number, () => query).replace(/[\s()\-./+]/gu, "")
}

/**
 * Returns the terms to search for, or null for a blank query.
 *
 * A phone number is also searched for without its separators. If the query contains those digits in one piece, only the
 * digits are searched for.
 */
export const searchTerms = (query: string | null): SearchTerms | null => {
  if (query === null || query.trim() === "") return null
  const [folded, digits] = [foldCase(query), withoutSeparators(query)]
  if (!/^[0-9]+$/.test(digits)) return [folded]
  return folded.includes(digits) ? [digits] : [folded, digits]
}
