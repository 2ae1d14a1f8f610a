/**
 * Marked values in every field that holds a person's data or a secret. Whatever
 * fails, none of them is in logs, spans, metrics, error bodies or the output of
 * commands that fail.
 */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { ChannelId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import type { ServerResponse } from "node:http"
import { answering } from "../testing/Answering.ts"
import * as Processes from "../testing/Processes.ts"

const word = "kanarienvogel"
const phone = "+4915155501234"

/** What no record may contain, in lower case: each marked value has one of these in it. */
const marked = [word, phone.slice(3, -1)]

/** Everything that was recorded, with the place where it was found. */
type Records = Array<{ readonly where: string; readonly text: string }>

/** A server whose output is kept. */
const serve = Effect.fnUntraced(function*(
  records: Records,
  environment: Processes.Environment,
  { port, url }: Processes.Server
) {
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const env = { PATH: process.env["PATH"] ?? "", ...environment }
      const child = spawn(process.execPath, [Processes.main, "serve", "--port", String(port)], { env })
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (text: string) => records.push({ where: "log", text }))
      }
      return child
    }),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("close", () => resume(Effect.void))
        child.kill("SIGTERM")
      })
  )
  yield* Processes.untilUp(`${url}/health/ready`)
})

/** Makes a write of a row end in the fault that one of its values names, such as `fault-53100`. */
const prepare = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE wanted text := substring(NEW::text FROM 'fault-([0-9A-Za-z]+)');
    BEGIN
      IF wanted IS NULL THEN RETURN NEW; END IF;
      IF wanted = 'lost' THEN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END IF;
      RAISE EXCEPTION '${word} in %', NEW USING
        ERRCODE = wanted, DETAIL = NEW::text, HINT = NEW::text, CONSTRAINT = 'some_constraint';
    END $$`)
  const tables = ["contacts", "tags", "conversations", "messages", "sends", "webhooks", "media", "idempotency_keys"]
  for (const table of tables) {
    yield* sql.unsafe(`CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION fail()`)
  }
})

const faults = {
  "unique_violation": "23505",
  "check_violation": "23514",
  "foreign_key_violation": "23503",
  "not_null_violation": "23502",
  "string_too_long": "22001",
  "invalid_text": "22P02",
  "serialization_failure": "40001",
  "deadlock_detected": "40P01",
  "lock_not_available": "55P03",
  "statement_timeout": "57014",
  "disk_full": "53100",
  "out_of_memory": "53200",
  "too_many_connections": "53300",
  "io_error": "58030",
  "data_corrupted": "XX001",
  "read_only": "25006",
  "insufficient_privilege": "42501",
  "raised": "P0001",
  "connection_lost": "lost"
} as const

/** The faults that are repeated as conflicts. */
const conflicts = ["unique_violation", "serialization_failure", "deadlock_detected", "lock_not_available"]

type Respond = (response: ServerResponse) => void

/** What a provider or an endpoint may answer: each repeats what it must not. */
const answers: Readonly<Record<string, Respond>> = {
  "500": (response) => response.writeHead(500).end(`{"error":"${word} ${phone}"}`),
  "no JSON": (response) => response.writeHead(200).end(`${word} ${phone}`),
  "other JSON": (response) => response.writeHead(200).end(`{"provider_message_id":{"${word}":"${phone}"}}`),
  "a reason that nobody knows": (response) => response.writeHead(422).end(`{"reason":"${word}"}`),
  "a redirect": (response) => response.writeHead(302, { location: `http://${word}.example/${phone}` }).end(),
  "no HTTP": (response) => void response.socket?.end(`${word} ${phone}\r\n\r\n`),
  "a reset connection": (response) => void response.socket?.destroy(),
  "half an answer": (response) => {
    response.writeHead(200, { "content-length": "100", "x-canary": word }).write(word)
    response.socket?.destroySoon()
  },
  "429": (response) => response.writeHead(429, { "retry-after": word }).end(`{"reason":"${word}"}`),
  "410": (response) => response.writeHead(410, word).end(word)
}

