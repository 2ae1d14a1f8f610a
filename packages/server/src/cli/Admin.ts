/** The common parts of the admin commands, which run core's operations as an operator, on the database of DATABASE_URL or on a cell. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { DefaultCountry } from "@messaging-crm/core/Countries"
import { ConcurrentChanges } from "@messaging-crm/core/Decide"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Organizations } from "@messaging-crm/core/Organizations"
import { Data, Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Logging from "../observability/Logging.ts"
import { check } from "../settings/Config.ts"
import * as Flags from "./Flags.ts"
import * as Print from "./Print.ts"

/** The command was rejected. The message is shown to the user. */
export class Rejected extends Data.TaggedError("Rejected")<{ readonly message: string }> {}

/** Fails with a message for the user. */
export const reject = (message: string) => () => Effect.fail(new Rejected({ message }))

/** The flag for the organization. */
export const organization = Flags.id("organization", OrganizationId, "ID of the organization")

/** The flag for the cell of a new organization. */
export const cell = Flag.String("cell").pipe(
  Flags.optional("Cell of the organization; required with CELLS", "the database of DATABASE_URL")
)

/** The operations are loaded here, so that help appears without them. */
const loadOperations = Effect.andThen(check(["database_url"]), Effect.promise(() => import("./AdminOperations.ts")))

/** Provides the operations on a cell, or on the only database. */
export const inCell = <A, E, R>(cell: Option.Option<string>, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(
    loadOperations,
    ({ layerOfCell }) => Effect.flatMap(layerOfCell(cell), (layer) => Effect.provide(effect, layer))
  ).pipe(Effect.provide(Logging.layer))

/** Runs an effect in each cell, or in the only database, whose name is null. */
export const inEachCell = <A, E, R>(effect: (cell: string | null) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(loadOperations, ({ databases, layerOf, ofCell }) =>
    Effect.flatMap(databases, (all) =>
      Effect.forEach(
        all,
        (database) =>
          ofCell(database.cell)(Effect.provide(effect(database.cell), layerOf(database.url), { local: true }))
      ))).pipe(Effect.provide(Logging.layer))

/** Fails because an organization does not exist. */
export const organizationAbsent = reject(
  "No organization has this ID. Find the ID with: messaging-crm organizations list."
)

/** Provides the operations on the database of an organization. */
const onOrganization = <A, E, R>(organization_id: OrganizationId, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(loadOperations, ({ findLayer }) =>
    Effect.flatMap(
      findLayer(organization_id),
      Option.match({ onNone: organizationAbsent, onSome: (layer) => Effect.provide(effect, layer) })
    )).pipe(Effect.provide(Logging.layer))

/** Provides the operations on the database of an organization, for the organization, and its default country. */
export const asOperator = <A, E, R>(organization_id: OrganizationId, effect: Effect.Effect<A, E, R>) =>
  Organizations.use((organizations) => organizations.get(organization_id)).pipe(
    Effect.catchTag("OrganizationNotFound", organizationAbsent),
    Effect.flatMap(({ default_country }) =>
      effect.pipe(
        Effect.provideService(CurrentActor, { organization_id, member_id: null }),
        Effect.provideService(DefaultCountry, default_country)
      )
    ),
    Effect.catchIf(
      (error) => error instanceof ConcurrentChanges,
      reject("Concurrent requests changed the same data. Nothing was changed. Run the command again.")
    ),
    (operation) => onOrganization(organization_id, operation)
  )

type FlagNames = Readonly<Record<string, string>>

/** The flags that are not named like their fields. A flag of a list names one item. */
const flag_names: FlagNames = {
  account_id: "account",
  app_id: "app",
  created_by: "member",
  event_types: "event-type",
  options: "option",
  page_id: "page",
  phone_messaging_business_account_id: "business-account",
  scopes: "scope"
}

/** Explains an invalid input as the API does, with the flag's name in place of the field's. */
const explained = Effect.fnUntraced(function*({ issue }: Schema.SchemaError, names: FlagNames) {
  const { explain } = yield* Effect.promise(() => import("@messaging-crm/adapter-http/middleware/SchemaIssues"))
  const { message, param } = explain(issue)
  if (param === null) return yield* new Rejected({ message })
  const flag = names[param] ?? flag_names[param] ?? param.replaceAll("_", "-")
  return yield* new Rejected({ message: message.replace(param, `--${flag}`) })
})

/** Validates flags with the schema of the operation. `names` are the flags that have other names in one command. */
export const typed = <A, I>(schema: Schema.Codec<A, I>, input: I, names: FlagNames = {}) =>
  Effect.catchTag(
    Schema.decodeEffect(schema, { reportInput: true })(input),
    "SchemaError",
    (error) => explained(error, names)
  )

/** Makes the command that lists what an organization has: as a table, or as JSON. */
export const list = <A, E, R>(
  description: string,
  command: string,
  found: Effect.Effect<ReadonlyArray<A>, E, R>,
  toJson: (row: A) => Readonly<Record<string, unknown>>
) =>
  Command.make(
    "list",
    { organization, json: Print.json },
    Effect.fnUntraced(function*({ json, organization }) {
      const rows = (yield* asOperator(organization, found)).map(toJson)
      yield* Print.result(json, rows, Print.table(rows))
    })
  ).pipe(
    Command.withDescription(description),
    Command.withExamples([
      { command: `messaging-crm ${command} list --organization $ORGANIZATION_ID` },
      { command: `messaging-crm ${command} list --organization $ORGANIZATION_ID --json` }
    ])
  )
