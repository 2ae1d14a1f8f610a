import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"
import * as Logging from "../observability/Logging.ts"
import { check, settings } from "../settings/Config.ts"

export const dev = Command.make("dev", {
  port: Flags.forSetting("port", settings.port),
  host: Flags.forSetting("host", { ...settings.host, default_text: "127.0.0.1" }),
  storage: Flag.Literals("storage", ["embedded", "memory"]).pipe(
    Flags.withDefault("embedded", "embedded: PostgreSQL from npm; memory: in memory, data is lost on exit")
  ),
  data_dir: Flag.String("data-dir").pipe(
    Flags.withDefault(".data", "Directory for the database and the secrets")
  ),
  seed_contacts: Flags.integer("seed-contacts", 0, 10_000_000).pipe(
    Flags.withDefault(0, "Number of additional generated contacts")
  ),
  demo: Flag.Boolean("demo").pipe(
    Flags.withDefault(true, "Create demo data; --no-demo starts without an organization")
  ),
  json: Print.json
}, (flags) =>
  Effect.gen(function*() {
    yield* check([], { port: flags.port, host: flags.host })
    const [Dev, Telemetry] = yield* Effect.promise(() =>
      Promise.all([import("../dev/Dev.ts"), import("../observability/Telemetry.ts")])
    )
    return yield* Effect.provide(Dev.run(flags), Telemetry.layer)
  }).pipe(
    Effect.provide(Logging.layer)
  )).pipe(
    Command.withDescription("Run the whole service on this machine, with demo data"),
    Command.withExamples([
      { command: "messaging-crm dev" },
      { command: "messaging-crm dev --storage memory --port 0 --json" }
    ])
  )
