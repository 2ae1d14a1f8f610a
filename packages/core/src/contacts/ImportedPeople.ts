/**
 * Imported people: recognizes the phones and emails that other contacts, or earlier rows of an import, have.
 */
import { Array, Result, Schema } from "effect"
import type { ContactId } from "../kernel/Ids.ts"
import { spellings } from "../kernel/Phones.ts"
import type { Contact, ImportedPerson, KnownPerson } from "./Contact.ts"
import { emailKey } from "./ContactSearch.ts"
import type { UpsertPreview } from "./ContactUpserts.ts"

// ---------------------------------------------------------------- data

/** Another contact, or an earlier row, has the phone or the email of a row that would create a contact. */
export class ContactExists extends Schema.TaggedError<ContactExists>()("ContactExists", {
  field: Schema.Literals(["primary_phone", "primary_email"])
}) {}

/** The contacts that the rows of an import have added so far, as far as later rows depend on them. */
export interface Added {
  readonly ids: Set<ContactId>
  readonly phones: Set<string>
  readonly email_keys: Set<string>
}

/** The contacts that the rows of an import would have written so far. It grows with each row. */
export interface ImportPreview {
  readonly added: Added
  readonly upserted: UpsertPreview
}

/** How rows are imported. */
export interface ImportMode {
  /** Whether a row can create a contact with the phone or email of another contact. */
  readonly allows_duplicates: boolean
  /** The rows write nothing, and only add to the preview; null to write. */
  readonly preview: ImportPreview | null
}

export const defaultMode: ImportMode = { allows_duplicates: false, preview: null }

export const nothingAdded = (): Added => ({ ids: new Set(), phones: new Set(), email_keys: new Set() })

/** Makes the preview of an import. */
export const makePreview = (): ImportPreview => ({ added: nothingAdded(), upserted: new Map() })

// ----------------------------------------------------------- decisions

/** Returns the ID and the values by which a contact can exist already. */
export const personOf = (
  { primary_email = null, primary_phone = null }: Readonly<Partial<Pick<Contact, "primary_email" | "primary_phone">>>,
  id: ContactId | null
): ImportedPerson => ({
  id,
  phones: primary_phone === null ? [] : spellings(primary_phone),
  email_key: emailKey(primary_email)
})

export const nothing_known: KnownPerson = { has_id: false, has_phone: false, has_email: false }

/** Adds what rows before this one have added to what the organization has. */
export const knownWith = (
  added: Added,
  { email_key, id, phones }: ImportedPerson,
  known: KnownPerson
): KnownPerson => ({
  has_id: known.has_id || (id !== null && added.ids.has(id)),
  has_phone: known.has_phone || phones.some((phone) => added.phones.has(phone)),
  has_email: known.has_email || (email_key !== null && added.email_keys.has(email_key))
})

export const addTo = (added: Added, { email_key, id, phones }: ImportedPerson): void => {
  if (id !== null) added.ids.add(id)
  for (const phone of phones) added.phones.add(phone)
  if (email_key !== null) added.email_keys.add(email_key)
}

/** Returns results in which each success is replaced by the next of the given results. */
export const replaceSuccesses = <A, E, B, F>(
  results: ReadonlyArray<Result.Result<A, E>>,
  next: ReadonlyArray<Result.Result<B, F>>
): ReadonlyArray<Result.Result<B, E | F>> => {
  let index = 0
  return results.map(Result.flatMap((): Result.Result<B, F> => Array.getUnsafe(next, index++)))
}
