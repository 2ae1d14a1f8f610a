/** `serve --mcp`: tools over HTTP, called by an agent through the official SDK of the protocol, and what a stranger can send. */
import { assert, describe, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { Audit } from "@messaging-crm/core/Audit"
import { limits } from "@messaging-crm/core/Limits"
import { picture } from "@messaging-crm/provider-mock"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect, Layer } from "effect"
import { afterAll } from "vitest"
import * as Http from "../../src/mcp/Http.ts"
import { answerCustomers, connect, startService } from "./AgentScene.ts"

const running = await startService()
const { actor, channel, key, keyWith, origin, service } = running

const headersOf = (api_key: string) => ({ authorization: `Bearer ${api_key}` })

/** Connects an agent with a key. */
const connectWith = (api_key: string, path: string = Http.paths.write) =>
  connect(
    // Its type declares an optional property without `undefined`.
    new StreamableHTTPClientTransport(new URL(path, origin), { requestInit: { headers: headersOf(api_key) } }) as never
  )

const agent = await connectWith(key)
const reader = await connectWith(key, Http.paths.read)
afterAll(async () => {
  await Promise.all([agent.stop(), reader.stop()])
  await running.stop()
})

interface Sent {
  readonly api_key?: string
  readonly at?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly method?: string
  readonly path?: string
}

