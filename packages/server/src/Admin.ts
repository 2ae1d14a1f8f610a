/** What the admin commands share: they run core's operations on the configured database, as an operator. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ConcurrentChanges } from "@messaging-crm/core/Decide"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { Organizations } from "@messaging-crm/core/Organizations"
import { Data, Effect, Layer, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { readRequired, settings } from "./Config.ts"
import * as Database from "./Database.ts"
import * as Layers from "./Layers.ts"
import * as Logging from "./Logging.ts"
import * as Print from "./Print.ts"
import * as Providers from "./Providers.ts"

/** The command was refused. The message is shown to the user. */
export class Refused extends Data.TaggedError("Refused")<{ readonly message: string }> {}

/** Fails with a message for the user. */
export const refuse = (message: string) => () => Effect.fail(new Refused({ message }))

/** The flag for the organization. */
export const organization = Flag.String("organization").pipe(
  Flag.withSchema(OrganizationId),
  Flag.withDescription("The id of the organization")
)

/** Provides the operations on the configured database. */
export const withOperations = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const url = yield* readRequired(settings.database_url)
    const database = Layers.database(url)
    const storage = Layers.postgres.pipe(Layer.provide(database))
    const layer = Layers.operations(storage, Providers.absent).pipe(
      Layer.provideMerge(Layer.merge(Database.current, Database.clock).pipe(Layer.provide(database)))
    )
    return yield* Effect.provide(effect, layer.pipe(Layer.provide(Layers.tuning)))
  }).pipe(Effect.provide(Logging.layer))

/** Provides the operations on the configured database, for one organization. */
export const asOperator = <A, E, R>(organization_id: OrganizationId, effect: Effect.Effect<A, E, R>) =>
  Organizations.use((organizations) => organizations.get(organization_id)).pipe(
    Effect.catchTag("OrganizationNotFound", refuse("There is no such organization.")),
    Effect.andThen(Effect.provideService(effect, CurrentActor, { organization_id, member_id: null })),
    Effect.catchIf(
      (error) => error instanceof ConcurrentChanges,
      refuse("Other requests kept changing what the command depends on. Nothing was changed. Run the command again.")
    ),
    withOperations
  )

/** Validates flags with the schema of the operation. */
export const typed = <A, I>(schema: Schema.Codec<A, I>, input: I) =>
  Schema.decodeEffect(schema)(input).pipe(
    Effect.mapError((error) => new Refused({ message: String(error.message) }))
  )

/** Makes the command that lists what an organization has: as a table, or as JSON. */
export const list = <A, E, R>(
  description: string,
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
  ).pipe(Command.withDescription(description))
