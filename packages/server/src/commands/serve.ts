import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import * as ThreadPriorities from "../node/ThreadPriorities.ts"
import { checkService, type Flags as SettingFlags, read, settings } from "../settings/Config.ts"

const migrate = Flag.Boolean("migrate").pipe(
  Flags.withDefault(false, "Migrate the database schema first")
)

/** Loads the service with the provider that is set, once all settings are valid. */
const load = Effect.fnUntraced(function*(flags: SettingFlags = {}, hasConsole = false) {
  yield* checkService(flags, hasConsole)
  const [BuiltInProviders, Service] = yield* Effect.promise(() =>
    Promise.all([import("../BuiltInProviders.ts"), import("../Service.ts")])
  )
  return { provider: yield* BuiltInProviders.chosen, Service }
})

export const serve = Command.make("serve", {
  port: Flags.forSetting("port", settings.port),
  host: Flags.forSetting("host", settings.host),
  migrate,
  worker: Flag.Boolean("worker").pipe(
    Flags.withDefault(true, "Process the work queue too; --no-worker serves the API only")
  ),
  console: Flag.Boolean("console").pipe(
    Flags.withDefault(false, "Serve the console at /console, behind a login at an OpenID Connect provider")
  ),
  mcp: Flag.Boolean("mcp").pipe(
    Flags.withDefault(
      false,
      "Serve tools for AI agents at /mcp, and those that write at /mcp/write (Model Context Protocol)"
    )
  ),
  json: Print.json
}, ({ host, port, ...options }) =>
  Effect.gen(function*() {
    yield* options.worker ? ThreadPriorities.lowerCompilerPriority : ThreadPriorities.lowerPriority
    const { provider, Service } = yield* load({ host, port }, options.console)
    yield* Service.serve(provider, {
      ...options,
      host: Option.getOrUndefined(yield* read(settings.host, host)),
      port: Option.getOrUndefined(yield* read(settings.port, port))
    })
  })).pipe(
    Command.withDescription("Serve the API and process the work queue"),
    Command.withExamples([
      { command: "messaging-crm serve --migrate" },
      { command: "messaging-crm serve --no-worker --port 8080" },
      { command: "messaging-crm serve --console" },
      { command: "messaging-crm serve --mcp" }
    ])
  )

export const worker = Command.make(
  "worker",
  { migrate, json: Print.json },
  (options) =>
    Effect.gen(function*() {
      yield* ThreadPriorities.lowerCompilerPriority
      const { provider, Service } = yield* load()
      yield* Service.worker(provider, options)
    })
).pipe(
  Command.withDescription("Process the work queue without serving the API"),
  Command.withExamples([
    { command: "messaging-crm worker" },
    { command: "METRICS_PORT=9464 messaging-crm worker --migrate" }
  ])
)
