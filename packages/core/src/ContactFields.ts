/**
 * Contact fields: the organization's own fields, whose values are a contact's `custom_values` (spec §2.8).
 */
import { Context, DateTime, Effect, Layer, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { ContactFieldId, Ids, type OrganizationId } from "./Ids.ts"
import { limits } from "./Limits.ts"
import { trimmedText } from "./Text.ts"
import { Timestamp } from "./Timestamps.ts"

// ---------------------------------------------------------------- data

export const ContactFieldType = Schema.Literals(["text", "number", "date", "boolean", "select", "url"])
export type ContactFieldType = typeof ContactFieldType.Type

export const ContactField = Schema.Struct({
  id: ContactFieldId,
  key: Schema.String.annotate({ description: "A slug, unique in the organization." }),
  name: Schema.String,
  type: ContactFieldType.annotate({ description: "Which values the field takes; every value is written as a string." }),
  options: Schema.NullOr(Schema.Array(Schema.String)).annotate({
    description: "The choices of a `select`, null for every other type."
  }),
  created_at: Timestamp
}).annotate({
  identifier: "ContactField",
  description: "A field of the organization's own, whose values are in `custom_values` of its contacts."
})
export interface ContactField extends Schema.Schema.Type<typeof ContactField> {}

export const CreateContactField = Schema.Struct({
  key: Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_]{0,63}$/, { expected: "a slug such as favourite_colour" })),
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  type: ContactFieldType,
  options: Schema.NullOr(Schema.Array(trimmedText({ min: 1, max: limits.name_chars_max })))
})
export interface CreateContactField extends Schema.Schema.Type<typeof CreateContactField> {}

// -------------------------------------------------------------- errors

export class ContactFieldKeyTaken extends Schema.TaggedError<ContactFieldKeyTaken>()("ContactFieldKeyTaken", {
  key: Schema.String
}) {}

/** A `select` has options, and only a `select` has. */
export class ContactFieldOptionsMismatch
  extends Schema.TaggedError<ContactFieldOptionsMismatch>()("ContactFieldOptionsMismatch", { type: ContactFieldType })
{}

// ---------------------------------------------------------- transitions

/** Returns whether a text is a day of the calendar, `YYYY-MM-DD`. */
export const isCalendarDate = (value: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)) &&
  new Date(Date.parse(value)).toISOString().startsWith(value)

/** Returns whether a text is an absolute http or https URL. */
export const isWebUrl = (value: string): boolean => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)

/** Returns whether a value may be kept in the field. */
export const admits = (field: ContactField, value: string): boolean => {
  switch (field.type) {
    case "text":
      return true
    case "number":
      return value.trim() !== "" && Number.isFinite(Number(value))
    case "date":
      return isCalendarDate(value)
    case "boolean":
      return value === "true" || value === "false"
    case "select":
      return field.options?.includes(value) ?? false
    case "url":
      return isWebUrl(value)
  }
}

// ---------------------------------------------------------------- port

/**
 * Port: where contact fields are kept.
 *
 * **Contract** (checked by `conformance/ContactFields.ts`)
 *
 * - `insert` fails with `ContactFieldKeyTaken`, and writes nothing, when the organization has a field with that key.
 * - `list` returns the organization's fields, oldest first, then by id.
 */
export class ContactFieldStore extends Context.Service<ContactFieldStore, {
  readonly insert: (organization_id: OrganizationId, field: ContactField) => Effect.Effect<void, ContactFieldKeyTaken>
  readonly list: (organization_id: OrganizationId) => Effect.Effect<ReadonlyArray<ContactField>>
}>()("@messaging-crm/core/ContactFields/ContactFieldStore") {}

// ---------------------------------------------------------- operations

/** Operations on the current actor's contact fields. */
export class ContactFields extends Context.Service<ContactFields, {
  readonly list: Effect.Effect<ReadonlyArray<ContactField>, never, CurrentActor>
  readonly create: (
    input: CreateContactField
  ) => Effect.Effect<ContactField, ContactFieldKeyTaken | ContactFieldOptionsMismatch, CurrentActor>
}>()("@messaging-crm/core/ContactFields") {
  static readonly layer = Layer.effect(
    ContactFields,
    Effect.gen(function*() {
      const ids = yield* Ids
      const store = yield* ContactFieldStore

      const list = CurrentActor.use(({ organization_id }) => store.list(organization_id)).pipe(
        Effect.withSpan("ContactFields.list")
      )

      const create = Effect.fn("ContactFields.create")(function*(input: CreateContactField) {
        const { organization_id } = yield* CurrentActor
        const has_options = input.options !== null && input.options.length > 0
        if ((input.type === "select") !== has_options) {
          return yield* new ContactFieldOptionsMismatch({ type: input.type })
        }
        const field: ContactField = {
          id: ContactFieldId.make(yield* ids.uuid),
          ...input,
          options: has_options ? input.options : null,
          created_at: yield* DateTime.now
        }
        yield* store.insert(organization_id, field)
        return field
      })

      return ContactFields.of({ list, create })
    })
  )
}
