#!/usr/bin/env node
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Effect, Exit, type Runtime } from "effect"
import { Command } from "effect/cli"
import { HttpServerError } from "effect/http"
import { setFlagsFromString } from "node:v8"
import { audit } from "./commands/audit.ts"
import { channels } from "./commands/channels.ts"
import { contactFields } from "./commands/contactFields.ts"
import { contacts } from "./commands/contacts.ts"
import { dev } from "./commands/dev.ts"
import { keys } from "./commands/keys.ts"
import { members } from "./commands/members.ts"
import { migrate } from "./commands/migrate.ts"
import { mockProvider } from "./commands/mockProvider.ts"
import { openapi } from "./commands/openapi.ts"
import { organizations } from "./commands/organizations.ts"
import { serve, worker } from "./commands/serve.ts"
import { webhooks } from "./commands/webhooks.ts"
import { help } from "./Config.ts"
import { manifest } from "./Manifest.ts"
import * as Print from "./Print.ts"
import { visible } from "./Visible.ts"

// By default V8 lets the heap grow to several times the live objects before a major collection. Twice is as fast here.
setFlagsFromString("--heap-growing-percent=100")
// By default V8 makes objects old at once where others have lived long. Here those belong to requests in progress, and are
// soon garbage that only a major collection frees.
setFlagsFromString("--no-allocation-site-pretenuring")

const root = Command.make("messaging-crm").pipe(
  Command.withDescription(`One organization's customer messaging behind one REST API\n\n  ${help}`),
  Command.withSubcommands([
    dev,
    serve,
    worker,
    migrate,
    organizations,
    members,
    keys,
    audit,
    channels,
    contactFields,
    contacts,
    openapi,
    mockProvider,
    webhooks
  ])
)

/** Returns the message of an error for the user; the full cause for an unexpected error without a message. */
const messageOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof HttpServerError.ServeError) return `Cannot listen, choose another PORT or HOST: ${error.cause}`
  if (error instanceof Error && "_tag" in error && error.message !== "") {
    return error.message.replaceAll(/\s*\n\s*/g, " ")
  }
  return Cause.pretty(cause)
}

/** Exits with 0 after an interruption, and prints the error otherwise. */
const teardown: Runtime.Teardown = (exit, onExit) => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
  const error = Cause.squash(exit.cause)
  // The command line has shown its own help and errors already.
  if (!(error instanceof Error && "_tag" in error && error._tag === "ShowHelp")) {
    const message = messageOf(exit.cause)
    const shown = process.argv.includes("--json") ? JSON.stringify({ error: { message } }) : message
    process.stderr.write(`${visible(shown)}\n`)
  }
  onExit(1)
}

// A reader that stops, such as `head`, ends the process without an error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error
  process.exit(0)
})

// The first signal stops the process gracefully, the second one at once.
let isStopping = false
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (isStopping) process.exit(130)
    isStopping = true
  })
}

NodeRuntime.runMain(
  Command.run(root, { version: manifest.version }).pipe(Effect.provide([NodeServices.layer, Print.layerHelp])),
  { disableErrorReporting: true, teardown }
)
