import { encoder } from "@messaging-crm/core/Codecs"
import { ContactField, ContactFields, ContactFieldType, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"

const toJson = encoder(ContactField)

const create = Command.make(
  "create",
  {
    organization: Admin.organization,
    key: Flag.String("key").pipe(Flag.withDescription("Slug of the field, unique in the organization")),
    name: Flag.String("name").pipe(Flag.withDescription("Display name of the field")),
    type: Flag.Literals("type", ContactFieldType.literals).pipe(Flag.withDescription("Type of the values")),
    options: Flag.String("option").pipe(Flags.repeated("Option of a select field", "none")),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, options, organization, ...flags }) {
    const input = yield* Admin.typed(CreateContactField, { ...flags, options: options.length === 0 ? null : options })
    const field = yield* Admin.asOperator(organization, ContactFields.use((fields) => fields.create(input))).pipe(
      Effect.catchTags({
        ContactFieldKeyTaken: Admin.reject("A contact field with this key already exists. Choose another --key."),
        ContactFieldOptionsMismatch: Admin.reject(
          input.type === "select"
            ? "A select field requires --option."
            : "--option is only for select fields. Remove it."
        ),
        TooManyContactFields: ({ limit }) =>
          new Admin.Rejected({
            message: `The organization has reached its limit of ${limit} contact fields. Use an existing field.`
          })
      })
    )
    yield* Print.result(json, toJson(field), `Contact field ${field.id} (${field.key}, ${field.type}).`)
  })
).pipe(
  Command.withDescription("Create a contact field: a custom field of the organization's contacts"),
  Command.withExamples([
    {
      command:
        "messaging-crm contact-fields create --organization $ORGANIZATION_ID --key customer_number --name \"Customer number\" --type text"
    },
    {
      command:
        "messaging-crm contact-fields create --organization $ORGANIZATION_ID --key plan --name Plan --type select --option basic --option pro"
    }
  ])
)

const list = Admin.list("List the contact fields", "contact-fields", ContactFields.use((fields) => fields.list), toJson)

export const contactFields = Command.make("contact-fields").pipe(
  Command.withDescription("Manage the contact fields of an organization"),
  Command.withSubcommands([create, list])
)
