/** The body of an upsert, what it wants of each contact, and its outcome for each (contract §8.11). */
import { Schema } from "effect"
import { ChannelType } from "../catalog/Channels.ts"
import type { Country } from "../kernel/Countries.ts"
import { ContactId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { plainLine, trimmedText } from "../kernel/Text.ts"
import { CreateContact, UpdateContact, WritableContact } from "./ContactInput.ts"
import { readNetworkId } from "./ContactNetworkIds.ts"
import { emailKey } from "./ContactSearch.ts"

/** The field by which a contact is found. */
export const UpsertMatch = Schema.Literals(["primary_phone", "primary_email", "external_id"])
export type UpsertMatch = typeof UpsertMatch.Type

export const UpsertContact = Schema.Struct({
  ...WritableContact.fields,
  external_id: Schema.optionalKey(
    trimmedText({ min: 1, max: limits.external_id_chars_max }, plainLine).annotate({
      description: "The network's ID for the person. Required if `match` is `external_id`; otherwise not allowed."
    })
  )
}).annotate({
  identifier: "UpsertContact",
  description: "The field that `match` names, and the fields to set. An absent field keeps its value; `null` clears it."
})
export interface UpsertContact extends Schema.Schema.Type<typeof UpsertContact> {}

const Body = Schema.Struct({
  match: UpsertMatch.annotate({ description: "The field by which each contact is found." }),
  channel_type: Schema.optionalKey(
    ChannelType.annotate({
      description:
        "The type of channel of each `external_id`. Required if `match` is `external_id`; otherwise not allowed."
    })
  ),
  contacts: Schema.Array(UpsertContact).check(Schema.isBetweenLength(1, limits.upsert_contacts_max))
})

/** Returns the first field that is missing or contradicts the match. */
const contradiction = ({ channel_type, contacts, match }: typeof Body.Type): Schema.FilterOutput => {
  const isExternal = match === "external_id"
  if ((channel_type !== undefined) !== isExternal) {
    return { path: ["channel_type"], issue: "present if match is external_id, and absent otherwise" }
  }
  for (const [index, contact] of contacts.entries()) {
    if ((contact[match] ?? null) === null) {
      return { path: ["contacts", index, match], issue: "present, because match names this field" }
    }
    if (!isExternal && contact.external_id !== undefined) {
      return { path: ["contacts", index, "external_id"], issue: "absent unless match is external_id" }
    }
  }
  return true
}

export const UpsertContacts = Body.check(Schema.makeFilter(contradiction, { toJsonSchema: () => [{}, true] }))
  .annotate({ identifier: "UpsertContacts" }).pipe(Schema.brand("UpsertContacts"))
export interface UpsertContacts extends Schema.Schema.Type<typeof UpsertContacts> {}

/** One contact of an upsert: the match with its value, and the fields to set. */
export interface Wanted {
  readonly match: UpsertMatch
  readonly channel_type: ChannelType | null
  /** As it is compared. */
  readonly value: string
  readonly update: UpdateContact
  readonly create: CreateContact
}

/** Returns the value by which a contact is found, as it is compared. */
const valueOf = (
  { channel_type, match }: UpsertContacts,
  { external_id = "", primary_email, primary_phone }: UpsertContact,
  country: Country | null
): string => {
  switch (match) {
    case "external_id":
      return readNetworkId(channel_type ?? null, external_id, country)
    case "primary_email":
      return emailKey(primary_email ?? null) ?? ""
    case "primary_phone":
      return primary_phone ?? ""
  }
}

/** Returns what an upsert wants of one of its contacts, in an organization with a default country. */
export const wantedOf = (input: UpsertContacts, contact: UpsertContact, country: Country | null): Wanted => {
  const { external_id: _external_id, ...fields } = contact
  return {
    match: input.match,
    channel_type: input.channel_type ?? null,
    value: valueOf(input, contact, country),
    update: UpdateContact.make(fields),
    create: CreateContact.make(fields)
  }
}

/** The outcome of an upsert for one contact. */
export const UpsertOutcome = Schema.Literals(["created", "updated", "unchanged"])

export const Upserted = Schema.Struct({ id: ContactId, outcome: UpsertOutcome })
export interface Upserted extends Schema.Schema.Type<typeof Upserted> {}
