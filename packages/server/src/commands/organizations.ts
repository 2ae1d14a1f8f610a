import { encoder } from "@messaging-crm/core/Codecs"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Member } from "@messaging-crm/core/Members"
import { CreateOrganization, Organization, Organizations, UpdateOrganization } from "@messaging-crm/core/Organizations"
import { Duration, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check } from "../settings/Config.ts"

const Created = Schema.encodeSync(Schema.Struct({ organization: Organization, owner: Member }))

const create = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(Flag.withDescription("Name of the organization")),
    owner_name: Flag.String("owner-name").pipe(Flag.withDescription("Name of the first owner")),
    owner_email: Flag.String("owner-email").pipe(Flag.withDescription("Email address of the first owner")),
    default_country: Flag.String("default-country").pipe(
      Flags.optional("Country whose phone numbers are read as they are dialed within it, such as DE", "none")
    ),
    cell: Admin.cell,
    json: Print.json
  },
  Effect.fnUntraced(function*({ cell, default_country, json, ...flags }) {
    const input = yield* Admin.typed(CreateOrganization, {
      ...flags,
      default_country: Option.getOrNull(default_country)
    })
    const created = yield* Admin.inCell(cell, Organizations.use((organizations) => organizations.create(input)))
    const { organization, owner } = created
    yield* Print.result(json, Created(created), `Organization ${organization.id}, owner ${owner.id} (${owner.email}).`)
  })
).pipe(
  Command.withDescription("Create an organization with its first owner"),
  Command.withExamples([
    { command: "messaging-crm organizations create --name Acme --owner-name Ada --owner-email ada@acme.example" },
    {
      command: "messaging-crm organizations create --name Acme --owner-name Ada --owner-email ada@acme.example --json"
    },
    {
      command:
        "messaging-crm organizations create --name Acme --owner-name Ada --owner-email ada@acme.example --cell eu-1"
    }
  ])
)

const toJson = encoder(Organization)

const update = Command.make(
  "update",
  {
    organization: Argument.String("id").pipe(
      Argument.withSchema(OrganizationId),
      Argument.withDescription("ID of the organization")
    ),
    default_country: Flag.String("default-country").pipe(
      Flag.withDescription(
        "Country whose phone numbers are read as they are dialed within it, such as DE; none for no country"
      )
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ default_country, json, organization }) {
    const input = yield* Admin.typed(UpdateOrganization, {
      default_country: default_country === "none" ? null : default_country
    })
    const updated = yield* Admin.asOperator(
      organization,
      Organizations.use((organizations) => organizations.update(input))
    ).pipe(Effect.catchTag("OrganizationNotFound", Admin.organizationAbsent))
    yield* Print.result(
      json,
      toJson(updated),
      `Organization ${updated.id} now has the default country ${updated.default_country ?? "none"}.`
    )
  })
).pipe(
  Command.withDescription("Change the default country of an organization"),
  Command.withExamples([
    { command: "messaging-crm organizations update $ORGANIZATION_ID --default-country DE" },
    { command: "messaging-crm organizations update $ORGANIZATION_ID --default-country none --json" }
  ])
)

const move = Command.make(
  "move",
  {
    organization: Argument.String("id").pipe(
      Argument.withSchema(OrganizationId),
      Argument.withDescription("ID of the organization")
    ),
    to: Flag.String("to").pipe(Flags.optional("Cell to which the organization moves", "none; required without --undo")),
    undo: Flag.Boolean("undo").pipe(
      Flags.withDefault(false, "Undo a move that was interrupted before the organization arrived")
    ),
    pause_max: Flags.integer("pause-max", 1, 3600).pipe(
      Flags.withDefault(60, "Seconds that the copy can take while writes wait; afterward the move is undone")
    ),
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization, pause_max, to, undo }) {
    if (Option.isSome(to) === undo) {
      return yield* new Admin.Rejected({ message: "Give one of --to and --undo." })
    }
    yield* check(["database_url"])
    const { run } = yield* Effect.promise(() => import("../cli/OrganizationMove.ts"))
    const moved = yield* run(organization, to, Duration.seconds(pause_max))
    yield* Print.result(
      json,
      moved,
      undo
        ? `Organization ${organization} stays in ${moved.cell}.`
        : [
          `Organization ${organization} is in ${moved.cell}.`,
          moved.copied === null ? "" : ` ${moved.copied.rows} rows (${moved.copied.bytes} bytes) were copied.`,
          moved.closed_ms === null ? "" : ` Writes waited for ${moved.closed_ms} ms.`
        ].join("")
    )
  }, Effect.provide(Logging.layer))
).pipe(
  Command.withDescription("Move an organization to another cell, or continue or undo an interrupted move"),
  Command.withExamples([
    { command: "messaging-crm organizations move $ORGANIZATION_ID --to eu-2" },
    { command: "messaging-crm organizations move $ORGANIZATION_ID --undo" }
  ])
)

const list = Command.make(
  "list",
  { json: Print.json },
  Effect.fnUntraced(function*({ json }) {
    const found = yield* Admin.inEachCell((cell) =>
      Effect.map(
        Organizations.use((organizations) => organizations.list),
        (all) => all.map((row) => ({ ...toJson(row), ...(cell === null ? {} : { cell }) }))
      )
    )
    const rows = found.flat()
    yield* Print.result(json, rows, Print.table(rows))
  })
).pipe(
  Command.withDescription("List the organizations of each cell, oldest first"),
  Command.withExamples([
    { command: "messaging-crm organizations list" },
    { command: "messaging-crm organizations list --json" }
  ])
)

export const organizations = Command.make("organizations").pipe(
  Command.withDescription("Create, update, list, and move organizations"),
  Command.withSubcommands([create, update, list, move])
)
