/** `messaging-crm mcp`, called by an agent through the official SDK of the protocol. */
import { assert, describe, it } from "@effect/vitest"
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { Effect } from "effect"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll } from "vitest"
import * as Organizations from "../../testing/processes/Organizations.ts"
import * as Processes from "../../testing/processes/Processes.ts"
import * as Servers from "../../testing/processes/Servers.ts"
import { answerCustomers, startService } from "../mcp/AgentScene.ts"
import { connect } from "./McpScene.ts"

const running = await startService()
const { base_url, key, keyWith, stop } = running
const agent = await connect(["--write"], { API_KEY: key, BASE_URL: base_url })
const reader = await connect([], { API_KEY: key, BASE_URL: base_url })
afterAll(async () => {
  await Promise.all([agent.stop(), reader.stop()])
  await stop()
})

/** Starts a server between the agent and the service, and returns its base URL. */
const listen = async (server: Server) => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}/v1`
}

describe("an agent", () => {
  it("finds a contact, reads the conversation, answers within the window, and only with a template outside of it", async () => {
    await answerCustomers(agent, running)
  })

  it("changes a contact only as it was read", async () => {
    const { data: { id: contact_id }, etag } = await agent.read("create_contact", { body: { first_name: "Lee" } })
    assert.strictEqual((await agent.read("get_contact", { contact_id })).etag, etag)
    await agent.read("update_contact", { contact_id, if_match: etag, body: { city: "Ulm" } })
    const late = await agent.call("update_contact", { contact_id, if_match: etag, body: { city: "Bonn" } })
    assert.isTrue(late.isError)
    assert.match(late.text, /has changed since you read it/)
  })

  it("gets short lists, a cursor, and short texts", async () => {
    for (let index = 0; index < 12; index++) {
      await agent.read("create_contact", { body: { last_name: `Many ${index}` } })
    }
    const long = "é".repeat(6000)
    const { data: { id: contact_id } } = await agent.read("create_contact", {
      body: { last_name: "Many", notes: long }
    })
    const first = await agent.read("list_contacts", { query: "Many" })
    assert.strictEqual(first.data.length, 10)
    assert.match(first.data[0].notes, /^é{5000}… \(1000 more characters; get the item to read them\)$/)
    assert.strictEqual((await agent.read("get_contact", { contact_id })).data.notes, long)
    const second = await agent.read("list_contacts", { query: "Many", cursor: first.next_cursor })
    assert.deepStrictEqual([second.data.length, second.next_cursor], [3, null])
    assert.strictEqual((await agent.read("list_contacts", { page_size: 1 })).data.length, 1)
  })

  it("reads a contact and a conversation as resources", async () => {
    const { resourceTemplates } = await agent.client.listResourceTemplates()
    assert.sameMembers(resourceTemplates.map(({ uriTemplate }) => uriTemplate), [
      "messaging-crm://contacts/{contact_id}",
      "messaging-crm://conversations/{conversation_id}/messages"
    ])
    const { data: [contact] } = await agent.read("list_contacts", { phone: "+4915112345678" })
    const { contents: [resource] } = await agent.client.readResource({ uri: `messaging-crm://contacts/${contact.id}` })
    assert.deepInclude(resource, { mimeType: "application/json" })
    assert.strictEqual(
      JSON.parse(String(resource !== undefined && "text" in resource && resource.text)).data.id,
      contact.id
    )
  })
})

