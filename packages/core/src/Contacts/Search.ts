/**
 * How contacts are found in a list (spec §4.1).
 */
import type { ChannelType } from "../Channels.ts"
import type { MemberId, TagId } from "../Ids.ts"
import { foldCase } from "../Text.ts"
import type { Contact, LifecycleStage } from "./Contact.ts"

/** Which contacts a list shows; a filter that is null lets all pass (spec §4.1). */
export interface ContactFilters {
  readonly query: string | null
  readonly tag_id: TagId | null
  readonly owner_user_id: MemberId | null
  readonly lifecycle_stage: LifecycleStage | null
  readonly channel: ChannelType | null
}

/** What is looked for in a contact's search text: any one of the needles. */
export interface ContactMatch extends Omit<ContactFilters, "query"> {
  readonly needles: ReadonlyArray<string> | null
}

/** Returns a person's name, or null when the contact has none. */
export const fullName = (contact: Pick<Contact, "first_name" | "last_name">): string | null =>
  [contact.first_name, contact.last_name].filter((part) => part !== null).join(" ") || null

/**
 * Returns the text that a `query` is looked for in: name, phone, email and
 * company, folded, each on a line of its own so that nothing matches across two.
 */
export const searchText = (contact: Contact): string =>
  [fullName(contact), contact.primary_phone, contact.primary_email, contact.company]
    .flatMap((part) => part === null ? [] : foldCase(part))
    .join("\n")

/**
 * Returns what to look for, or null for a blank query. A number is also looked
 * for without its separators, and only so where that finds all that it does.
 */
export const searchTerms = (query: string | null): ReadonlyArray<string> | null => {
  if (query === null || query.trim() === "") return null
  const [needle, digits] = [foldCase(query), query.replace(/[\s()\-./+]/gu, "")]
  if (!/^[0-9]+$/.test(digits)) return [needle]
  return needle.includes(digits) ? [digits] : [needle, digits]
}
