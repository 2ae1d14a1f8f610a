/** The command line: runs a command, and ends the process with its result or after a signal. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, type Runtime } from "effect"
import { Command } from "effect/cli"
import { root } from "./Cli.ts"
import * as Help from "./cli/Help.ts"
import { visible } from "./cli/Visible.ts"
import { manifest } from "./Manifest.ts"

const printError = (message: string): void => {
  const shown = process.argv.includes("--json") ? JSON.stringify({ error: { message } }) : message
  process.stderr.write(`${visible(shown)}\n`)
}

/** After an interruption, exits with 0 or the code that is set, and prints the error otherwise. */
const teardown: Runtime.Teardown = (exit, onExit) => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(Number(process.exitCode ?? 0))
  const error = Cause.squash(exit.cause)
  // The command line has already shown its own help and errors.
  if (!(error instanceof Error && "_tag" in error && error._tag === "ShowHelp")) {
    printError(Help.messageOf(exit.cause))
  }
  onExit(1)
}

const interrupt = (): void => void process.kill(process.pid, "SIGINT")

// A reader that stops, such as `head`, a terminal that closes, and a full disk end the process like Ctrl-C, so that it
// cleans up.
process.stdout.once("error", ({ code }: NodeJS.ErrnoException) => {
  process.stdout.on("error", () => {})
  if (code !== "EPIPE" && code !== "EIO") {
    process.exitCode = 1
    printError(`The output cannot be written (${code}). Free disk space, or write it to another place.`)
  }
  interrupt()
})
process.on("SIGHUP", interrupt)

// A service continues although its log cannot be written, for example on a full disk.
process.stderr.on("error", () => {})

// The first signal stops the process gracefully, the second one at once.
let isStopping = false
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (isStopping) process.exit(130)
    isStopping = true
  })
}

NodeRuntime.runMain(
  Command.run(root, { version: manifest.version }).pipe(Effect.provide([NodeServices.layer, Help.layer])),
  { disableErrorReporting: true, teardown }
)