describe("a tool", () => {
  it("that writes is offered only with --write", async () => {
    const { tools } = await reader.client.listTools()
    assert.isAbove(tools.length, 10)
    assert.isTrue(tools.every(({ annotations }) => annotations?.readOnlyHint === true))
    const names = (await agent.client.listTools()).tools.map(({ name }) => name)
    assert.includeMembers(names, [...tools.map(({ name }) => name), "send_message", "update_contact", "add_note"])
    assert.isFalse(names.some((name) => name.includes("webhook") || name.includes("event")))
    const refused = await reader.client.callTool({ name: "create_contact", arguments: {} }).catch((error: unknown) =>
      error
    )
    assert.instanceOf(refused, Error)
  })

  it("that fails returns a sentence with which the agent can continue", async () => {
    const weak = await connect(["--write"], { API_KEY: await keyWith(["contacts:read"]), BASE_URL: base_url })
    const invalid = await connect([], { API_KEY: `svc_live_${"A".repeat(43)}`, BASE_URL: base_url })
    const absent = await connect([], { API_KEY: key, BASE_URL: "http://127.0.0.1:1/v1" })
    const unknown = "01990000-0000-7000-8000-000000000000"
    const cases = [
      [agent, "get_contact", { contact_id: unknown }, /Find the ID with list_contacts\.$/],
      [agent, "get_contact", { contact_id: ".." }, /^contact_id must be a UUID\.$/],
      [
        agent,
        "update_contact",
        { contact_id: unknown, if_match: "\n", body: {} },
        /^if_match must be printable ASCII\.$/
      ],
      [agent, "get_contact", {}, /^contact_id is required\.$/],
      [agent, "list_tags", { query: "x" }, /^list_tags has no argument "query"\. It has: none\.$/],
      [agent, "list_contacts", { query: {} }, /^query must be a text, a number, or a boolean\.$/],
      [agent, "create_contact", { body: [] }, /^body must be an object/],
      [agent, "create_contact", {}, /^body is required/],
      [agent, "create_contact", { body: { first_name: 1 } }, /^first_name must be/],
      [
        agent,
        "create_contact",
        { body: { first_name: "Kim", tag_ids: [unknown] } },
        /List valid values with list_tags\.$/
      ],
      [weak, "list_conversations", {}, /lacks the scope conversations:read.* Ask the user for such a key/],
      [weak, "create_contact", { body: { first_name: "Kim" } }, /lacks the scope contacts:write/],
      [invalid, "list_tags", {}, /Ask the user for a valid key/],
      [absent, "list_tags", {}, /did not respond/]
    ] as const
    for (const [from, tool, args, sentence] of cases) {
      const { isError, text } = await from.call(tool, args)
      assert.isTrue(isError, text)
      assert.match(text, sentence)
      assert.notInclude(text, "svc_live_")
    }
    const limited = createServer((_, response) => {
      const error = { code: "rate_limited", message: "Too many requests.", param: null, request_id: "r" }
      response.writeHead(429, { "content-type": "application/json", "retry-after": "60" }).end(
        JSON.stringify({ error })
      )
    })
    const waiting = await connect([], { API_KEY: key, BASE_URL: await listen(limited) })
    const { text } = await waiting.call("list_tags")
    assert.strictEqual(text, "Too many requests. Wait 60 s before the next call.")
    limited.close()
    await Promise.all([weak, invalid, absent, waiting].map((each) => each.stop()))
  })

  it("that writes repeats a lost attempt with the same key, and takes effect once", async () => {
    const keys: Array<string | undefined> = []
    const bodyOf = async (request: IncomingMessage) => {
      let text = ""
      for await (const chunk of request.setEncoding("utf8")) text += chunk
      return text
    }
    // Forwards each request, and loses the first response to a write.
    const proxy = createServer(async ({ headers, method = "", url = "" }, response) => {
      const sent = Object.fromEntries(["authorization", "content-type", "idempotency-key"].flatMap((name) => {
        const value = headers[name]
        return typeof value === "string" ? [[name, value]] : []
      }))
      const body = method === "GET" ? undefined : await bodyOf(response.req)
      const received = await fetch(new URL(url, base_url), {
        method,
        headers: sent,
        ...(body === undefined ? {} : { body })
      })
      const text = await received.text()
      if (method !== "GET") keys.push(sent["idempotency-key"])
      if (method !== "GET" && keys.length === 1) return void response.destroy()
      response.writeHead(received.status, { "content-type": "application/json" }).end(text)
    })
    const distant = await connect(["--write"], { API_KEY: key, BASE_URL: await listen(proxy) })
    const { data: { id: contact_id } } = await agent.read("create_contact", { body: { first_name: "Once" } })
    const noted = await distant.read("add_note", { contact_id, body: { text: "Called" } })
    assert.strictEqual(noted.data.notes, "Called")
    assert.lengthOf(keys, 2)
    assert.strictEqual(keys[0], keys[1])
    await distant.read("add_note", { contact_id, body: { text: "Called" } })
    assert.strictEqual(new Set(keys).size, 2)
    await distant.stop()
    proxy.close()
  })
})

it.live("`serve` has the paths of agents only with --mcp, and over one database", () =>
  Effect.gen(function*() {
    const service = {
      DATABASE_URL: yield* Databases.migrated,
      SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
      PROVIDER: "mock",
      HOST: "127.0.0.1"
    }
    const { key } = yield* Organizations.create(service)
    const statusWith = Effect.fnUntraced(function*(flags: ReadonlyArray<string>) {
      const server = yield* Servers.reserve
      yield* Processes.startMain(["serve", "--port", String(server.port), ...flags], service)
      yield* Processes.untilUp(`${server.url}/health/ready`)
      const request = {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })
      }
      return yield* Effect.promise(() => fetch(`${server.url}/mcp`, request).then(({ status }) => status))
    }, Effect.scoped)
    assert.strictEqual(yield* statusWith([]), 404)
    assert.strictEqual(yield* statusWith(["--mcp"]), 200)
    const CELLS = `a=${service.DATABASE_URL} b=${yield* Databases.migrated}`
    const cells = { SECRET_KEY: service.SECRET_KEY, PROVIDER: "mock", CELLS }
    const { code, stderr } = yield* Processes.run(["serve", "--mcp", "--port", "0"], cells)
    assert.strictEqual(code, 1, stderr)
    assert.include(stderr, "Set DATABASE_URL to the database of a cell instead of CELLS.")
  }).pipe(Effect.scoped))
