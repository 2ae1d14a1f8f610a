/**
 * The bodies of the requests that write a contact (contract §8.1).
 */
import { Schema, SchemaTransformation } from "effect"
import { isCalendarDate } from "../catalog/ContactFields.ts"
import { emailLine, isEmail } from "../kernel/Emails.ts"
import { MemberId, TagId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { Phone, phone_description } from "../kernel/Phones.ts"
import { isWebUrl, line, lineOf, optionalText, plainLine, Text, text } from "../kernel/Text.ts"
import { field_descriptions, LeadStatus, LifecycleStage } from "./Contact.ts"

const name = line(limits.name_chars_max)

const email = lineOf(
  text({ min: 1, max: limits.email_chars_max }).check(isEmail),
  emailLine
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
    lineOf(Phone, plainLine).pipe(Schema.annotateEncoded({ description: phone_description }))
  ),
  company: Schema.optionalKey(name),
  job_title: Schema.optionalKey(name),
  birthday: Schema.optionalKey(birthday.pipe(Schema.annotateEncoded(field_descriptions.birthday))),
  city: Schema.optionalKey(name),
  region: Schema.optionalKey(name.pipe(Schema.annotateEncoded(field_descriptions.region))),
  country: Schema.optionalKey(name),
  street_address: Schema.optionalKey(name),
  postal_code: Schema.optionalKey(name),
  website_url: Schema.optionalKey(webUrl),
  network_url: Schema.optionalKey(webUrl.pipe(Schema.annotateEncoded(field_descriptions.network_url))),
  source: Schema.optionalKey(name.pipe(Schema.annotateEncoded(field_descriptions.source))),
  notes: Schema.optionalKey(
    optionalText(limits.notes_chars_max).pipe(Schema.annotateEncoded(field_descriptions.notes))
  ),
  owner_user_id: Schema.optionalKey(Schema.NullOr(MemberId).annotate(field_descriptions.owner_user_id)),
  lead_status: Schema.optionalKey(Schema.NullOr(LeadStatus).annotate(field_descriptions.lead_status)),
  lifecycle_stage: Schema.optionalKey(Schema.NullOr(LifecycleStage).annotate(field_descriptions.lifecycle_stage)),
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

export const CreateContact = WritableContact.annotate({
  identifier: "CreateContact",
  description: "A name, phone, or email is required. One-line texts are trimmed; an empty text is stored as null."
}).pipe(Schema.brand("CreateContact"))
export interface CreateContact extends Schema.Schema.Type<typeof CreateContact> {}

const TagEdit = Schema.Array(TagId).check(Schema.isMaxLength(limits.tag_ids_max))

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

/** A partial update: an absent field keeps its value, null clears it (contract §8.4). */
export const UpdateContact = Schema.Struct({ ...WritableContact.fields, ...tagEdits }).check(
  Schema.makeFilter(contradiction, { toJsonSchema: () => ({}) })
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
