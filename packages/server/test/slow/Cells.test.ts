/** Processes that serve three cells on two PostgreSQL servers. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { freePort } from "../../src/dev/FreePort.ts"
import { eventually } from "../../testing/Eventually.ts"
import * as Api from "../../testing/processes/Api.ts"
import * as Cells from "../../testing/processes/Cells.ts"
import * as Network from "../../testing/processes/Network.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"

const Made = Schema.Struct({ organization_id: Schema.String, channel_id: Schema.String, api_key: Schema.String })

type Organization = typeof Made.Type & { readonly cell: string }

const Resource = Schema.fromJsonString(
  Schema.Struct({ data: Schema.Struct({ id: Schema.String, status: Schema.optionalKey(Schema.String) }) })
)
const Page = Schema.fromJsonString(Schema.Struct({ data: Schema.Array(Schema.Struct({ id: Schema.String })) }))

const resourceOf = (text: string) => Schema.decodeUnknownSync(Resource)(text).data
const idsOf = (text: string) => Schema.decodeUnknownSync(Page)(text).data.map(({ id }) => id)

/** Creates an organization in a cell, with a channel whose account is stored, and a key. */
const create = Effect.fnUntraced(function*(environment: Processes.Environment, cell: string, number: number) {
  const owner = ["--name", cell, "--owner-name", "Ada", "--owner-email", "ada@acme.example"]
  const channel = ["--type", "phone_messaging", "--address", `+49301234560${number}`, "--business-account", "acme"]
  const made = yield* Processes.command(["init", ...owner, ...channel, "--cell", cell], environment)
  const organization = { ...Schema.decodeUnknownSync(Made)(made), cell }
  const { channel_id, organization_id } = organization
  const account = ["--account", channel_id, "--app", Network.app.id, "--token-file", "-"]
  const setToken = ["channels", "set-token", "--organization", organization_id, "--channel", channel_id, ...account]
  const stored = yield* Processes.run(setToken, environment, Network.token)
  assert.strictEqual(stored.code, 0, stored.stderr)
  return organization
})

/** Three cells with an organization in each, and a network that calls back to all servers. */
const installation = Effect.fnUntraced(function*(servers: ReadonlyArray<Servers.Server>) {
  const cells = yield* Cells.make
  const network_port = yield* freePort
  const network_url = `http://127.0.0.1:${network_port}`
  yield* Network.start(network_port, servers)
  yield* Processes.untilUp(`${network_url}${Network.accepted_path}`)
  const environment = {
    ...Network.settings(network_url, []),
    CELLS: cells.setting,
    SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
    HOST: "127.0.0.1",
    RATE_LIMIT_PER_MINUTE: "100000"
  }
  yield* Processes.command(["migrate"], environment)
  const organizations = yield* Effect.forEach(Cells.names, (name, index) => create(environment, name, index), {
    concurrency: "unbounded"
  })
  return { ...cells, environment, organizations }
})

const post = (server: Servers.Server, { api_key, cell }: Organization, name: string) =>
  Api.request(server, "POST", "/contacts", {
    key: api_key,
    json: { first_name: `${cell} ${name}` },
    idempotency_key: `contact-${name}`
  })

const list = (server: Servers.Server, { api_key }: Organization) =>
  Api.request(server, "GET", "/contacts", { key: api_key })

/** Starts a conversation, and waits until the network's callbacks have reported its message as read. */
const converse = Effect.fnUntraced(function*(server: Servers.Server, { api_key, cell, channel_id }: Organization) {
  const json = Api.newConversation(channel_id, "+4915112345678", cell)
  const started = yield* Api.request(server, "POST", "/conversations", {
    key: api_key,
    json,
    idempotency_key: `start-${cell}`
  })
  assert.strictEqual(started.status, 202, started.text)
  const { id } = resourceOf(started.text)
  yield* eventually(
    Api.request(server, "GET", `/sends/${id}`, { key: api_key }),
    ({ text }) => resourceOf(text).status === "sent"
  )
  const conversations = yield* Api.request(server, "GET", "/conversations", { key: api_key })
  const [conversation] = idsOf(conversations.text)
  yield* eventually(
    Api.request(server, "GET", `/conversations/${conversation}/messages`, { key: api_key }),
    ({ text }) => /"status":"read"/.test(text)
  )
})

