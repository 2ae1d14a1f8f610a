import { Array, Cause, Console, Effect, Layer, Logger, Option, References } from "effect"
import { GlobalFlag } from "effect/cli"
import { stderr } from "../cli/Print.ts"
import { visible } from "../cli/Visible.ts"
import { readOr, readWithDefault, settings } from "../settings/Config.ts"

const levels = { debug: "Debug", info: "Info", warn: "Warn", warning: "Warn", error: "Error", none: "None" } as const

const textOf = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? String(value)

/** Returns the words for a request: method, path, status, time, and the code of an error. */
const requestWords = ({ code, duration_ms, method, path, route, status }: Readonly<Record<string, unknown>>) =>
  [method, path ?? route, status, code, `${duration_ms} ms`].filter((word) => typeof word !== "object").join(" ")

/** Formats an entry for a person: a line, and the cause of a failure below it. */
export const line = Logger.make(({ cause, date, fiber, logLevel, message }) => {
  const fields = fiber.getRef(References.CurrentLogAnnotations)
  const isRequest = "duration_ms" in fields && "status" in fields && "method" in fields
  const words = isRequest
    ? requestWords(fields)
    : [
      ...logLevel === "Info" ? [] : [logLevel.toUpperCase()],
      ...Array.ensure(message).map(textOf),
      ...Object.entries(fields).map(([name, value]) => `${name}=${textOf(value)}`)
    ].join(" ")
  const reason = cause.reasons.length === 0 ? "" : `\n${Cause.pretty(cause)}`
  return visible(`${date.toISOString().slice(11, 23)} ${words}${reason}`)
})

const loggers = {
  json: Logger.withConsoleError(Logger.map(Logger.formatJson, visible)),
  pretty: Logger.withConsoleError(line)
}

/** Layer that logs to stderr, with the level and format of the settings. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const level = levels[yield* readWithDefault(settings.log_level)]
  const flag = Option.flatten(yield* Effect.serviceOption(GlobalFlag.LogLevel))
  const format = yield* readOr(settings.log_format, process.stderr.isTTY ? "pretty" : "json")
  return Layer.mergeAll(
    Logger.layer([loggers[format]]),
    Layer.succeed(References.MinimumLogLevel, Option.getOrElse(flag, () => level)),
    Layer.succeed(Console.Console, stderr)
  )
}))