/** A provider and an endpoint in one, whose next answers are set. */
const outside = Effect.gen(function*() {
  let respond: Respond = (response) => response.writeHead(500).end(word)
  const asked = new Set<string>()
  const url = yield* answering((request, response) => {
    asked.add(request.url ?? "")
    request.resume().on("end", () => respond(response))
  })
  return { url, asked, answerWith: (next: Respond) => void (respond = next) }
})

/** Bodies with a text in each field that a person fills. */
const bodiesOf = (text: string) => ({
  contact: {
    first_name: text,
    last_name: text,
    primary_email: `${text}@example.com`,
    company: text,
    job_title: text,
    city: text,
    region: text,
    country: text,
    street_address: text,
    postal_code: text,
    website_url: `https://example.com/${text}`,
    network_url: `https://example.com/${text}`,
    source: text,
    notes: text
  },
  tag: { name: text, color: "red" },
  message: { type: "text", text }
})

const { contact, message, tag } = bodiesOf(word)

/** The mistakes of callers, each with a marked value in it. */
const mistakes: ReadonlyArray<readonly [path: string, init: RequestInit]> = [
  ["/v1/contacts", { method: "POST", body: `{"first_name":"${word}` }],
  ["/v1/contacts", { method: "POST", body: JSON.stringify({ primary_email: word, primary_phone: word }) }],
  ["/v1/contacts", { method: "POST", body: JSON.stringify({ first_name: [word] }) }],
  ["/v1/contacts", { method: "POST", body: word, headers: { "content-type": `text/${word}` } }],
  [`/v1/contacts?query=${word}&cursor=${word}`, {}],
  [`/v1/contacts?lifecycle_stage=${word}`, {}],
  [`/v1/contacts?query=${word}`, {}],
  [`/v1/contacts/${word}`, {}],
  [`/v1/${word}`, {}],
  [`/media/${word}`, {}],
  ["/v1/tags", { headers: { authorization: `Bearer ${word}` } }],
  ["/v1/tags", { method: "POST", headers: { "idempotency-key": `${word} \u00e4` }, body: JSON.stringify(tag) }],
  ["/v1/webhooks", { method: "POST", body: JSON.stringify({ url: `ftp://${word}`, event_types: [word] }) }],
  ["/ingress/mock", { method: "POST", body: word, headers: { "x-mock-signature": word } }]
]

/** Commands that fail, with a marked value in what they are given. */
const commands = (
  organization_id: string
): ReadonlyArray<readonly [ReadonlyArray<string>, Processes.Environment, string?]> => [
  [["migrate"], { DATABASE_URL: `postgres://${word}:${word}@127.0.0.1:1/${word}` }],
  [["serve"], { SECRET_KEY: word }],
  [["serve"], { PROVIDER: "cloud", CLOUD_ACCOUNTS: `{"apps":[{"secret":"${word}"}]}` }],
  [["serve"], { PROVIDER: "cloud", CLOUD_ACCOUNTS: word }],
  [["contacts", "import", "--organization", organization_id, "-"], {}, `first_name,primary_email\n${word},${word}\n`]
]