const stranger = `svc_live_${"a".repeat(43)}`

const readiness = (server: Servers.Server) =>
  Effect.promise(async () => {
    const response = await fetch(`${server.url}/health/ready`)
    return { status: response.status, body: await response.json() as { readonly cells: Record<string, unknown> } }
  })

it.live("a process serves the organizations of every cell, and processes their queues and callbacks", () =>
  Effect.gen(function*() {
    const server = yield* Servers.reserve
    const { environment, organizations } = yield* installation([server])
    yield* Servers.serve(environment, server)
    const ids = yield* Effect.forEach(
      organizations,
      (organization) => Effect.map(post(server, organization, "first"), ({ text }) => resourceOf(text).id)
    )
    for (const [index, organization] of organizations.entries()) {
      assert.deepStrictEqual(idsOf((yield* list(server, organization)).text), [ids[index]])
      // A retry gets the recorded response of its own cell.
      assert.strictEqual(resourceOf((yield* post(server, organization, "first")).text).id, ids[index])
    }
    yield* Effect.forEach(organizations, (organization) => converse(server, organization), { concurrency: 3 })
    assert.strictEqual((yield* Api.request(server, "GET", "/contacts", { key: stranger })).status, 401)
    const ready = yield* readiness(server)
    assert.deepStrictEqual(ready, {
      status: 200,
      body: { status: "ok", cells: Object.fromEntries(Cells.names.map((name) => [name, { status: "ok" }])) }
    } as never)
    const listed = yield* Processes.command(["organizations", "list"], environment)
    assert.deepStrictEqual(
      (listed as ReadonlyArray<Record<string, unknown>>).map(({ cell, id }) => [cell, id]),
      organizations.map(({ cell, organization_id }) => [cell, organization_id])
    )
    const report = yield* Processes.command(["cells", "list"], environment)
    assert.deepStrictEqual(
      (report as ReadonlyArray<Record<string, unknown>>).map((
        { cell, organizations, schema, status }
      ) => [cell, schema, status, organizations]),
      [["eu-1", "one", "ok", 1], ["eu-2", "two", "ok", 1], ["us-1", "three", "ok", 1]]
    )
    const metrics = yield* Effect.promise(async () => (await fetch(`${server.url}/metrics`)).text())
    for (const name of Cells.names) {
      assert.match(metrics, new RegExp(`^messaging_crm_storage_up\\{cell="${name}"\\} 1$`, "m"))
      assert.match(metrics, new RegExp(`^db_client_connection_max\\{cell="${name}",`, "m"))
      // An increase from an absent series would not be visible.
      assert.match(
        metrics,
        new RegExp(`^messaging_crm_webhooks_disabled_total\\{cell="${name}",reason="gone"\\} 0$`, "m")
      )
    }
  }).pipe(Effect.scoped))

