import { ContactField, ContactFields, ContactFieldType, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../Admin.ts"
import * as Print from "../Print.ts"

const toJson = Schema.encodeSync(ContactField)

const create = Command.make(
  "create",
  {
    organization: Admin.organization,
    key: Flag.String("key").pipe(Flag.withDescription("A slug, unique in the organization")),
    name: Flag.String("name").pipe(Flag.withDescription("The name that people see")),
    type: Flag.Literals("type", ContactFieldType.literals).pipe(Flag.withDescription("The type of its values")),
    options: Flag.String("option").pipe(
      Flag.atLeast(0),
      Flag.withDescription("A choice of a select; may be given several times")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, options, organization, ...flags }) {
    const input = yield* Admin.typed(CreateContactField, { ...flags, options: options.length === 0 ? null : options })
    const field = yield* Admin.asOperator(organization, ContactFields.use((fields) => fields.create(input))).pipe(
      Effect.catchTags({
        ContactFieldKeyTaken: Admin.refuse("The organization has a field with this key already."),
        ContactFieldOptionsMismatch: Admin.refuse("A select needs --option; no other type has any."),
        TooManyContactFields: ({ limit }) =>
          new Admin.Refused({ message: `The organization has ${limit} fields already, as many as it may have.` })
      })
    )
    yield* Print.result(json, toJson(field), `Contact field ${field.id} (${field.key}, ${field.type}).`)
  })
).pipe(Command.withDescription("Create a contact field"))

const list = Admin.list("List the contact fields", ContactFields.use((fields) => fields.list), toJson)

export const contactFields = Command.make("contact-fields").pipe(
  Command.withDescription("Contact fields of an organization"),
  Command.withSubcommands([create, list])
)
