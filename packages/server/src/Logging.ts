import { Console, Effect, Layer, Logger, References } from "effect"
import { readOr, settings } from "./Config.ts"

const levels = { debug: "Debug", info: "Info", warning: "Warn", error: "Error", none: "None" } as const

/** What is logged goes to stderr, so that stdout is what a command prints. */
const stderr: Console.Console = { ...globalThis.console, log: globalThis.console.error, info: globalThis.console.error }

const loggers = {
  json: Logger.withConsoleError(Logger.formatJson),
  pretty: Logger.consolePretty()
}

/** Layer that logs as the settings say. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const level = yield* readOr(settings.log_level, "info")
  const format = yield* readOr(settings.log_format, process.stderr.isTTY ? "pretty" : "json")
  return Layer.mergeAll(
    Logger.layer([loggers[format]]),
    Layer.succeed(References.MinimumLogLevel, levels[level]),
    Layer.succeed(Console.Console, stderr)
  )
}))
