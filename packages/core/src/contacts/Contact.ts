/**
 * A contact, and what a caller may write of one (spec §2.1, §4.2).
 */
import { Schema, SchemaTransformation } from "effect"
import { ChannelType } from "../catalog/Channels.ts"
import { isCalendarDate, isWebUrl } from "../catalog/ContactFields.ts"
import { Tag } from "../catalog/Tags.ts"
import { ContactId, ConversationId, IdentityId, MemberId, TagId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Phone } from "../kernel/Phones.ts"
import { line, lineOf, passage, Text, text, visibleText } from "../kernel/Text.ts"
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

/** Who a contact is on one type of channel. */
export const Identity = Schema.Struct({
  id: IdentityId,
  channel_type: ChannelType,
  external_id: Schema.String.annotate({ description: "The channel's own identifier; a number on phone messaging." }),
  display_name: Schema.NullOr(Schema.String),
  username: Schema.NullOr(Schema.String)
}).annotate({ identifier: "Identity", description: "Who a contact is on one type of channel." })
export interface Identity extends Schema.Schema.Type<typeof Identity> {}

const OptionalText = Schema.NullOr(Schema.String)

/** Fields that mean the same to who reads and to who writes. */
const meanings = {
  birthday: { description: "A day of the calendar, `YYYY-MM-DD`." },
  region: { description: "State, province or region." },
  network_url: { description: "The person's profile on a professional network." },
  source: { description: "Where the contact came from." },
  notes: { description: "Free text." },
  owner_user_id: { description: "The member who owns the contact." },
  lead_status: { description: "How far sales has come with the contact." },
  lifecycle_stage: { description: "How far the contact has come with the organization." }
}

export const Contact = Schema.Struct({
  id: ContactId,
  first_name: OptionalText,
  last_name: OptionalText,
  primary_email: OptionalText,
  primary_phone: OptionalText.annotate({ description: "`+` and digits, with country code." }),
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
    description: "Values of the organization's own fields, by contact field id."
  }),
  identities: Schema.Array(Identity).annotate({ description: "Who the contact is on the channels." }),
  tags: Schema.Array(Tag),
  last_activity_at: Schema.NullOr(Timestamp),
  last_activity_preview: OptionalText.annotate({ description: "The start of the last message." }),
  last_conversation_id: Schema.NullOr(ConversationId),
  updated_at: Timestamp.pipe(
    Schema.annotateEncoded({ description: "Moves with edits, notes, tags and activity, never backwards." })
  )
}).annotate({ identifier: "Contact", description: "A person in the CRM." })
export interface Contact extends Schema.Schema.Type<typeof Contact> {}

const name = line(limits.name_chars_max)

const email = lineOf(
  text({ min: 1, max: limits.email_chars_max }).check(
    Schema.makeFilter((value: string) => /^[^\s@]+@[^\s@.]+(\.[^\s@.]+)+$/u.test(value), {
      expected: "an email address",
      // No format: those of JSON Schema know neither white space around it nor letters beyond ASCII.
      toJsonSchema: () => ({ pattern: "^\\s*(?:[^\\s@]+@[^\\s@.]+(?:\\.[^\\s@.]+)+)?\\s*$" })
    })
  )
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
      expected: "a date of the calendar, YYYY-MM-DD",
      toJsonSchema: () => ({ pattern: "^\\s*(?:\\d{4}-\\d{2}-\\d{2})?\\s*$" })
    })
  )
)

/** An id of a contact field, read in either case. One that is none is told apart by nobody having it. */
const FieldKey = Schema.String.pipe(Schema.decode(SchemaTransformation.toLowerCase()))

const CustomValue = text({ min: 0, max: limits.custom_value_chars_max })

/** What a caller may write, each field optional and nullable (spec §4.2). */
export const WritableContact = Schema.Struct({
  first_name: Schema.optionalKey(name),
  last_name: Schema.optionalKey(name),
  primary_email: Schema.optionalKey(email),
  primary_phone: Schema.optionalKey(
    lineOf(Phone).pipe(Schema.annotateEncoded({ description: "With country code; spaces and `()-./` are accepted." }))
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
  notes: Schema.optionalKey(passage(limits.notes_chars_max).pipe(Schema.annotateEncoded(meanings.notes))),
  owner_user_id: Schema.optionalKey(Schema.NullOr(MemberId).annotate(meanings.owner_user_id)),
  lead_status: Schema.optionalKey(Schema.NullOr(LeadStatus).annotate(meanings.lead_status)),
  lifecycle_stage: Schema.optionalKey(Schema.NullOr(LifecycleStage).annotate(meanings.lifecycle_stage)),
  custom_values: Schema.optionalKey(
    Schema.NullOr(Schema.Record(FieldKey, Schema.NullOr(CustomValue))).annotate({
      description:
        "Values by contact field id. They merge by key: a key that is absent keeps its value, null removes it, and null for the whole removes all."
    })
  ),
  tag_ids: Schema.optionalKey(
    Schema.NullOr(Schema.Array(TagId).check(Schema.isMaxLength(limits.tag_ids_max))).annotate({
      description: "Replaces the whole set of tags; null clears it."
    })
  )
})
export interface WritableContact extends Schema.Schema.Type<typeof WritableContact> {}

const visible = { type: "string", pattern: "\\S" }

/** What a new contact must have one of. The decision refuses what has none. */
const named = ["first_name", "last_name", "primary_phone", "primary_email"].map((field) => ({
  required: [field],
  properties: { [field]: visible }
}))

export const CreateContact = WritableContact.check(
  Schema.makeFilter(() => true, { toJsonSchema: () => ({ anyOf: named }) })
).annotate({
  identifier: "CreateContact",
  description: "At least a name, a phone or an email. Texts are trimmed, and an empty one counts as null."
})
export interface CreateContact extends WritableContact {}

/** What a caller may change: a field that is absent keeps its value, null clears it (spec §4.2). */
export const UpdateContact = WritableContact.annotate({
  identifier: "UpdateContact",
  description: "A field that is absent keeps its value, null clears it."
})
export interface UpdateContact extends WritableContact {}

export const AddNote = Schema.Struct({
  text: visibleText({ min: limits.note_text_chars_min, max: limits.note_text_chars_max }).annotate({
    description: "Appended to the notes after a blank line, as it is."
  })
}).annotate({ identifier: "AddNote" })
export interface AddNote extends Schema.Schema.Type<typeof AddNote> {}

/** A person as a channel shows them: what is needed to find or create a contact. */
export interface Person {
  readonly channel_type: ChannelType
  readonly external_id: string
  /** Other ids of the same person on the same type of channel. */
  readonly aliases: ReadonlyArray<string>
  /** The number, where the channel's ids are numbers. */
  readonly phone: string | null
  readonly display_name: string | null
  readonly username: string | null
}

/** An identity, and the contact whose it is. */
export interface ContactIdentity {
  readonly identity_id: IdentityId
  readonly contact_id: ContactId
}

/** A contact as it was loaded for a decision. */
export interface LoadedContact extends Contact {
  readonly version: Version
}

/** An identity as it is stored. Its contact's row has a copy. */
export interface IdentityRow extends Identity {
  readonly contact_id: ContactId
  readonly version: Version
}

/** An identity that a name leads to, beside what an answer about its contact needs. */
export interface KnownIdentity {
  /** The name that was asked for. */
  readonly name: string
  readonly identity: IdentityRow
  readonly contact: Pick<LoadedContact, "id" | "identities" | "version">
}
