/**
 * The data of a contact and of its identities, and the bodies of the requests that write one (contract §8.1).
 */
import { Schema, SchemaTransformation } from "effect"
import { ChannelType } from "../catalog/Channels.ts"
import { isCalendarDate } from "../catalog/ContactFields.ts"
import { Tag } from "../catalog/Tags.ts"
import { ContactId, ConversationId, IdentityId, MemberId, TagId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Phone, phone_description } from "../kernel/Phones.ts"
import { isEmail, isWebUrl, line, lineOf, optionalText, Text, text } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import type { Version } from "../work/Changes.ts"

export const LeadStatus = Schema.Literals([
  "new",
  "open",
  "in_progress",
  "open_deal",
  "unqualified",
  "attempted_to_contact",
  "connected",
  "bad_timing"
])
export type LeadStatus = typeof LeadStatus.Type

export const LifecycleStage = Schema.Literals([
  "subscriber",
  "lead",
  "marketing_qualified",
  "sales_qualified",
  "opportunity",
  "customer",
  "evangelist",
  "other"
])
export type LifecycleStage = typeof LifecycleStage.Type

/** A contact's account on one type of channel. */
export const Identity = Schema.Struct({
  id: IdentityId,
  channel_type: ChannelType,
  external_id: Schema.String.annotate({
    description: "The network's ID for the person; on `phone_messaging`, the number if the network provides it."
  }),
  display_name: Schema.NullOr(Schema.String),
  username: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Identity", description: "A contact's account on one type of channel." })
export interface Identity extends Schema.Schema.Type<typeof Identity> {}

/** Returns the external ID of an identity after the person's data was erased. It is unique, as an external ID must be. */
export const erasedExternalId = (id: IdentityId): string => `erased-${id}`

const OptionalText = Schema.NullOr(Schema.String)

/** Descriptions shared by `Contact` and `WritableContact`. */
const meanings = {
  birthday: { description: "A calendar date, `YYYY-MM-DD`." },
  region: { description: "State, province, or region." },
  network_url: { description: "The person's profile on a professional network." },
  source: { description: "Where the contact came from." },
  notes: { description: "Free text." },
  owner_user_id: { description: "The member who owns the contact." },
  lead_status: { description: "The contact's state in the sales process." },
  lifecycle_stage: { description: "The contact's stage on the way from subscriber to customer." }
}

export const Contact = Schema.Struct({
  id: ContactId,
  first_name: OptionalText,
  last_name: OptionalText,
  primary_email: OptionalText,
  primary_phone: OptionalText.annotate({ description: "`+` and digits, with country code. Not unique." }),
  company: OptionalText,
  job_title: OptionalText,
  birthday: Schema.NullOr(Schema.String.annotate({ format: "date" })).annotate(meanings.birthday),
  city: OptionalText,
  region: OptionalText.annotate(meanings.region),
  country: OptionalText,
  street_address: OptionalText,
  postal_code: OptionalText,
  website_url: OptionalText,
  network_url: OptionalText.annotate(meanings.network_url),
  source: OptionalText.annotate(meanings.source),
  notes: OptionalText.annotate(meanings.notes),
  owner_user_id: Schema.NullOr(MemberId).annotate(meanings.owner_user_id),
  lead_status: Schema.NullOr(LeadStatus).annotate(meanings.lead_status),
  lifecycle_stage: Schema.NullOr(LifecycleStage).annotate(meanings.lifecycle_stage),
  custom_values: Schema.Record(Schema.String, Schema.String).annotate({
    description: "Values of the fields that the organization has defined, by contact field ID."
  }),
  identities: Schema.Array(Identity).annotate({ description: "The contact's network accounts, ordered by ID." }),
  tags: Schema.Array(Tag),
  last_activity_at: Schema.NullOr(Timestamp),
  last_activity_preview: OptionalText.annotate({ description: "The beginning of the last message." }),
  last_conversation_id: Schema.NullOr(ConversationId),
  updated_at: Timestamp.pipe(
    Schema.annotateEncoded({
      description:
        "Changed by edits, notes, tags, and new messages. Never decreases. Lists of contacts are ordered by it."
    })
  )
}).annotate({ identifier: "Contact", description: "A person in the CRM." })
export interface Contact extends Schema.Schema.Type<typeof Contact> {}

/** The fields of a contact about whom nothing is known. */
export const emptyContact = {
  first_name: null,
  last_name: null,
  primary_email: null,
  primary_phone: null,
  company: null,
  job_title: null,
  birthday: null,
  city: null,
  region: null,
  country: null,
  street_address: null,
  postal_code: null,
  website_url: null,
  network_url: null,
  source: null,
  notes: null,
  owner_user_id: null,
  lead_status: null,
  lifecycle_stage: null,
  custom_values: {},
  identities: [],
  tags: [],
  last_activity_at: null,
  last_activity_preview: null,
  last_conversation_id: null
} satisfies Omit<Contact, "id" | "updated_at">

const name = line(limits.name_chars_max)

const email = lineOf(
  text({ min: 1, max: limits.email_chars_max }).check(isEmail)
)

const webUrl = lineOf(
  text({ min: 1, max: limits.url_chars_max }).check(
    Schema.makeFilter(isWebUrl, {
      expected: "an absolute http or https URL",
      toJsonSchema: () => ({ pattern: "^\\s*(?:[Hh][Tt][Tt][Pp][Ss]?://[^/?#\\\\][\\s\\S]*)?$" })
    })
  )
)

const birthday = lineOf(
  Text.check(
    Schema.makeFilter(isCalendarDate, {
      expected: "a calendar date, YYYY-MM-DD",
      toJsonSchema: () => ({ pattern: "^\\s*(?:\\d{4}-\\d{2}-\\d{2})?\\s*$" })
    })
  )
)

/** An ID of a contact field, accepted in either case. That the field exists is checked by `ContactReferences.resolve`. */
const FieldKey = Schema.String.pipe(Schema.decode(SchemaTransformation.toLowerCase()))

const CustomValue = text({ min: 0, max: limits.custom_value_chars_max })

/** Returns why some values are ambiguous: two are for the same field, in different letter case. */
const ambiguity = (values: Readonly<Record<string, unknown>>): Schema.FilterOutput => {
  const seen = new Set<string>()
  const repeated = Object.keys(values).find((key) => seen.size === seen.add(key.toLowerCase()).size)
  return repeated === undefined
    ? true
    : { path: [repeated], issue: "absent, because the same ID occurs in another letter case" }
}

const CustomValues = Schema.Record(Text, Schema.NullOr(CustomValue)).check(Schema.makeFilter(ambiguity)).pipe(
  Schema.decodeTo(Schema.Record(FieldKey, Schema.toType(Schema.NullOr(CustomValue))))
)

/** The writable fields of a contact, each optional and nullable (contract §8.1). */
export const WritableContact = Schema.Struct({
  first_name: Schema.optionalKey(name),
  last_name: Schema.optionalKey(name),
  primary_email: Schema.optionalKey(email),
  primary_phone: Schema.optionalKey(
    lineOf(Phone).pipe(Schema.annotateEncoded({ description: phone_description }))
  ),
  company: Schema.optionalKey(name),
  job_title: Schema.optionalKey(name),
  birthday: Schema.optionalKey(birthday.pipe(Schema.annotateEncoded(meanings.birthday))),
  city: Schema.optionalKey(name),
  region: Schema.optionalKey(name.pipe(Schema.annotateEncoded(meanings.region))),
  country: Schema.optionalKey(name),
  street_address: Schema.optionalKey(name),
  postal_code: Schema.optionalKey(name),
  website_url: Schema.optionalKey(webUrl),
  network_url: Schema.optionalKey(webUrl.pipe(Schema.annotateEncoded(meanings.network_url))),
  source: Schema.optionalKey(name.pipe(Schema.annotateEncoded(meanings.source))),
  notes: Schema.optionalKey(optionalText(limits.notes_chars_max).pipe(Schema.annotateEncoded(meanings.notes))),
  owner_user_id: Schema.optionalKey(Schema.NullOr(MemberId).annotate(meanings.owner_user_id)),
  lead_status: Schema.optionalKey(Schema.NullOr(LeadStatus).annotate(meanings.lead_status)),
  lifecycle_stage: Schema.optionalKey(Schema.NullOr(LifecycleStage).annotate(meanings.lifecycle_stage)),
  custom_values: Schema.optionalKey(
    Schema.NullOr(CustomValues).annotate({
      description:
        "Values by contact field ID. Only the fields that you send change: an absent field keeps its value, `null` removes its value, and `null` for the whole object removes all."
    })
  ),
  tag_ids: Schema.optionalKey(
    Schema.NullOr(Schema.Array(TagId).check(Schema.isMaxLength(limits.tag_ids_max))).annotate({
      description: "Replaces the whole set of tags; `null` removes all."
    })
  )
})
export interface WritableContact extends Schema.Schema.Type<typeof WritableContact> {}

const visible = { type: "string", pattern: "\\S" }

/**
 * JSON Schemas, at least one of which a new contact must match: each requires a name, phone, or email. The decision rejects
 * a contact without any.
 */
const named = ["first_name", "last_name", "primary_phone", "primary_email"].map((field) => ({
  required: [field],
  properties: { [field]: visible }
}))

export const CreateContact = WritableContact.check(
  Schema.makeFilter(() => true, { toJsonSchema: () => ({ anyOf: named }) })
).annotate({
  identifier: "CreateContact",
  description: "A name, phone, or email is required. One-line texts are trimmed; an empty text is stored as null."
}).pipe(Schema.brand("CreateContact"))
export interface CreateContact extends Schema.Schema.Type<typeof CreateContact> {}

const TagEdit = Schema.Array(TagId).check(Schema.isMaxLength(limits.tag_ids_max))

/** Returns the JSON Schema of an object that has a field, whatever its value. */
const present = (field: string) => ({ required: [field], properties: { [field]: {} } })

/** The fields of an update that change single tags (contract §8.6). */
const tagEdits = {
  add_tag_ids: Schema.optionalKey(
    TagEdit.annotate({ description: "Tags to add. Cannot be combined with `tag_ids`." })
  ),
  remove_tag_ids: Schema.optionalKey(
    TagEdit.annotate({ description: "Tags to remove. Cannot be combined with `tag_ids`." })
  )
}

/** The tags that a request sets, adds, or removes. */
export interface TagChanges extends Pick<WritableContact, "tag_ids"> {
  readonly add_tag_ids?: ReadonlyArray<TagId>
  readonly remove_tag_ids?: ReadonlyArray<TagId>
}

/**
 * Returns why the tags of a request contradict each other: it replaces the set and also edits it, or adds and removes the
 * same tag.
 */
const contradiction = ({ add_tag_ids, remove_tag_ids, tag_ids }: TagChanges): Schema.FilterOutput => {
  if (tag_ids !== undefined && (add_tag_ids ?? remove_tag_ids) !== undefined) {
    const param = add_tag_ids === undefined ? "remove_tag_ids" : "add_tag_ids"
    return { path: [param], issue: "absent if tag_ids is present" }
  }
  return add_tag_ids?.some((id) => remove_tag_ids?.includes(id)) === true
    ? { path: ["remove_tag_ids"], issue: "a list that contains no ID of add_tag_ids" }
    : true
}

const contradictory = {
  not: { ...present("tag_ids"), anyOf: Object.keys(tagEdits).map(present) }
}

/** A partial update: an absent field keeps its value, null clears it (contract §8.4). */
export const UpdateContact = Schema.Struct({ ...WritableContact.fields, ...tagEdits }).check(
  Schema.makeFilter(contradiction, { toJsonSchema: () => contradictory })
).annotate({
  identifier: "UpdateContact",
  description: "An absent field keeps its value; `null` clears it."
}).pipe(Schema.brand("UpdateContact"))
export interface UpdateContact extends Schema.Schema.Type<typeof UpdateContact> {}

export const AddNote = Schema.Struct({
  text: text({ min: limits.note_text_chars_min, max: limits.note_text_chars_max }).annotate({
    description: "Appended to the notes after a blank line, unchanged."
  })
}).annotate({ identifier: "AddNote" }).pipe(Schema.brand("AddNote"))
export interface AddNote extends Schema.Schema.Type<typeof AddNote> {}

/** A person as a network reports them: the input for finding or creating a contact. */
export interface Person {
  readonly channel_type: ChannelType
  readonly external_id: string
  /** Other IDs of the same person on the same type of channel. */
  readonly aliases: ReadonlyArray<string>
  /** The canonical phone number, on phone messaging where it is known. */
  readonly phone: string | null
  readonly display_name: string | null
  readonly username: string | null
}

/** An identity and its contact: their IDs, and the names that a conversation shows. */
export interface ContactIdentity
  extends Pick<Contact, "first_name" | "last_name">, Pick<Identity, "display_name" | "external_id" | "username">
{
  readonly identity_id: IdentityId
  readonly contact_id: ContactId
}

/** A contact as it was loaded for a decision. */
export interface LoadedContact extends Contact {
  readonly version: Version
}

/** A contact that was found by a value, and whether others have it too. */
export interface MatchedContact extends LoadedContact {
  readonly is_ambiguous: boolean
}

/** An identity as it is stored. The contact's row has a copy of it. */
export interface IdentityRow extends Identity {
  readonly contact_id: ContactId
  readonly version: Version
}

/** The identity with a network ID, and the columns of its contact that an update of the identity requires. */
export interface KnownIdentity {
  /** The external ID or alias that was looked up. */
  readonly network_id: string
  readonly identity: IdentityRow
  readonly contact: Pick<LoadedContact, "first_name" | "id" | "identities" | "last_name" | "version">
}
