/** Tests that need several processes on one database. */
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { connect } from "node:net"
import { freePort } from "../../src/dev/FreePort.ts"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"
import * as Network from "../../testing/processes/Network.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import { host, request } from "../http/RawHttp.ts"

const idOf = (text: string) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) })))(text)
    .data.id

const statusOf = (text: string) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ status: Schema.String }) })))(
    text
  ).data.status

/**
 * Starts conversations with one number, and returns the IDs of the sends: in each of 10 waves, 20 starts compete on all
 * servers, and the next wave begins after all of them are accepted.
 */
const startInWaves = (servers: ReadonlyArray<Servers.Server>, { channel_id, key }: Cluster.Cluster["acme"]) =>
  Effect.forEach(Array.from({ length: 10 }).keys(), (wave) =>
    Effect.forEach(
      Array.from({ length: 20 }).keys(),
      Effect.fnUntraced(function*(index) {
        const server = servers[index % servers.length]
        if (server === undefined) return yield* Effect.die("no server")
        const name = `${wave}-${index}`
        const json = Api.newConversation(channel_id, "+49 151 7654321", name)
        const options = { key, json, idempotency_key: `start-${name}` }
        const response = yield* Api.request(server, "POST", "/conversations", options)
        assert.strictEqual(response.status, 202, response.text)
        return idOf(response.text)
      }),
      { concurrency: "unbounded" }
    ))

it.live(
  "200 concurrent starts for one number on three processes create one contact and one conversation, and send 200 messages in order",
  () =>
    Effect.gen(function*() {
      const { acme, database_url, environment, accepted_url, servers } = yield* Cluster.make({
        servers: 3,
        environment: { RATE_LIMIT_PER_MINUTE: "100000" }
      })
      yield* Effect.forEach(servers, (server) => Servers.serve(environment, server), { concurrency: "unbounded" })
      const ids = yield* startInWaves(servers, acme)
      const [first] = servers
      if (first === undefined) return assert.fail("No server was started.")
      const read = (id: string) => Api.request(first, "GET", `/sends/${id}`, { key: acme.key })
      const isSent = ({ text }: Api.Response) => statusOf(text) === "sent"
      yield* Effect.forEach(ids.flat(), (id) => eventually(read(id), isSent), { concurrency: 4 })

      const references = (yield* Network.accepted(accepted_url)).map(({ reference }) => reference)
      assert.strictEqual(references.length, 200)
      assert.deepStrictEqual(references.toSorted(), ids.flat().toSorted())
      const waveOf = new Map(ids.flatMap((wave, index) => wave.map((id) => [id, index] as const)))
      const order = references.map((reference) => waveOf.get(reference))
      assert.deepStrictEqual(order, order.toSorted())

      // The reports of the network are processed last.
      const count = SqlClient.SqlClient.use((sql) =>
        sql<Readonly<Record<string, number>>>`
        SELECT
          (SELECT count(*)::integer FROM contacts) AS contacts,
          (SELECT count(*)::integer FROM identities) AS identities,
          (SELECT count(*)::integer FROM conversations) AS conversations,
          (SELECT count(*)::integer FROM messages) AS messages,
          (SELECT count(*)::integer FROM work) AS work
      `
      )
      const counts = yield* eventually(count, ([row]) => row?.["work"] === 0).pipe(
        Effect.provide(Client.layer({ url: Redacted.make(database_url) }))
      )
      assert.deepStrictEqual(counts, [{ contacts: 1, identities: 1, conversations: 1, messages: 200, work: 0 }])
    }).pipe(Effect.scoped)
)

it.live("one key on three processes gets exactly 120 responses per minute", () =>
  Effect.gen(function*() {
    const { acme, environment, servers } = yield* Cluster.make({
      servers: 3,
      environment: {}
    })
    yield* Effect.forEach(servers, (server) => Servers.serve(environment, server), { concurrency: "unbounded" })
    const asked = servers.flatMap((server) => Array.from({ length: 500 }, () => server))
    const responses = yield* Effect.forEach(asked, (server) => Api.request(server, "GET", "/tags", { key: acme.key }), {
      concurrency: 100
    })
    const accepted = responses.filter(({ status }) => status === 200)
    const rejected = responses.filter(({ status }) => status === 429)
    assert.strictEqual(accepted.length, 120)
    assert.strictEqual(rejected.length, 1380)
    const remaining = accepted.map(({ headers }) => Number(headers.get("x-ratelimit-remaining"))).toSorted((a, b) =>
      a - b
    )
    assert.deepStrictEqual(remaining, Array.from({ length: 120 }, (_, index) => index))
    for (const { headers } of rejected) {
      const wait = Number(headers.get("retry-after"))
      assert.isTrue(Number.isInteger(wait) && wait >= 1 && wait <= 60, headers.get("retry-after") ?? "none")
    }
  }).pipe(Effect.scoped))