it.live("commands create an organization in the given cell, and find the cell of one", () =>
  Effect.gen(function*() {
    const { environment, organizations, stop } = yield* installation([yield* Servers.reserve])
    const owner = ["--name", "x", "--owner-name", "Ada", "--owner-email", "ada@acme.example"]
    const create = (...cell: ReadonlyArray<string>) =>
      Effect.map(Processes.run(["organizations", "create", ...owner, ...cell], environment), ({ stderr }) =>
        stderr.trim())
    assert.strictEqual(yield* create(), "CELLS has several cells. Choose one with --cell: eu-1, eu-2, us-1.")
    assert.strictEqual(yield* create("--cell", "x"), "CELLS has no cell x. Choose another --cell: eu-1, eu-2, us-1.")
    for (const { organization_id } of organizations) {
      const keys = yield* Processes.command(["keys", "list", "--organization", organization_id], environment)
      assert.lengthOf(keys as ReadonlyArray<unknown>, 1)
    }
    const connect = (index: number) =>
      Processes.run(
        [
          "channels",
          "connect",
          "--organization",
          organizations[index]?.organization_id ?? "",
          "--type",
          "page_messaging",
          "--name",
          "Page",
          "--address",
          `page-${index}`,
          "--account",
          "5678",
          "--app",
          Network.app.id,
          "--token-file",
          "-"
        ],
        environment,
        Network.token
      )
    const connected = yield* connect(0)
    assert.strictEqual(connected.code, 0, connected.stderr)
    assert.match((yield* connect(2)).stderr, /^Another channel is already connected to this account\./m)
    const absent = ["keys", "list", "--organization", "01990000-0000-7000-8000-000000000000"]
    assert.match((yield* Processes.run(absent, environment)).stderr, /^No organization has this ID\./)
    const states = (text: string) =>
      (JSON.parse(text) as ReadonlyArray<Record<string, string>>).filter(({ name }) =>
        name?.startsWith("Database")
      )
        .map(({ name, state }) => `${name}: ${state}`)
    const doctor = yield* Processes.run(["doctor", "--json"], environment)
    assert.deepStrictEqual(states(doctor.stdout), Cells.names.map((name) => `Database of ${name}: ok`))
    yield* stop
    const failed = yield* Processes.run(["doctor", "--json"], environment)
    assert.deepStrictEqual(states(failed.stdout), [
      "Database of eu-1: ok",
      "Database of eu-2: ok",
      "Database of us-1: failed"
    ])
    const [first] = organizations
    yield* Processes.command(["keys", "list", "--organization", first?.organization_id ?? ""], environment)
    const unsure = yield* Processes.run(absent, environment)
    assert.strictEqual(unsure.code, 1)
    assert.match(unsure.stderr, /^The database of the cell us-1 cannot be used: .*ECONNREFUSED/)
  }).pipe(Effect.scoped), 120_000)