/** Sends a body to a path as any program can. */
const send = async (
  body: unknown,
  { api_key = key, at = origin, headers = {}, method = "POST", path = Http.paths.read }: Sent = {}
) => {
  const response = await fetch(new URL(path, at), {
    method,
    headers: { ...headersOf(api_key), "content-type": "application/json", ...headers },
    ...(method === "GET" ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, json: text === "" ? null : JSON.parse(text) }
}

const request = (method: string, params?: unknown) => ({
  jsonrpc: "2.0",
  id: 7,
  method,
  ...(params === undefined ? {} : { params })
})

const ping = request("ping")

describe("an agent over HTTP", () => {
  it("finds a contact, reads the conversation, answers within the window, and only with a template outside of it", () =>
    answerCustomers(agent, running))

  it("gets the tools that write at their own path only", async () => {
    const { tools } = await reader.client.listTools()
    assert.isAbove(tools.length, 10)
    assert.isTrue(tools.every(({ annotations }) => annotations?.readOnlyHint === true))
    const all = (await agent.client.listTools()).tools.map(({ name }) => name)
    assert.includeMembers(all, [...tools.map(({ name }) => name), "send_message", "update_contact"])
    const rejected = await reader.call("create_contact", { body: { first_name: "Kim" } }).catch((error: unknown) =>
      error
    )
    assert.include(String(rejected), "Ask the user to connect to /mcp/write instead of /mcp.")
  })

  it("reads a contact as a resource", async () => {
    const { data: [contact] } = await agent.read("list_contacts", { phone: "+4915112345678" })
    const { contents: [resource] } = await reader.client.readResource({
      uri: `messaging-crm://contacts/${contact.id}`
    })
    assert.strictEqual(
      JSON.parse(String(resource !== undefined && "text" in resource && resource.text)).data.id,
      contact.id
    )
    const absent = await reader.client.readResource({ uri: "messaging-crm://tags/1" }).catch((error: unknown) => error)
    assert.include(String(absent), "There is no resource with this URI.")
  })

  it("has the scopes of its own key, and leaves an audit record that names the key and the request", async () => {
    const weak = await connectWith(await keyWith(["contacts:read"]))
    assert.isArray((await weak.read("list_contacts")).data)
    const { isError, text } = await weak.call("create_contact", { body: { first_name: "Kim" } })
    assert.isTrue(isError)
    assert.match(text, /lacks the scope contacts:write.* Ask the user for such a key/)
    await weak.stop()

    const { headers, json } = await send(
      request("tools/call", { name: "create_contact", arguments: { body: { first_name: "Audited" } } }),
      { path: Http.paths.write, headers: { "x-request-id": "an-agents-request" } }
    )
    const { data: { id } } = JSON.parse(json.result.content[0].text)
    assert.strictEqual(headers.get("x-request-id"), "an-agents-request")
    const [record] = await service.runtime.runPromise(
      Audit.use(({ list }) => list({ resource_id: id, key_id: null, member_id: null, before: null }, 1)).pipe(
        Effect.provideService(CurrentActor, actor)
      )
    )
    assert.deepInclude(record, { operation: "contacts.create", request_id: "an-agents-request" })
    assert.isNotNull(record?.key_id)
  })

  it("gets links to files at the host that it called", async () => {
    const from = { external_id: "+4915112345670", display_name: "Lee", username: null }
    const media = { kind: "image", mime_type: "image/png", filename: null, transcript: null, bytes: picture } as const
    await service.receive(channel.id, { from, type: "image", text: null, media })
    const { data: [contact] } = await reader.read("list_contacts", { phone: "+4915112345670" })
    const { data: [conversation] } = await reader.read("list_conversations", { contact_id: contact.id })
    const { data: [message] } = await reader.read("list_messages", { conversation_id: conversation.id })
    const file = await fetch(message.media.url)
    assert.deepStrictEqual(new Uint8Array(await file.arrayBuffer()), picture)
  })

  it("gets short lists with a cursor", async () => {
    for (let index = 0; index < 11; index++) {
      await agent.read("create_contact", { body: { last_name: `Many ${index}` } })
    }
    const first = await reader.read("list_contacts", { query: "Many" })
    assert.strictEqual(first.data.length, 10)
    const second = await reader.read("list_contacts", { query: "Many", cursor: first.next_cursor })
    assert.deepStrictEqual([second.data.length, second.next_cursor], [1, null])
  })
})

describe("a message over HTTP", () => {
  it("needs a valid key, whatever it is", async () => {
    for (const message of [request("initialize"), request("tools/list"), ping, "{", {}]) {
      const { headers, json, status } = await send(message, { api_key: `svc_live_${"A".repeat(43)}` })
      assert.deepStrictEqual([status, json.error.code], [401, "unauthorized"])
      assert.strictEqual(headers.get("www-authenticate"), "Bearer")
    }
  })

  it("counts toward the rate limit of its key, once", async () => {
    const limited = await startService(Layer.succeed(RequestsPerMinute, 3))
    const api_key = await limited.keyWith(["contacts:read"])
    const statuses: Array<number> = []
    for (const left of [2, 1, 0, 0]) {
      const call = request("tools/call", { name: "list_contacts" })
      const { headers, status } = await send(call, { api_key, at: limited.origin })
      statuses.push(status)
      assert.strictEqual(headers.get("x-ratelimit-remaining"), String(left))
    }
    assert.deepStrictEqual(statuses, [200, 200, 200, 429])
    await limited.stop()
  })

  it("is rejected if a web page sends it, or if its version is not supported", async () => {
    for (const from of ["https://evil.example", origin, "null"]) {
      const { json, status } = await send(ping, { headers: { origin: from } })
      assert.deepStrictEqual([status, json.id], [403, null])
      assert.include(json.error.message, "without an Origin header")
    }
    const { json, status } = await send(ping, { headers: { "mcp-protocol-version": "2020-01-01" } })
    assert.strictEqual(status, 400)
    assert.include(json.error.message, "2025-11-25")
    assert.strictEqual((await send(ping, { headers: { "mcp-protocol-version": "2025-06-18" } })).status, 200)
  })

  it("has a body within the limits of the API", async () => {
    const padded = (bytes: number) => `${JSON.stringify(ping)}${" ".repeat(bytes)}`
    const large = await send(padded(limits.body_bytes_max))
    assert.deepStrictEqual([large.status, large.json.error.code], [413, "body_too_large"])
    const invalid = await send("{")
    assert.deepStrictEqual([invalid.status, invalid.json.error.code], [400, "invalid_json"])
    const text = await send(ping, { headers: { "content-type": "text/plain" } })
    assert.deepStrictEqual([text.status, text.json.error.code], [415, "unsupported_media_type"])
    const deep = await send(`${"[".repeat(200)}${"]".repeat(200)}`)
    assert.deepStrictEqual([deep.status, deep.json.error.code], [400, -32600])
    const repeated = await send("{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")
    assert.deepStrictEqual([repeated.status, repeated.json.error.code], [400, -32600])
  })

  it("gets one response as JSON, and a notification gets none", async () => {
    const { headers, json } = await send(ping)
    assert.deepStrictEqual(json, { jsonrpc: "2.0", id: 7, result: {} })
    assert.match(headers.get("content-type") ?? "", /^application\/json/)
    assert.isNull(headers.get("mcp-session-id"))
    for (
      const message of [{ jsonrpc: "2.0", method: "notifications/initialized" }, { jsonrpc: "2.0", id: 1, result: {} }]
    ) {
      const accepted = await send(message)
      assert.deepStrictEqual([accepted.status, accepted.json], [202, null])
    }
    for (const method of ["GET", "DELETE"]) {
      const { headers, status } = await send("", { method })
      assert.deepStrictEqual([status, headers.get("allow")], [405, "POST"])
    }
  })

  it("that is no request of the protocol gets an error", async () => {
    const cases = [
      [[ping], -32600],
      [{}, -32600],
      [{ ...ping, id: {} }, -32600],
      [request("sampling/createMessage"), -32601],
      [request("tools/call"), -32602],
      [request("tools/call", { name: "drop_tables" }), -32602],
      [request("tools/call", { name: "list_tags", arguments: [] }), -32602],
      [request("resources/read", {}), -32602],
      [request("resources/read", { uri: "messaging-crm://contacts/.." }), -32002]
    ] as const
    for (const [message, code] of cases) {
      const { json, status } = await send(message)
      assert.deepStrictEqual([status, json.error.code], [200, code], JSON.stringify(message))
    }
  })
})
