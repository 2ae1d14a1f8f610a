/** What a command prints: one JSON document with `--json`, words without. Logs never come here. */
import { Console, Effect, Layer } from "effect"
import { CliOutput, Flag } from "effect/cli"
import { HttpServer } from "effect/http"

/** A console that leaves stdout to what a command prints. */
export const stderr: Console.Console = {
  ...globalThis.console,
  log: globalThis.console.error,
  info: globalThis.console.error
}

/** The flag that every command has. */
export const json = Flag.Boolean("json").pipe(
  Flag.withDefault(false),
  Flag.withDescription("Print one JSON document on stdout")
)

/** Prints a line on stdout. */
export const line = (text: string) => Effect.sync(() => process.stdout.write(`${text}\n`))

/** Layer that leaves stdout empty when a command was typed wrongly: its help goes to stderr with what is wrong. */
export const layerHelp = CliOutput.layerPresenter({
  present: (event) => {
    const present = CliOutput.defaultPresenter.present(event)
    return event._tag === "InvalidInvocation" ? Effect.provideService(present, Console.Console, stderr) : present
  }
})

/** Prints a value as JSON, or as the words that a person reads. */
export const result = (asJson: boolean, value: unknown, words: string) => line(asJson ? JSON.stringify(value) : words)

/** Layer that says where a server listens: on stdout with `--json`, in the words of the command, else in the log. */
export const announce = (asJson: boolean, words: (address: string) => unknown) =>
  Layer.effectDiscard(
    HttpServer.addressFormattedWith((address) =>
      asJson ? line(JSON.stringify(words(address))) : Effect.logInfo(`Listening on ${address}`)
    )
  )

const width = 30

/** Prints a line on stderr. */
export const note = (text: string) => Effect.sync(() => process.stderr.write(`${text}\n`))

const onTerminal = (text: string) =>
  Effect.sync(() => {
    if (process.stderr.isTTY) process.stderr.write(text)
  })

/**
 * Draws how far a long piece of work has come, on the terminal's error stream,
 * and nothing where there is no terminal.
 *
 * `part` goes from 0 to 1, and is null where nobody knows how much there is to do.
 */
export const progress = (label: string, part: number | null, words: string) => {
  const filled = Math.round(width * Math.min(part ?? 0, 1))
  const bar = part === null ? "" : `${"█".repeat(filled)}${"░".repeat(width - filled)} `
  return onTerminal(`\r${label} ${bar}${words}\x1b[K`)
}

/** Leaves the line of the progress. */
export const progressed = onTerminal("\n")

/** Returns rows as aligned columns under their names. */
export const table = (rows: ReadonlyArray<Readonly<Record<string, unknown>>>): string => {
  const [first] = rows
  if (first === undefined) return "none"
  const names = Object.keys(first)
  const cells = [names, ...rows.map((row) => names.map((name) => String(row[name] ?? "")))]
  const widths = names.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  return cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()).join("\n")
}