it.live("a cell that is down affects only its organizations", () =>
  Effect.gen(function*() {
    const [server, late] = [yield* Servers.reserve, yield* Servers.reserve]
    const { environment, organizations, start, stop } = yield* installation([server])
    yield* Servers.serve(environment, server)
    const [first, second, third] = organizations
    if (first === undefined || second === undefined || third === undefined) return assert.fail("A cell is missing.")
    yield* Effect.forEach(organizations, (organization) => post(server, organization, "before"))
    yield* stop
    assert.strictEqual((yield* post(server, third, "while down")).status, 500)
    for (const organization of [first, second]) {
      assert.strictEqual((yield* post(server, organization, "while down")).status, 201)
      yield* converse(server, organization)
    }
    // It may be a key of the cell that is down.
    assert.strictEqual((yield* Api.request(server, "GET", "/contacts", { key: stranger })).status, 500)
    const degraded = yield* eventually(readiness(server), ({ body }) =>
      JSON.stringify(body.cells["us-1"]) === JSON.stringify({ status: "unavailable" }))
    assert.strictEqual(degraded.status, 200)
    const listed = yield* Processes.run(["cells", "list", "--json"], environment)
    assert.strictEqual(listed.code, 1)
    assert.match(listed.stdout, /"cell":"us-1","server":"127\.0\.0\.1:\d+\/postgres","status":"unavailable: /)
    assert.match(listed.stderr, /1 of 3 cells cannot be used/)
    // A process also starts without the cell, and gets it later.
    yield* Servers.serveApi(environment, late)
    assert.strictEqual((yield* post(late, first, "late")).status, 201)
    assert.strictEqual((yield* post(late, third, "late")).status, 503)
    yield* start
    for (const each of [server, late]) {
      yield* eventually(post(each, third, "after"), ({ status }) =>
        status === 201)
    }
    yield* eventually(post(server, third, "while down"), ({ status }) => status === 201)
    yield* converse(late, third)
  }).pipe(Effect.scoped), 120_000)

it.live("a worker processes the cells of CELLS_WORKED only", () =>
  Effect.gen(function*() {
    const server = yield* Servers.reserve
    const { environment, organizations } = yield* installation([server])
    yield* Servers.serveApi(environment, server)
    const [first, second, third] = organizations
    if (first === undefined || second === undefined || third === undefined) return assert.fail("A cell is missing.")
    const worker = yield* Processes.startMain(["worker", "--json"], { ...environment, CELLS_WORKED: "eu-2,us-1" })
    yield* Processes.untilOutput(worker)
    yield* Effect.forEach([second, third], (organization) => converse(server, organization), { concurrency: 2 })
    const json = Api.newConversation(first.channel_id, "+4915112345678", "x")
    const started = yield* Api.request(server, "POST", "/conversations", {
      key: first.api_key,
      json,
      idempotency_key: "start-first"
    })
    const { id } = resourceOf(started.text)
    const read = Api.request(server, "GET", `/sends/${id}`, { key: first.api_key })
    assert.strictEqual(resourceOf((yield* read).text).status, "queued")
    const other = yield* Processes.startMain(["worker", "--json"], { ...environment, CELLS_WORKED: "eu-1" })
    yield* Processes.untilOutput(other)
    yield* eventually(read, ({ text }) => resourceOf(text).status === "sent")
  }).pipe(Effect.scoped))

it.live("an only cell is served as a database is", () =>
  Effect.gen(function*() {
    const server = yield* Servers.reserve
    const { environment, organizations } = yield* installation([server])
    const [first] = organizations
    if (first === undefined) return assert.fail("A cell is missing.")
    const [only = ""] = environment.CELLS.split("\n")
    yield* Servers.serve({ ...environment, CELLS: only }, server)
    yield* converse(server, first)
    const { body, status } = yield* readiness(server)
    assert.deepStrictEqual([status, body], [200, { status: "ok" } as never])
    const metrics = yield* Effect.promise(async () => (await fetch(`${server.url}/metrics`)).text())
    assert.match(metrics, /^messaging_crm_storage_up 1$/m)
    assert.notInclude(metrics, "cell=")
    const wrong = yield* Processes.run(["serve", "--port", "0"], {
      ...environment,
      CELLS: "eu-1=postgres://127.0.0.1:1/x"
    })
    assert.match(wrong.stderr, /The database of the cell eu-1 cannot be used/)
  }).pipe(Effect.scoped), 120_000)

const LogLine = Schema.fromJsonString(
  Schema.Struct({ message: Schema.Unknown, annotations: Schema.Record(Schema.String, Schema.Unknown) })
)

it.live("migrate migrates the other cells while one is down, and lists the failures", () =>
  Effect.gen(function*() {
    const cells = yield* Cells.make
    yield* cells.stop
    const [first, second, down] = cells.setting.split("\n")
    const environment = { CELLS: `${down} ${first} also-${down} ${second}` }
    const { code, stderr, stdout } = yield* Processes.run(["migrate"], environment)
    assert.strictEqual(code, 1)
    for (const name of ["eu-1", "eu-2"]) assert.match(stdout, new RegExp(`^${name}: tables/0001`, "m"))
    assert.deepStrictEqual(
      stderr.trim().split("\n").map((line) => line.replace(/: .*/, "")),
      ["us-1", "also-us-1"].map((name) => `The database of the cell ${name} cannot be used`)
    )
    const again = yield* Processes.run(["migrate", "--json"], environment)
    assert.deepStrictEqual([again.code, again.stdout], [1, "{\"applied\":[]}\n"])
  }).pipe(Effect.scoped), 120_000)

it.live("each line that a worker logs while a cell is down names the cell", () =>
  Effect.gen(function*() {
    const cells = yield* Cells.make
    const environment = { SECRET_KEY: Buffer.alloc(32, 7).toString("base64"), PROVIDER: "mock", LOG_LEVEL: "warn" }
    yield* Processes.command(["migrate"], { ...environment, CELLS: cells.setting })
    const [only = ""] = cells.setting.split("\n").slice(-1)
    const outputs: Array<string> = []
    for (const setting of [cells.setting, only]) {
      const worker = yield* Processes.startMain(["worker", "--json"], { ...environment, CELLS: setting })
      const at = outputs.push("") - 1
      worker.child.stderr?.on("data", (chunk: Uint8Array) => void (outputs[at] += Buffer.from(chunk).toString()))
      yield* Processes.untilOutput(worker)
    }
    yield* cells.stop
    const found = yield* eventually(Effect.sync(() => [...outputs]), (texts) =>
      texts.every((text) =>
        text.includes("The worker failed") && text.includes("The sweep failed") && text.endsWith("\n")
      ))
    for (const text of found) {
      for (const line of text.trim().split("\n")) {
        const { annotations } = Schema.decodeUnknownSync(LogLine)(line)
        assert.strictEqual(annotations["cell"], "us-1", line)
      }
    }
  }).pipe(Effect.scoped), 120_000)
