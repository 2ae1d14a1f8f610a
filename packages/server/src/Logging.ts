import { Console, Effect, Layer, Logger, Option, References } from "effect"
import { GlobalFlag } from "effect/cli"
import { readOr, settings } from "./Config.ts"
import { stderr } from "./Print.ts"
import { visible } from "./Visible.ts"

const levels = { debug: "Debug", info: "Info", warn: "Warn", warning: "Warn", error: "Error", none: "None" } as const

const loggers = {
  json: Logger.withConsoleError(Logger.map(Logger.formatJson, visible)),
  pretty: Logger.consolePretty()
}

/** Layer that logs to stderr, with the level and format of the settings. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const level = levels[yield* readOr(settings.log_level, "info")]
  const flag = Option.flatten(yield* Effect.serviceOption(GlobalFlag.LogLevel))
  const format = yield* readOr(settings.log_format, process.stderr.isTTY ? "pretty" : "json")
  return Layer.mergeAll(
    Logger.layer([loggers[format]]),
    Layer.succeed(References.MinimumLogLevel, Option.getOrElse(flag, () => level)),
    Layer.succeed(Console.Console, stderr)
  )
}))
