#!/usr/bin/env -S node --heap-growing-percent=100 --no-allocation-site-pretenuring
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Exit, type Runtime } from "effect"
import { Command } from "effect/cli"
import { root } from "./Cli.ts"
import * as Help from "./cli/Help.ts"
import { visible } from "./cli/Visible.ts"
import { manifest } from "./Manifest.ts"

/** Exits with 0 after an interruption, and prints the error otherwise. */
const teardown: Runtime.Teardown = (exit, onExit) => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
  const error = Cause.squash(exit.cause)
  // The command line has already shown its own help and errors.
  if (!(error instanceof Error && "_tag" in error && error._tag === "ShowHelp")) {
    const message = Help.messageOf(exit.cause)
    const shown = process.argv.includes("--json") ? JSON.stringify({ error: { message } }) : message
    process.stderr.write(`${visible(shown)}\n`)
  }
  onExit(1)
}

const interrupt = (): void => void process.kill(process.pid, "SIGINT")

// A reader that stops, such as `head`, and a terminal that closes end the process like Ctrl-C, so that it cleans up.
let isRead = true
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error
  if (isRead) interrupt()
  isRead = false
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
