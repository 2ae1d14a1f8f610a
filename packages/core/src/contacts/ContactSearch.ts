/**
 * Searching and filtering the list of contacts (contract §8.8, §8.9).
 */
import { Option } from "effect"
import type { ChannelType } from "../catalog/Channels.ts"
import { type Country } from "../kernel/Countries.ts"
import type { MemberId, TagId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { canonical, spellings } from "../kernel/Phones.ts"
import { firstCharacters, foldCase, plain } from "../kernel/Text.ts"
import type { Timestamp } from "../kernel/Timestamps.ts"
import type { Contact, LifecycleStage } from "./Contact.ts"
import { readNetworkId } from "./ContactNetworkIds.ts"

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

/** Returns the form of a text in which it is searched: without invisible characters and the difference of cases. */
const searchForm = (value: string): string => foldCase(plain(value))

/** The terms of a query: its text as it is searched, and another spelling of it. */
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

/** Returns the filters of a list as a store gets them. `country` is the one whose national numbers a query can have. */
export const criteriaOf = (given: Partial<ContactFilters>, country: Country | null = null): ContactCriteria => {
  const { email, external_id, phone, query, ...filters } = { ...everyContact, ...given }
  return {
    ...filters,
    external_id: external_id === null ? null : readNetworkId(filters.channel, external_id, country),
    search_terms: searchTerms(query, country),
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
 * names on the networks, as they are searched, and separated so that no term matches across two.
 */
export const searchText = (contact: Searched): string =>
  [fullName(contact), ...phonesOf(contact), contact.primary_email, contact.company, ...networkNames(contact)]
    .flatMap((part) => part === null ? [] : searchForm(part))
    .join(separator)

/**
 * Returns the digits of a query that is a phone number or a part of one; none for any other.
 *
 * A complete number is in its canonical form, unless the digits of the query are in it.
 */
const numberIn = (query: string, country: Country | null): Option.Option<string> => {
  const written = query.replace(/[\s()\-./+]/gu, "")
  const complete = Option.map(canonical(query, country), (number) => number.slice(1))
  if (!/^[0-9]+$/.test(written)) return complete
  return Option.some(Option.getOrElse(Option.filter(complete, (digits) => !digits.includes(written)), () => written))
}

/**
 * Returns the terms to search for, or null for a blank query.
 *
 * A phone number is also searched for without its separators. If the query contains those digits in one piece, only the
 * digits are searched for.
 */
export const searchTerms = (query: string | null, country: Country | null = null): SearchTerms | null => {
  if (query === null || plain(query).trim() === "") return null
  const folded = searchForm(query)
  return Option.match(numberIn(plain(query), country), {
    onNone: (): SearchTerms => [folded],
    onSome: (digits) => folded.includes(digits) ? [digits] : [folded, digits]
  })
}
