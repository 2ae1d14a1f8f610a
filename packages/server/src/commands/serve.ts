import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { help, readOr, readRequired, settings } from "../Config.ts"
import * as Print from "../Print.ts"
import * as Priorities from "../Priorities.ts"
import * as Providers from "../Providers.ts"
import * as Service from "../Service.ts"

const port = Flag.String("port").pipe(Flag.optional, Flag.withDescription("PORT"))
const host = Flag.String("host").pipe(Flag.optional, Flag.withDescription("HOST"))
const migrate = Flag.Boolean("migrate").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Bring the database's schema up to date first")
)

/** The provider that is set. What every service needs is missed first. */
const provider = Effect.all([readRequired(settings.database_url), readRequired(settings.secret_key)]).pipe(
  Effect.andThen(Providers.chosen)
)

export const serve = Command.make("serve", {
  port,
  host,
  migrate,
  worker: Flag.Boolean("worker").pipe(Flag.withDefault(true), Flag.withDescription("--no-worker answers the API only")),
  json: Print.json
}, (flags) =>
  Effect.gen(function*() {
    yield* flags.worker ? Priorities.lowerCompilerPriority : Priorities.lowerPriority
    yield* Service.serve(yield* provider, {
      ...flags,
      host: yield* readOr(settings.host, "0.0.0.0", flags.host),
      port: yield* readOr(settings.port, 3000, flags.port)
    })
  })).pipe(
    Command.withShortDescription("Answer the API and work on what is queued"),
    Command.withDescription(`Answer the API and work on what is queued\n\n  ${help}`)
  )

export const worker = Command.make(
  "worker",
  { migrate, json: Print.json },
  (flags) =>
    Effect.andThen(
      Priorities.lowerCompilerPriority,
      Effect.flatMap(provider, (chosen) => Service.worker(chosen, flags))
    )
).pipe(
  Command.withShortDescription("Work on what is queued, without the API"),
  Command.withDescription(`Work on what is queued, without the API\n\n  ${help}`)
)
