/**
 * Marked values in every field that holds a person's data or a secret. Whatever
 * fails, none of them is in logs, spans, metrics, error bodies or the output of
 * commands that fail.
 */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { DateTime, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Callbacks from "../../testing/processes/Callbacks.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import type * as Servers from "../../testing/processes/Servers.ts"
import { startHttpServer } from "../../testing/processes/TestHttpServer.ts"
import {
  bodiesOf,
  commands,
  conflicts,
  contact,
  faults,
  marked,
  message,
  mistakes,
  phone,
  prepare,
  type Respond,
  responses,
  word
} from "./Canaries.ts"

/** Everything that was recorded, with the place where it was found. */
type Records = Array<{ readonly where: string; readonly text: string }>

/** Starts a server, and records its output until it has stopped. */
const serve = Effect.fnUntraced(function*(
  records: Records,
  environment: Processes.Environment,
  { port, url }: Servers.Server
) {
  const { child } = yield* Processes.startMain(["serve", "--port", String(port)], environment)
  for (const stream of [child.stdout, child.stderr]) {
    // The log of every request is too long for the output of the test.
    stream.removeAllListeners("data")
    stream.setEncoding("utf8").on("data", (text: string) => records.push({ where: "log", text }))
  }
  // After SIGTERM, the server exports and logs the rest before it closes its output.
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      child.once("close", () => resume(Effect.void))
      child.kill("SIGTERM")
    })
  )
  yield* Processes.untilUp(`${url}/health/ready`)
})

/** A provider and an endpoint in one, whose next responses are set. */
const outside = Effect.gen(function*() {
  let respond: Respond = (response) => response.writeHead(500).end(word)
  const asked = new Set<string>()
  const url = yield* startHttpServer((request, response) => {
    asked.add(request.url ?? "")
    request.resume().on("end", () => respond(response))
  })
  return { url, asked, respondWith: (next: Respond) => void (respond = next) }
})

/** A collector of OpenTelemetry that keeps what it gets. */
const collector = (records: Records) =>
  startHttpServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      records.push({ where: `exported to ${request.url}`, text: Buffer.concat(chunks).toString("latin1") })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })

const DataOf = Schema.fromJsonString(Schema.Struct({
  data: Schema.Struct({ id: Schema.String, signing_secret: Schema.optionalKey(Schema.String) })
}))
const ListOf = Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }))

/** Returns the content of a message with a file. */
const file = (text: string) => ({
  type: "document",
  document: { id: text, mime_type: `image/${word}`, filename: text, caption: text }
})