/** A collector of OpenTelemetry that keeps what it gets. */
const collector = (records: Records) =>
  answering((request, response) => {
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

/** Two servers, one that logs JSON and one that logs for people, and what tests do to them. Refusals are recorded. */
const begin = Effect.fnUntraced(function*(records: Records) {
  const elsewhere = yield* outside
  const cluster = yield* Processes.cluster({
    servers: 2,
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: yield* collector(records),
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${word}`,
      PROVIDER_URL: elsewhere.url,
      RATE_LIMIT_PER_MINUTE: "100000",
      REQUESTS_AT_ONCE: "1000",
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
  const callBack = yield* Processes.callbackSender(environment)
  let turn = 0
  const next = () => servers[turn++ % servers.length] ?? { port: 0, url: "" }
  const note = (path: string, { status, text }: { readonly status: number; readonly text: string }) => {
    if (status >= 400) records.push({ where: `${status} of ${path}`, text })
  }
  const request = (method: "GET" | "PATCH" | "POST", path: string, json?: unknown) =>
    Processes.request(next(), method, path, {
      key,
      ...(method === "GET" ? {} : { json, idempotency_key: `${word}-${turn}` })
    }).pipe(Effect.tap((answer) => Effect.sync(() => note(path, answer))))
  /** A person writes, with a file. */
  const receive = Effect.fnUntraced(function*(text: string) {
    return yield* callBack(next(), [{
      event: "message_received",
      channel_id: ChannelId.make(channel_id),
      provider_message_id: `${word}-${turn}`,
      from: { external_id: phone, display_name: text, username: text },
      type: "image",
      text,
      media: { kind: "image", mime_type: `image/${word}`, filename: text, transcript: text, bytes: Buffer.from(text) },
      sent_at: yield* DateTime.now
    }])
  })
  return { ...cluster, elsewhere, note, receive, request }
})

type Scene = Effect.Success<ReturnType<typeof begin>>

/** The resources that the operations change, made while nothing fails. */
const resources = Effect.fnUntraced(function*({ elsewhere, receive, request }: Scene) {
  const made = (path: string, json: unknown) =>
    Effect.flatMap(request("POST", path, json), ({ text }) => Schema.decodeUnknownEffect(DataOf)(text))
  yield* receive(word)
  const { data: { id: contact_id } } = yield* made("/contacts", contact)
  const hook = { url: `${elsewhere.url}/${word}`, event_types: ["message.received"] }
  const { data: { signing_secret = "no secret" } } = yield* made("/webhooks", hook)
  const conversations = yield* request("GET", "/conversations")
  const { data: [conversation] } = yield* Schema.decodeUnknownEffect(ListOf)(conversations.text)
  return { contact_id, conversation_id: conversation?.id ?? "none", signing_secret }
})

type Resources = Effect.Success<ReturnType<typeof resources>>

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
    request("POST", "/conversations", Processes.greeting(channel_id, phone, text)),
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
  // A row that nobody can read, and a table that is not there.
  yield* sql`ALTER TABLE contacts DROP CONSTRAINT contacts_custom_values_check`
  yield* sql`UPDATE contacts SET custom_values = to_jsonb(${word}::text)`
  const read = Effect.all([scene.request("GET", "/contacts"), scene.request("GET", `/contacts/${made.contact_id}`)])
  yield* read
  yield* sql`UPDATE contacts SET custom_values = '{}'`
  yield* sql`ALTER TABLE contacts RENAME TO contacts_elsewhere`
  yield* Effect.all([read, writeAll(scene, made, word)], { concurrency: "unbounded" })
  yield* sql`ALTER TABLE contacts_elsewhere RENAME TO contacts`
  return imported.stdout + imported.stderr
})

const failOutside = Effect.fnUntraced(
  function*({ elsewhere, receive, request }: Scene, { conversation_id }: Resources) {
    const sql = yield* SqlClient.SqlClient
    for (const respond of Object.values(answers)) {
      elsewhere.answerWith(respond)
      yield* request("POST", `/conversations/${conversation_id}/messages`, message)
      yield* receive(word)
      // What waits from before is due at once.
      yield* sql`UPDATE work SET due_at = now() - interval '1 second'`
    }
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
      // Each failure has happened and was told of: the search is not for nothing.
      const told = records.filter(({ where }) => where === "log").map(({ text }) => text).join("")
      const silent = Object.entries(faults).filter(([, code]) => !told.includes(code)).map(([name]) => name)
      // A conflict is no failure, and is answered instead.
      assert.deepStrictEqual(silent, [...conflicts, "connection_lost"])
      assert.includeMembers(Array.from(asked), ["/deliver", `/${word}`])
      const places = new Set(records.map(({ where }) => where))
      assert.includeMembers([...places], ["exported to /v1/traces", "500 of /contacts", "401 of /v1/tags", "metrics"])
      assert.isAtLeast([faults, answers, mistakes].flatMap((kinds) => Object.keys(kinds)).length, 20)
    }),
  120_000
)
