/** `dev`, as a person runs it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile, spawn } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { freePort } from "../../src/dev/FreePort.ts"
import { eventually } from "../../testing/Eventually.ts"
import { folder } from "../../testing/Folder.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import { dev, journey } from "./DevScene.ts"

describe("dev", () => {
  it.live(
    "responds from memory, polls a send until it is read, and exits with 0 on SIGTERM",
    () =>
      Effect.gen(function*() {
        const { ready, server, stop } = yield* dev(yield* folder, ["--storage", "memory"])
        assert.isNull(ready.database_url)
        yield* journey(server, ready)
        const docs = yield* Effect.promise(() => fetch(ready.docs_url))
        assert.strictEqual(docs.status, 200)
        const home = yield* Effect.promise(() => fetch(`${server.url}/`, { redirect: "manual" }))
        assert.deepStrictEqual([home.status, home.headers.get("location")], [302, "/console"])
        const page = yield* Api.request(server, "GET", "/contacts?page_size=50", { key: ready.api_key })
        assert.deepStrictEqual(
          [page.headers.get("content-encoding"), page.headers.get("vary")],
          ["gzip", "Accept-Encoding"]
        )
        const short = yield* Api.request(server, "GET", "/tags", { key: ready.api_key })
        assert.isNull(short.headers.get("content-encoding"))
        // The provider is in this process, and sends no callbacks.
        const ingress = yield* Effect.promise(() => fetch(`${server.url}/ingress/graph`, { method: "POST" }))
        assert.strictEqual(ingress.status, 404)
        assert.strictEqual(yield* stop, 0)
      }).pipe(Effect.scoped)
  )

  it.live("has the resources in the examples of its docs page", () =>
    Effect.gen(function*() {
      const { ready, server } = yield* dev(yield* folder, ["--storage", "memory"])
      const response = yield* Effect.promise(() => fetch(ready.docs_url))
      const page = yield* Effect.promise(() => response.text())
      assert.strictEqual(response.status, 200, page)
      // The examples of the page work in the demo: no cursor, and a tag that does not exist yet.
      assert.notMatch(page, /"name":"cursor"[^}]*"example":"[^"]/)
      const tag = yield* Api.request(server, "POST", "/tags", {
        key: ready.api_key,
        json: { name: "VIP", color: "amber" },
        idempotency_key: "the-example"
      })
      assert.strictEqual(tag.status, 200, tag.text)
      for (const path of ["/contacts/{contact_id}", "/conversations/{conversation_id}/messages/{message_id}"]) {
        const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
          const value = new RegExp(`"name":"${name}".*?"example":"([^"]+)"`).exec(page)
          return value?.[1] ?? "missing"
        })
        assert.strictEqual(
          (yield* Api.request(server, "GET", filled, { key: ready.api_key })).status,
          200,
          filled
        )
      }
      const known = [ready.member_id, ...ready.channels.slice(0, 1).map(({ id }) => id), ready.template_ids[0] ?? ""]
      for (const id of known) assert.include(page, id)
    }).pipe(Effect.scoped))

  it.live(
    "serves its metrics on METRICS_PORT if it is set, and nothing else there",
    () =>
      Effect.gen(function*() {
        const port = yield* freePort
        const { server } = yield* dev(yield* folder, ["--storage", "memory"], { METRICS_PORT: String(port) })
        const ask = (url: string) => Effect.promise(() => fetch(url))
        const metrics = yield* ask(`http://127.0.0.1:${port}/metrics`)
        assert.strictEqual(metrics.status, 200)
        assert.include(yield* Effect.promise(() => metrics.text()), "messaging_crm_work_items")
        const elsewhere = yield* ask(`http://127.0.0.1:${port}/v1/tags`)
        assert.strictEqual(elsewhere.status, 404)
        assert.isNotNull(elsewhere.headers.get("x-request-id"))
        assert.strictEqual((yield* ask(`${server.url}/metrics`)).status, 404)
        assert.strictEqual((yield* ask(`${server.url}/health/live`)).status, 200)
      }).pipe(Effect.scoped)
  )

  it.live("keeps its data and its key on PostgreSQL", () =>
    Effect.gen(function*() {
      const directory = yield* folder
      const first = yield* dev(directory)
      const path = yield* journey(first.server, first.ready)
      assert.strictEqual(yield* first.stop, 0)
      const second = yield* dev(directory)
      assert.strictEqual(second.ready.api_key, first.ready.api_key)
      const kept = yield* Api.request(second.server, "GET", path, { key: second.ready.api_key })
      assert.strictEqual(kept.status, 200)
      const subscribed = yield* Api.request(second.server, "POST", "/webhooks", {
        key: second.ready.api_key,
        json: { url: `http://127.0.0.1:${yield* freePort}/hooks`, event_types: ["message.sent"] },
        idempotency_key: "nobody-listens"
      })
      assert.strictEqual(subscribed.status, 200, subscribed.text)
      // In a shell with its variables, every command finds the service that runs.
      const doctor = `source ${join(directory, "env")} && ${process.execPath} ${Processes.main} doctor`
      const checked = yield* Effect.promise(() => promisify(execFile)("bash", ["-c", doctor]))
      assert.match(checked.stdout, /^ok +Channels/m)
      assert.match(checked.stdout, /^warning +Webhooks .*: connection_refused$/m)
      assert.strictEqual(yield* second.stop, 0)
    }).pipe(Effect.scoped))

  it.live("names the key that its environment gives, in a file or as a text, to other commands", () =>
    Effect.gen(function*() {
      const key = Buffer.alloc(32, 7).toString("base64")
      const other = yield* folder
      yield* Effect.promise(() => writeFile(join(other, "key"), key))
      for (const given of [{ SECRET_KEY_FILE: join(other, "key") }, { SECRET_KEY: key }]) {
        const directory = yield* folder
        const service = yield* dev(directory, [], given)
        const doctor = `source ${join(directory, "env")} && ${process.execPath} ${Processes.main} doctor`
        const checked = yield* Effect.promise(() => promisify(execFile)("bash", ["-c", doctor]))
        assert.match(checked.stdout, /^ok +Channels/m)
        assert.strictEqual(yield* service.stop, 0)
      }
    }).pipe(Effect.scoped))
})

it.live("dev prints a greeting, a line per request, and its stop", () =>
  Effect.gen(function*() {
    const directory = yield* folder
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(
          process.execPath,
          [Processes.main, "dev", "--storage", "memory", "--port", "0", "--data-dir", directory],
          {
            env: { PATH: process.env["PATH"] ?? "", LOG_FORMAT: "pretty" },
            stdio: ["ignore", "pipe", "pipe"]
          }
        )
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const said = { stdout: "", stderr: "" }
    child.stdout.setEncoding("utf8").on("data", (text: string) => said.stdout += text)
    child.stderr.setEncoding("utf8").on("data", (text: string) => said.stderr += text)
    yield* eventually(Effect.sync(() => said.stdout), (text) => text.includes("webhooks listen"))
    for (const name of ["API", "Docs", "Console", "Database", "API key", "Organization"]) {
      assert.match(said.stdout, new RegExp(`^  ${name} +\\S`, "m"))
    }
    const commands = said.stdout.split("another terminal:")[1]?.split("\n").filter((line) => /^  [.\w]/.test(line)) ??
      []
    assert.deepStrictEqual(commands.map((line) => line.trim().split(" ")[0]), [".", "curl", "curl", "npx"])
    // The first command, as it is pasted into any shell: `source` is not a command of each.
    const pasted = [commands[0], commands[1]].join("\n")
    const listed = yield* Effect.promise(() => promisify(execFile)("sh", ["-c", pasted]))
    assert.include(listed.stdout, "\"next_cursor\"")
    yield* eventually(Effect.sync(() => said.stderr), (text) => text.includes("/v1/contacts"))
    child.kill("SIGINT")
    yield* Effect.callback<void>((resume) => void child.once("close", () => resume(Effect.void)))
    const lines = said.stderr.trimEnd().split("\n")
    assert.match(lines[0] ?? "", /^[0-9:.]{12} GET \/v1\/contacts 200 \d+ ms$/)
    assert.deepStrictEqual(lines.slice(1).map((line) => line.split(/[:.]/)[0]), ["Stopping", "Stopped"])
  }).pipe(Effect.scoped))