/** Two servers, one that logs JSON and one that logs for people, and what tests do to them. Rejections are recorded. */
const begin = Effect.fnUntraced(function*(records: Records) {
  const elsewhere = yield* outside
  const cluster = yield* Cluster.make({
    servers: 2,
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: yield* collector(records),
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${word}`,
      GRAPH_URL: elsewhere.url,
      RATE_LIMIT_PER_MINUTE: "100000",
      WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
    }
  })
  const { acme: { channel_id, key }, environment, servers } = cluster
  yield* Effect.forEach(
    servers,
    (server, index) =>
      serve(records, { ...environment, LOG_FORMAT: index === 0 ? "json" : "pretty", LOG_LEVEL: "debug" }, server),
    { concurrency: "unbounded" }
  )
  let turn = 0
  const next = () => servers[turn++ % servers.length] ?? { port: 0, url: "" }
  const note = (path: string, { status, text }: { readonly status: number; readonly text: string }) => {
    if (status >= 400) records.push({ where: `${status} of ${path}`, text })
  }
  const request = (method: "GET" | "PATCH" | "POST", path: string, json?: unknown) =>
    Api.request(next(), method, path, {
      key,
      ...(method === "GET" ? {} : { json, idempotency_key: `${word}-${turn}` })
    }).pipe(Effect.tap((response) => Effect.sync(() => note(path, response))))
  /** A person writes a message with a text and a file, or another one. */
  const receive = Effect.fnUntraced(function*(text: string, content: Callbacks.Message["content"] = file(text)) {
    const person = { from: phone, display_name: text, sent_at: yield* DateTime.now }
    return yield* Callbacks.post(next(), [
      { channel_id, provider_message_id: `${word}-${turn}`, content, ...person }
    ])
  })
  return { ...cluster, elsewhere, note, receive, request }
})

type Scene = Effect.Success<ReturnType<typeof begin>>

/** The resources that the operations change, made while nothing fails. */
const resources = Effect.fnUntraced(function*({ elsewhere, receive, request }: Scene) {
  const made = (path: string, json: unknown) =>
    Effect.flatMap(request("POST", path, json), ({ text }) => Schema.decodeUnknownEffect(DataOf)(text))
  yield* receive(word, Callbacks.text(word))
  const { data: { id: contact_id } } = yield* made("/contacts", contact)
  const hook = { url: `${elsewhere.url}/${word}`, event_types: ["message.received"] }
  const { data: { id: webhook_id, signing_secret = "no secret" } } = yield* made("/webhooks", hook)
  const list = Effect.flatMap(request("GET", "/conversations"), ({ text }) => Schema.decodeUnknownEffect(ListOf)(text))
  const { data: [conversation] } = yield* eventually(list, ({ data }) => data.length > 0)
  return { contact_id, conversation_id: conversation?.id ?? "none", signing_secret, webhook_id }
})

type Resources = Effect.Success<ReturnType<typeof resources>>

/** Every kind of read, and the writes without a text. */
const readAll = (
  { acme: { channel_id, member_id }, request }: Scene,
  { contact_id, conversation_id, webhook_id }: Resources
) => {
  const paths = [
    "/channels",
    "/contact-fields",
    "/contacts",
    `/contacts?query=${word}`,
    `/contacts/${contact_id}`,
    "/conversations",
    `/conversations/${conversation_id}`,
    `/conversations/${conversation_id}/messages`,
    "/members",
    `/sends/${contact_id}`,
    "/tags",
    `/templates?channel_id=${channel_id}`,
    "/webhooks",
    `/webhooks/${webhook_id}/deliveries`
  ]
  return Effect.all([
    ...paths.map((path) => request("GET", path)),
    request("POST", `/conversations/${conversation_id}/assignment`, { assigned_user_id: member_id }),
    request("POST", `/conversations/${conversation_id}/reopen`, {}),
    request("POST", `/webhooks/${contact_id}/disable`, {}),
    request("POST", `/webhooks/${webhook_id}/deliveries/${contact_id}/retry`, {})
  ], { concurrency: "unbounded" })
}

/** Every kind of write, with a text in every field. */
const writeAll = (
  { acme: { channel_id }, elsewhere, receive, request }: Scene,
  { contact_id, conversation_id }: Resources,
  text: string
) => {
  const { contact, message, tag } = bodiesOf(text)
  return Effect.all([
    request("POST", "/contacts", contact),
    request("PATCH", `/contacts/${contact_id}`, contact),
    request("POST", `/contacts/${contact_id}/notes`, { text }),
    request("POST", "/tags", tag),
    request("POST", "/webhooks", { url: `${elsewhere.url}/${text}`, event_types: ["message.received"] }),
    request("POST", `/conversations/${conversation_id}/messages`, message),
    request("POST", `/conversations/${conversation_id}/close`, { category: text }),
    request("POST", "/conversations", Api.newConversation(channel_id, phone, text)),
    receive(text)
  ], { concurrency: "unbounded" })
}

const importLine = (scene: Scene, line: string) =>
  Processes.run(
    ["contacts", "import", "--organization", scene.acme.organization_id, "-"],
    scene.environment,
    `first_name\n${line}\n`
  )

const failInDatabase = Effect.fnUntraced(function*(scene: Scene, made: Resources) {
  const sql = yield* SqlClient.SqlClient
  yield* prepare
  yield* Effect.forEach(Object.values(faults), (code) => writeAll(scene, made, `${word}-fault-${code}`), {
    concurrency: "unbounded"
  })
  const imported = yield* importLine(scene, `${word}-fault-${faults.disk_full}`)
  assert.notStrictEqual(imported.code, 0)
  // An unreadable row, and a missing table.
  yield* sql`ALTER TABLE contacts DROP CONSTRAINT contacts_custom_values_check`
  yield* sql`UPDATE contacts SET custom_values = to_jsonb(${word}::text)`
  yield* readAll(scene, made)
  yield* sql`UPDATE contacts SET custom_values = '{}'`
  const tables = ["contacts", "conversations", "messages", "channels", "tags", "webhooks", "sends", "members"]
  for (const table of tables) yield* sql`ALTER TABLE ${sql(table)} RENAME TO ${sql(`${table}_elsewhere`)}`
  yield* Effect.all([readAll(scene, made), writeAll(scene, made, word)], { concurrency: "unbounded" })
  for (const table of tables) yield* sql`ALTER TABLE ${sql(`${table}_elsewhere`)} RENAME TO ${sql(table)}`
  return imported.stdout + imported.stderr
})

const failOutside = Effect.fnUntraced(
  function*({ elsewhere, receive, request }: Scene, { conversation_id }: Resources) {
    const sql = yield* SqlClient.SqlClient
    for (const respond of Object.values(responses)) {
      elsewhere.respondWith(respond)
      yield* request("POST", `/conversations/${conversation_id}/messages`, message)
      yield* receive(word, Callbacks.text(word))
      yield* receive(word)
      // What waits from before is due at once.
      yield* sql`UPDATE work SET due_at = now() - interval '1 second'`
    }
    yield* eventually(Effect.sync(() => elsewhere.asked), (asked) => asked.has(`/${word}`))
  }
)

const makeMistakes = ({ acme: { key }, note, servers: [server] }: Scene) =>
  Effect.forEach(mistakes, ([path, init], index) =>
    Effect.promise(async () => {
      const headers = {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": `${word}-mistake-${index}`,
        ...init.headers
      }
      const response = await fetch(`${server?.url}${path}`, { ...init, headers })
      note(path.replaceAll(word, "…"), { status: response.status, text: await response.text() })
    }))

const runCommands = Effect.fnUntraced(function*({ acme: { organization_id }, environment }: Scene) {
  const ended = yield* Effect.forEach(
    commands(organization_id),
    ([args, given, stdin]) => Processes.run(args, { ...environment, ...given }, stdin),
    { concurrency: 3 }
  )
  for (const { code } of ended) assert.notStrictEqual(code, 0)
  return ended.map(({ stderr, stdout }) => stdout + stderr).join("")
})

/** Lets everything fail. The processes end with it, so everything is exported and logged afterwards. */
const failEverywhere = Effect.fnUntraced(function*(records: Records) {
  const scene = yield* begin(records)
  const made = yield* resources(scene)
  const database = Client.layer({ url: Redacted.make(scene.database_url), connections: 2 })
  const imported = yield* Effect.provide(failInDatabase(scene, made), database)
  yield* Effect.provide(failOutside(scene, made), database)
  yield* makeMistakes(scene)
  records.push({ where: "commands", text: imported + (yield* runCommands(scene)) })
  for (const { url } of scene.servers) {
    records.push({
      where: "metrics",
      text: yield* Effect.promise(async () => (await fetch(`${url}/metrics`)).text())
    })
  }
  return {
    asked: scene.elsewhere.asked,
    secrets: [scene.acme.key, made.signing_secret, scene.environment["SECRET_KEY"] ?? "no key"]
  }
}, Effect.scoped)

it.live(
  "no marked value is in a log, a span, a metric, an error body or the output of a command that fails",
  () =>
    Effect.gen(function*() {
      const records: Records = []
      const { asked, secrets } = yield* failEverywhere(records)
      const findings = records.flatMap(({ text, where }) =>
        [...marked, ...secrets].flatMap((canary) => {
          const at = text.toLowerCase().indexOf(canary.toLowerCase())
          return at === -1 ? [] : [`${where}: …${text.slice(Math.max(0, at - 300), at + 60)}…`]
        })
      )
      assert.deepStrictEqual(findings.slice(0, 5), [])
      // Each failure has happened and was reported, so the search has something to find.
      const told = records.filter(({ where }) => where === "log").map(({ text }) => text).join("")
      // As a word: an ID in a log may contain its digits.
      const isTold = (code: string) => new RegExp(`\\b${code}\\b`, "u").test(told)
      const silent = Object.entries(faults).filter(([, code]) => !isTold(code)).map(([name]) => name)
      // A conflict is no failure, and has a response instead.
      assert.deepStrictEqual(silent, [...conflicts, "connection_lost"])
      assert.isNotEmpty(Array.from(asked).filter((path) => path.endsWith("/messages")))
      const places = new Set(records.map(({ where }) => where))
      assert.includeMembers([...places], ["exported to /v1/traces", "500 of /contacts", "401 of /v1/tags", "metrics"])
      assert.isAtLeast([faults, responses, mistakes].flatMap((kinds) => Object.keys(kinds)).length, 20)
    })
)
