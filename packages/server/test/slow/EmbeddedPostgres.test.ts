import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { start } from "@messaging-crm/server/EmbeddedPostgres"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { isFree } from "../../src/dev/FreePort.ts"
import { eventually } from "../../testing/Eventually.ts"
import { folder } from "../../testing/Folder.ts"
import { announcement } from "../../testing/GlobalSetup.ts"

/** A directory inside one that no other user may enter. */
const closedDirectory = folder.pipe(Effect.map((directory) => join(directory, "data")))

const on = <A, E>(url: string, effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.provide(effect, Client.layer({ url: Redacted.make(url), connections: 1 }))

const program = `
  import { start } from "@messaging-crm/server/EmbeddedPostgres"
  import { Effect } from "effect"
  await Effect.runPromise(Effect.scoped(Effect.flatMap(start({ directory: process.argv[1] }), (url) =>
    Effect.callback(() => process.stdout.write(url, () => process.kill(process.pid, "SIGKILL"))))))
`

/** Another process starts PostgreSQL and is killed. Returns the URL of what it leaves running. */
const startAndDie = (directory: string) =>
  Effect.callback<string, Error>((resume) => {
    execFile(process.execPath, ["--input-type=module", "--eval", program, directory], (error, url) => {
      resume(error?.signal === "SIGKILL" ? Effect.succeed(url) : Effect.fail(error ?? new Error("It was not killed")))
    })
  })

it.live("PostgreSQL starts again with its data after its process was killed", () =>
  Effect.gen(function*() {
    const directory = yield* closedDirectory
    const left = yield* startAndDie(directory)
    yield* on(left, SqlClient.SqlClient.use((sql) => sql`CREATE TABLE kept AS SELECT 42 AS answer`))

    const again = yield* start({ directory })
    const rows = yield* on(again, SqlClient.SqlClient.use((sql) => sql`SELECT answer FROM kept`))
    assert.deepStrictEqual(rows, [{ answer: 42 }])
  }))

const testRun = `
  import { setup } from "./packages/server/testing/GlobalSetup.ts"
  await setup()
  process.stdout.write(process.env.TEST_PROGRAMS + " " + process.env.TEST_DATABASE_URL)
`

it.live("a test run stops PostgreSQL and its programs on SIGTERM", () =>
  Effect.gen(function*() {
    const { TEST_DATABASE_URL: _, ...env } = process.env
    const run = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, ["--input-type=module", "--eval", testRun], { env, stdio: "pipe" })),
      (run) => Effect.sync(() => run.kill("SIGKILL"))
    )
    let said = ""
    run.stdout.setEncoding("utf8").on("data", (text: string) => said += text)
    const found = yield* eventually(Effect.sync(() => /(\S+) (postgres:\S+)$/.exec(said)), (found) => found !== null)
    const [, programs = "", url = ""] = found ?? []
    assert.isTrue(said.startsWith(announcement), said)
    const port = Number(new URL(url).port)
    assert.isFalse(yield* isFree(port))
    const ended = once(run, "exit")
    run.kill("SIGTERM")
    assert.deepStrictEqual(yield* Effect.promise(() => ended), [null, "SIGTERM"])
    yield* eventually(isFree(port), (free) => free)
    yield* eventually(Effect.sync(() => existsSync(programs)), (exists) => !exists)
  }))