it.live(
  "`serve` and `worker` serve their metrics on METRICS_PORT if it is set, and nowhere else",
  () =>
    Effect.gen(function*() {
      const { environment, servers: [server] } = yield* Cluster.make({ servers: 1, environment: {} })
      if (server === undefined) return assert.fail("No server was started.")
      const [of_server, of_worker] = [yield* freePort, yield* freePort]
      yield* Servers.serveApi({ ...environment, METRICS_PORT: String(of_server) }, server)
      yield* Processes.startMain(["worker"], { ...environment, METRICS_PORT: String(of_worker) })
      for (const port of [of_server, of_worker]) {
        const url = `http://127.0.0.1:${port}`
        yield* Processes.untilUp(`${url}/metrics`)
        const metrics = yield* Effect.promise(async () => (await fetch(`${url}/metrics`)).text())
        assert.include(metrics, "messaging_crm_work_items")
        for (const path of ["/v1/tags", "/health/live", "/docs"]) {
          assert.strictEqual((yield* Effect.promise(() => fetch(`${url}${path}`))).status, 404)
        }
      }
      assert.strictEqual((yield* Effect.promise(() => fetch(`${server.url}/metrics`))).status, 404)
      const docs = yield* Effect.promise(() => fetch(`${server.url}/docs`))
      assert.include(docs.headers.get("content-security-policy"), "connect-src 'none'", "keys are for servers")
    }).pipe(Effect.scoped)
)

it.live("`serve` and `worker` with a taken port print nothing as ready, and name the setting of the port", () =>
  Effect.gen(function*() {
    const { environment, servers: [server, other] } = yield* Cluster.make({ servers: 2, environment: {} })
    if (server === undefined || other === undefined) return assert.fail("There are servers.")
    yield* Servers.serveApi(environment, server)
    const taken = String(server.port)
    const free = String(other.port)
    for (
      const [args, METRICS_PORT, setting] of [
        [["serve", "--port", free], taken, "METRICS_PORT"],
        [["worker"], taken, "METRICS_PORT"],
        [["serve", "--port", taken], free, "PORT"]
      ] as const
    ) {
      const { code, stderr, stdout } = yield* Processes.run([...args, "--json"], { ...environment, METRICS_PORT })
      assert.strictEqual(code, 1)
      assert.strictEqual(stdout, "")
      assert.include(
        stderr,
        `Port ${taken} is already in use. Stop the other process, or choose another ${setting}.`
      )
    }
  }).pipe(Effect.scoped))

/** Sends the beginning of a text to a port, and resets the connection. */
const sendAndReset = (port: number, text: string) =>
  Effect.callback<void>((resume) => {
    const socket = connect(port, "127.0.0.1").on("error", () => {})
    socket.once("close", () => resume(Effect.void))
    socket.once("connect", () => void socket.write(text, () => void socket.resetAndDestroy()))
  })

it.live("`serve` survives 1,000 clients that reset their connections in the middle of a request", () =>
  Effect.gen(function*() {
    const { environment, servers: [server] } = yield* Cluster.make({ servers: 1, environment: {} })
    if (server === undefined) return assert.fail("No server was started.")
    const metrics_port = yield* freePort
    const { exited } = yield* Servers.serveApi({ ...environment, METRICS_PORT: String(metrics_port) }, server)
    const texts = [
      request("CONNECT x:1 HTTP/1.1", host),
      request("GET /health/live HTTP/1.1", host),
      `${request("POST /v1/tags HTTP/1.1", host, "Content-Length: 5")}hello`
    ]
    const beginnings = texts.flatMap((text) => Array.from(text, (_, index) => text.slice(0, index + 1)))
    // The server has a response to a whole request only, so each second client sends one.
    const sent = Array.from({ length: 500 }, (_, index) => [
      beginnings[index % beginnings.length] ?? "",
      texts[index % texts.length] ?? ""
    ]).flat()
    yield* Effect.forEach(
      sent.entries(),
      ([index, text]) => sendAndReset(Math.floor(index / 2) % 2 === 0 ? server.port : metrics_port, text),
      { concurrency: 8, discard: true }
    )
    yield* Effect.forEach(
      [`${server.url}/health/live`, `http://127.0.0.1:${metrics_port}/metrics`],
      (url) =>
        Effect.raceFirst(
          Processes.untilUp(url),
          Effect.flatMap(exited, (code) => Effect.die(new Error(`The server ended with ${code}.`)))
        )
    )
  }).pipe(Effect.scoped))
