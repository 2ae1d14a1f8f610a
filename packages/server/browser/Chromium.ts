/** Debian's Chromium, and a running `dev` for it. */
import { Effect, Schema, type Scope } from "effect"
import { createInterface } from "node:readline"
import { type Browser, chromium, type Page } from "playwright-core"
import { folder } from "../testing/Folder.ts"
import * as Processes from "../testing/processes/Processes.ts"

export const Ready = Schema.fromJsonString(Schema.Struct({
  base_url: Schema.String,
  docs_url: Schema.String,
  console_url: Schema.NullOr(Schema.String),
  api_key: Schema.String
}))
export type Ready = typeof Ready.Type

/** `dev` in memory, with its demo contacts, once it has said that it is ready. */
export const service = Effect.fnUntraced(function*(environment: Readonly<Record<string, string>>) {
  const args = ["dev", "--json", "--storage", "memory", "--port", "0", "--data-dir", yield* folder]
  const { child } = yield* Processes.startMain(args, environment)
  const line = yield* Effect.callback<string>((resume) => {
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).once("line", (text) => resume(Effect.succeed(text)))
    }
  })
  return yield* Effect.orDie(Schema.decodeUnknownEffect(Ready)(line))
})

export const browser = (args: ReadonlyArray<string> = []): Effect.Effect<Browser, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() =>
      chromium.launch({
        executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
        args: [...args],
        // Chromium has no sandbox for root, as whom containers run.
        chromiumSandbox: process.getuid?.() !== 0
      })
    ),
    (browser) => Effect.promise(() => browser.close())
  )

/** Collects all that a page requests, and all that it complains of. */
export const watch = (page: Page) => {
  const asked: Array<string> = []
  const complaints: Array<string> = []
  page.on("request", (request) => void asked.push(request.url()))
  page.on("pageerror", (error) => void complaints.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text())
  })
  return { asked, complaints }
}
