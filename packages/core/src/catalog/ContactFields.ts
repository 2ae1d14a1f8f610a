/**
 * Contact fields: fields that an organization defines; a contact's `custom_values` holds their values (contract §9.4).
 */
import { Context, Effect, Layer, Option, Result, Schema } from "effect"
import { type OrganizationRow, OrganizationRows, OrganizationStore } from "../accounts/Organizations.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { ContactFieldId } from "../kernel/Ids.ts"
import { limits } from "../kernel/Limits.ts"
import { operation } from "../kernel/Operations.ts"
import { isWebUrl, trimmedText } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type DecisionContext } from "../work/Decide.ts"
import { declareRows, pickFields, Rows } from "../work/Rows.ts"

// ---------------------------------------------------------------- data

export const ContactFieldType = Schema.Literals(["text", "number", "date", "boolean", "select", "url"])
export type ContactFieldType = typeof ContactFieldType.Type

export const ContactField = Schema.Struct({
  id: ContactFieldId,
  key: Schema.String.annotate({ description: "A slug, unique in the organization." }),
  name: Schema.String,
  type: ContactFieldType.annotate({
    description: "The type of accepted values. Every value is written as a string."
  }),
  options: Schema.NullOr(Schema.Array(Schema.String)).annotate({
    description: "The choices of a `select`, null for every other type."
  }),
  created_at: Timestamp
}).annotate({
  identifier: "ContactField",
  description: "A field that the organization has defined. A contact's `custom_values` contains its value."
})
export interface ContactField extends Schema.Schema.Type<typeof ContactField> {}

export const CreateContactField = Schema.Struct({
  key: Schema.String.check(Schema.isPattern(/^[a-z][a-z0-9_]{0,63}$/, { expected: "a slug such as favorite_color" })),
  name: trimmedText({ min: 1, max: limits.name_chars_max }),
  type: ContactFieldType,
  options: Schema.NullOr(Schema.Array(trimmedText({ min: 1, max: limits.name_chars_max })).check(Schema.isUnique()))
}).pipe(Schema.brand("CreateContactField"))
export interface CreateContactField extends Schema.Schema.Type<typeof CreateContactField> {}

export const ContactFieldRows = declareRows(ContactField)({
  name: "contact_fields",
  key: { id: "uuid" },
  unique: { columns: ["key"], within: "organization" },
  list: { order: ["created_at", "id"] }
})

const toContactField = pickFields(ContactField)

// -------------------------------------------------------------- errors

export class ContactFieldKeyTaken extends Schema.TaggedError<ContactFieldKeyTaken>()("ContactFieldKeyTaken", {
  key: Schema.String
}) {}

/** A `select` without options, or another type with options. */
export class ContactFieldOptionsMismatch
  extends Schema.TaggedError<ContactFieldOptionsMismatch>()("ContactFieldOptionsMismatch", { type: ContactFieldType })
{}

/** The organization already has the maximum number of contact fields. */
export class TooManyContactFields
  extends Schema.TaggedError<TooManyContactFields>()("TooManyContactFields", { limit: Schema.Int })
{}

// ----------------------------------------------------------- decisions

/** Returns whether a text is a valid calendar date, `YYYY-MM-DD`. */
export const isCalendarDate = (value: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)) &&
  new Date(Date.parse(value)).toISOString().startsWith(value)

/** Returns whether a value fits the type of the field. */
export const accepts = (field: ContactField, value: string): boolean => {
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

const create = (
  { fields, organization }: {
    readonly fields: ReadonlyArray<ContactField>
    readonly organization: Option.Option<OrganizationRow>
  },
  input: CreateContactField,
  { now, uuid }: DecisionContext
): Result.Result<
  Changes.Decision<ContactField>,
  ContactFieldKeyTaken | ContactFieldOptionsMismatch | TooManyContactFields
> => {
  const has_options = input.options !== null && input.options.length > 0
  if ((input.type === "select") !== has_options) {
    return Result.fail(new ContactFieldOptionsMismatch({ type: input.type }))
  }
  if (fields.some(({ key }) => key === input.key)) return Result.fail(new ContactFieldKeyTaken({ key: input.key }))
  if (fields.length >= limits.contact_fields_max) {
    return Result.fail(new TooManyContactFields({ limit: limits.contact_fields_max }))
  }
  const options = has_options ? input.options : null
  const field: ContactField = { id: ContactFieldId.make(uuid()), ...input, options, created_at: now }
  return Result.succeed({
    result: field,
    changes: Changes.all(
      ContactFieldRows.insert(field),
      // Two concurrent creations of the last allowed field must conflict.
      ...Option.toArray(organization).map((row) => OrganizationRows.update(row, {}))
    )
  })
}

// ---------------------------------------------------------- operations

/** Operations on the current actor's contact fields. */
export class ContactFields extends Context.Service<ContactFields, {
  readonly list: Effect.Effect<ReadonlyArray<ContactField>, never, CurrentActor>
  readonly create: (
    input: CreateContactField
  ) => Effect.Effect<
    ContactField,
    ContactFieldKeyTaken | ContactFieldOptionsMismatch | TooManyContactFields | ConcurrentChanges,
    CurrentActor
  >
}>()("@messaging-crm/core/ContactFields") {
  static readonly layer = Layer.effect(
    ContactFields,
    Effect.gen(function*() {
      const { write } = yield* Decide
      const organizations = yield* OrganizationStore
      const rows = yield* Rows

      const list = operation("contact_fields.list")(function*() {
        const { organization_id } = yield* CurrentActor
        return (yield* rows.list(ContactFieldRows, organization_id)).map(toContactField)
      })()

      const createContactField = write("contact_fields.create", function*(input: CreateContactField) {
        const { organization_id } = yield* CurrentActor
        return {
          // Loads the organization first: its version must not be newer than the count that it protects.
          load: Effect.all({
            organization: organizations.find(organization_id),
            fields: rows.list(ContactFieldRows, organization_id)
          }),
          decide: (loaded, context) => create(loaded, input, context)
        }
      })

      return ContactFields.of({ list, create: createContactField })
    })
  )
}
