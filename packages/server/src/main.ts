#!/usr/bin/env node
import "effect/schema/SchemaJITCompiler/enable"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Effect, Exit, type Runtime } from "effect"
import { Command } from "effect/cli"
import { HttpServerError } from "effect/http"
import { setFlagsFromString } from "node:v8"
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

// V8 lets garbage grow to several times what is alive before it collects the old of it. Half as much is as fast here.
setFlagsFromString("--heap-growing-percent=50")

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
    channels,
    contactFields,
    contacts,
    openapi,
    mockProvider,
    webhooks
  ])
)

/** Words for the person who typed the command; the whole story only where there are no words. */
const report = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof HttpServerError.ServeError) return `Cannot listen, choose another PORT or HOST: ${error.cause}`
  if (error instanceof Error && "_tag" in error && error.message !== "") {
    return error.message.replaceAll(/\s*\n\s*/g, " ")
  }
  return Cause.pretty(cause)
}

/** Being told to stop is not a failure. */
const teardown: Runtime.Teardown = (exit, onExit) => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return onExit(0)
  const error = Cause.squash(exit.cause)
  // The command line has shown its own help and errors already.
  if (!(error instanceof Error && "_tag" in error && error._tag === "ShowHelp")) {
    const message = report(exit.cause)
    process.stderr.write(`${process.argv.includes("--json") ? JSON.stringify({ error: { message } }) : message}\n`)
  }
  onExit(1)
}

// Who reads no further, as `head`, has what they wanted.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error
  process.exit(0)
})

// The first signal asks, the second insists.
let asked = false
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    if (asked) process.exit(130)
    asked = true
  })
}

NodeRuntime.runMain(
  Command.run(root, { version: manifest.version }).pipe(Effect.provide([NodeServices.layer, Print.layerHelp])),
  { disableErrorReporting: true, teardown }
)
