/** The output of commands on stdout: one JSON document with `--json`, otherwise text. Logs go to stderr. */
import { type Console, Effect, Layer } from "effect"
import { Flag } from "effect/cli"
import { HttpServer } from "effect/http"
import { oneLine, visible } from "./Visible.ts"

/** A console that writes everything to stderr, so that stdout has only the output of the command. */
export const stderr: Console.Console = {
  ...globalThis.console,
  log: globalThis.console.error,
  info: globalThis.console.error
}

/** The `--json` flag of every command. */
export const json = Flag.Boolean("json").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Print one JSON document on stdout (default: text)")
)

/** Prints a line on stdout, or several of a table. */
export const line = (text: string) => Effect.sync(() => process.stdout.write(`${visible(text)}\n`))

/** Prints a line with styles of our own, whose values are escaped already, on stdout. */
export const styled = (text: string) => Effect.sync(() => process.stdout.write(`${text}\n`))

/** Prints a value as JSON, or the given text. */
export const result = (asJson: boolean, value: unknown, words: string) => line(asJson ? JSON.stringify(value) : words)

/** Layer that announces the address of a server: as JSON on stdout with `--json`, otherwise in the log. */
export const announce = (asJson: boolean, words: (address: string) => unknown) =>
  Layer.effectDiscard(
    HttpServer.addressFormattedWith((address) =>
      asJson ? line(JSON.stringify(words(address))) : Effect.logInfo(`Listening on ${address}`)
    )
  )

const width = 30

/** Prints a line on stderr. */
export const note = (text: string) => Effect.sync(() => process.stderr.write(`${visible(text)}\n`))

const onTerminal = (text: string) =>
  Effect.sync(() => {
    if (process.stderr.isTTY) process.stderr.write(text)
  })

/**
 * Draws a progress bar on stderr, if it is a terminal.
 *
 * `part` goes from 0 to 1. It is null where the total is unknown.
 */
export const progress = (label: string, part: number | null, words: string) => {
  const filled = Math.round(width * Math.min(part ?? 0, 1))
  const bar = part === null ? "" : `${"█".repeat(filled)}${"░".repeat(width - filled)} `
  return onTerminal(`\r${label} ${bar}${words}\x1b[K`)
}

/** Ends the line of the progress bar. */
export const progressed = onTerminal("\n")

/** Returns rows as aligned columns under their names. */
export const table = (rows: ReadonlyArray<Readonly<Record<string, unknown>>>): string => {
  const [first] = rows
  if (first === undefined) return "none"
  const names = Object.keys(first)
  const cells = [names, ...rows.map((row) => names.map((name) => oneLine(String(row[name] ?? ""))))]
  const widths = names.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()).join("\n")
}

/** Returns names in quotes, as a list within a sentence. */
export const quoted = (names: ReadonlyArray<string>): string => names.map((name) => `"${name}"`).join(", ")
