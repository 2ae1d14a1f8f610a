import { Member } from "@messaging-crm/core/Members"
import { CreateOrganization, Organization, Organizations } from "@messaging-crm/core/Organizations"
import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Print from "../cli/Print.ts"

const Created = Schema.encodeSync(Schema.Struct({ organization: Organization, owner: Member }))

const create = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(Flag.withDescription("Name of the organization")),
    owner_name: Flag.String("owner-name").pipe(Flag.withDescription("Name of the first owner")),
    owner_email: Flag.String("owner-email").pipe(Flag.withDescription("Email address of the first owner")),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, ...flags }) {
    const input = yield* Admin.typed(CreateOrganization, flags)
    const created = yield* Admin.withOperations(Organizations.use((organizations) => organizations.create(input)))
    const { organization, owner } = created
    yield* Print.result(json, Created(created), `Organization ${organization.id}, owner ${owner.id} (${owner.email}).`)
  })
).pipe(
  Command.withDescription("Create an organization with its first owner"),
  Command.withExamples([
    { command: "messaging-crm organizations create --name Acme --owner-name Ada --owner-email ada@acme.example" },
    { command: "messaging-crm organizations create --name Acme --owner-name Ada --owner-email ada@acme.example --json" }
  ])
)

const toJson = Print.encoded(Organization)

const list = Command.make(
  "list",
  { json: Print.json },
  Effect.fnUntraced(function*({ json }) {
    const found = yield* Admin.withOperations(Organizations.use((organizations) => organizations.list))
    const rows = found.map((row) => toJson(row))
    yield* Print.result(json, rows, Print.table(rows))
  })
).pipe(
  Command.withDescription("List the organizations, oldest first"),
  Command.withExamples([
    { command: "messaging-crm organizations list" },
    { command: "messaging-crm organizations list --json" }
  ])
)

export const organizations = Command.make("organizations").pipe(
  Command.withDescription("Create and list organizations"),
  Command.withSubcommands([create, list])
)
