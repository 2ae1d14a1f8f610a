/** Tests of retries of every write: each returns the response of the first, whatever happened since. */
import { assert, describe, it } from "@effect/vitest"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { ContactStore, newContact } from "@messaging-crm/core/Contacts"
import { ContactId } from "@messaging-crm/core/Ids"
import { Phone } from "@messaging-crm/core/Phones"
import { DateTime, Effect, Layer } from "effect"
import { afterAll } from "vitest"
import { operations } from "../testing/Operations.ts"
import { idempotency, orderReady, start, type TestResponse } from "../testing/Service.ts"

const service = start({ tuning: Layer.succeed(RequestsPerMinute, 100_000) })
afterAll(() => service.stop())

const absent = "01990000-0000-7000-8000-000000000000"
const phone = Phone.make("+4915112345678")

const text = (value: string) => ({ type: "text", text: value })

/** An organization in which every write can be carried out. */
const begin = async () => {
  const ours = await service.organization()
  const { channel, key } = ours
  const ask = (method: string, path: string, json?: unknown, header?: string) =>
    service.request(method, `/v1${path}`, {
      key,
      ...(json === undefined ? {} : { json }),
      ...(header === undefined ? {} : idempotency(header))
    })
  const get = async (path: string) => (await ask("GET", path)).body.data
  const write = (method: string, path: string, json?: unknown) =>
    ask(method, path, json, globalThis.crypto.randomUUID())

  const template = orderReady(channel)
  const receive = (said: string) =>
    service.receive(channel.id, { text: said, from: { external_id: phone, display_name: "Kim", username: null } })
  const start = (to: string = phone) => write("POST", "/conversations", { channel_id: channel.id, phone: to, template })
  return { ...ours, ask, get, receive, start, template, write }
}

/** The writes of the contract, each with a request that succeeds. */
const everyWrite = async () => {
  const ours = await begin()
  const { body: { data: contact } } = await ours.write("POST", "/contacts", { first_name: "Kim" })
  await ours.receive("Hello?")
  const [conversation] = await ours.get("/conversations")
  const subscription = { url: "https://shop.example/crm", event_types: ["conversation.closed"] }
  const { body: { data: webhook } } = await ours.write("POST", "/webhooks", subscription)
  await ours.write("POST", `/conversations/${conversation.id}/close`)
  await service.until(async () => (await ours.get(`/webhooks/${webhook.id}/deliveries`))[0]?.status === "succeeded")
  const [delivery] = await ours.get(`/webhooks/${webhook.id}/deliveries`)
  const { channel, owner, template } = ours
  const writes = [
    ["POST", "/contacts", { first_name: "Lee" }],
    ["PATCH", `/contacts/${contact.id}`, { first_name: "Kay", owner_user_id: owner.id }],
    ["POST", `/contacts/${contact.id}/notes`, { text: "Likes blue." }],
    ["POST", "/tags", { name: "VIP", color: "red" }],
    ["POST", "/conversations", { channel_id: channel.id, phone: "+4915112345679", template }],
    ["POST", `/conversations/${conversation.id}/reopen`, undefined],
    ["PATCH", `/conversations/${conversation.id}/assignment`, { assigned_user_id: owner.id }],
    ["POST", `/conversations/${conversation.id}/messages`, text("Hello!")],
    ["POST", `/conversations/${conversation.id}/close`, { category: "resolved" }],
    ["POST", `/webhooks/${webhook.id}/deliveries/${delivery.id}/retry`, undefined],
    ["POST", "/webhooks", subscription],
    ["POST", `/webhooks/${webhook.id}/test`, undefined],
    ["POST", `/webhooks/${webhook.id}/replay`, { since: new Date().toISOString() }],
    ["POST", `/webhooks/${webhook.id}/rotate_secret`, undefined],
    ["PATCH", `/webhooks/${webhook.id}`, { event_types: ["message.sent"] }],
    ["DELETE", `/webhooks/${webhook.id}`, undefined]
  ] as const
  return { ...ours, contact, conversation, webhook, writes }
}

const isReplayed = ({ headers }: TestResponse): boolean => headers.has("idempotent-replayed")
const code = ({ body }: TestResponse) => body?.error?.code

describe("every write", () => {
  it("replays the same bytes after the resource has changed, and changes nothing again", async () => {
    const { ask, contact, conversation, get, webhook, write, writes } = await everyWrite()
    // An upsert has a record for each of its contacts.
    const single = operations.filter(({ path }) => path !== "/v1/contacts/upsert")
    assert.lengthOf(writes, single.filter(({ method }) => method !== "GET").length)
    const repeat = async () => {
      const responses: Array<TestResponse> = []
      for (const [index, [method, path, json]] of writes.entries()) {
        responses.push(await ask(method, path, json, `every-write-${index}`))
      }
      return responses
    }
    const first = await repeat()
    assert.deepStrictEqual(first.filter(isReplayed), [])
    for (const [index, { status, text }] of first.entries()) assert.isBelow(status, 300, `${writes[index]} ${text}`)

    await write("PATCH", `/contacts/${contact.id}`, { first_name: "Jo", last_name: "Doe" })
    await write("POST", `/contacts/${contact.id}/notes`, { text: "Likes red." })
    await write("POST", `/conversations/${conversation.id}/reopen`)
    await write("PATCH", `/conversations/${conversation.id}/assignment`, { assigned_user_id: null })
    await service.until(async () => (await get(`/conversations/${conversation.id}/messages`))[0]?.text === "Hello!")

    const resources = [
      "/contacts",
      "/conversations",
      `/conversations/${conversation.id}/messages`,
      "/tags",
      "/webhooks",
      `/webhooks/${webhook.id}/deliveries`
    ]
    const before = await Promise.all(resources.map(get))
    const again = await repeat()
    assert.deepStrictEqual(await Promise.all(resources.map(get)), before)
    for (const [index, response] of again.entries()) {
      const [method, path] = writes[index] ?? []
      const one = first[index]
      assert.strictEqual(response.text, one?.text, `${method} ${path}`)
      assert.strictEqual(response.status, one?.status, `${method} ${path}`)
      assert.strictEqual(response.headers.get("idempotent-replayed"), "true", `${method} ${path}`)
      assert.strictEqual(response.headers.get("content-type"), "application/json", `${method} ${path}`)
      assert.strictEqual(response.headers.get("original-request-id"), one?.headers.get("x-request-id"))
    }
  })

  it("returns the same bytes as a read of the resource", async () => {
    const { ask, conversation, get, write } = await everyWrite()
    const created = await write("POST", "/contacts", { first_name: "Žofie", notes: "a\u2028b" })
    assert.strictEqual(created.text, (await ask("GET", `/contacts/${created.body.data.id}`)).text)
    const reopened = await write("POST", `/conversations/${conversation.id}/reopen`)
    assert.strictEqual(reopened.text, (await ask("GET", `/conversations/${conversation.id}`)).text)
    const sent = await write("POST", `/conversations/${conversation.id}/messages`, text("Hello!"))
    assert.deepStrictEqual(sent.body.data, await get(`/sends/${sent.body.data.id}`))
  })
})

describe("a rejection", () => {
  it("that was 404 is replayed under its key, even if the resource exists by then", async () => {
    const { ask, organization } = await begin()
    const patch = (header: string) => ask("PATCH", `/contacts/${absent}`, { first_name: "Kim" }, header)
    const first = await patch("early-key")
    assert.strictEqual(first.status, 404)
    await service.runtime.runPromise(Effect.gen(function*() {
      const contact = newContact(ContactId.make(absent), { phone }, yield* DateTime.now)
      yield* ContactStore.use((contacts) => contacts.insertNew(organization.id, [contact], []))
    }))
    const again = await patch("early-key")
    assert.strictEqual(again.status, 404)
    assert.strictEqual(again.text, first.text)
    assert.isTrue(isReplayed(again))
    assert.strictEqual((await patch("later-key")).status, 200)
  })

  it("that was 409 is replayed under its key, even if the conflict is resolved by then", async () => {
    const { ask, receive, start } = await begin()
    const { conversation_id } = (await start()).body.data
    const send = (header: string) => ask("POST", `/conversations/${conversation_id}/messages`, text("Hi"), header)
    const first = await send("early-key")
    assert.strictEqual(code(first), "conflict")
    await receive("Hello?")
    const again = await send("early-key")
    assert.strictEqual(again.text, first.text)
    assert.isTrue(isReplayed(again))
    assert.strictEqual((await send("later-key")).status, 202)
  })

  it("of the schema comes after the check of the key", async () => {
    const { ask } = await begin()
    const create = (json: unknown, header: string) => ask("POST", "/contacts", json, header)
    assert.strictEqual(code(await create({ first_name: 1 }, "taken-key")), "invalid_input")
    assert.strictEqual((await create({ first_name: "Kim" }, "taken-key")).status, 201)
    for (const json of [{ first_name: 1 }, { foo: 1 }, [], {}]) {
      assert.strictEqual(code(await create(json, "taken-key")), "idempotency_conflict", JSON.stringify(json))
    }
    const elsewhere = [["PATCH", "/contacts/x"], ["PATCH", `/contacts/${absent}`], ["POST", "/contacts?x=1"]] as const
    for (const [method, path] of elsewhere) {
      assert.strictEqual(
        code(await ask(method, path, { first_name: "Kim" }, "taken-key")),
        "idempotency_conflict",
        path
      )
    }
  })
})

describe("one request in other words", () => {
  it("is the same request: ids in upper case, no body and an empty one, texts that are trimmed", async () => {
    const { ask, conversation, contact, owner, channel, template } = await everyWrite()
    const upper = (path: string, id: string) => path.replace(id, id.toUpperCase())
    const tag = (await ask("POST", "/tags", { name: "One", color: "red" })).body.data
    const paths = ["reopen", "close"].map((name) => `/conversations/${conversation.id}/${name}`)
    const spellings = [
      ...paths.map((path) => [["POST", path, undefined], ["POST", upper(path, conversation.id), {}]] as const),
      [
        ["PATCH", `/contacts/${contact.id}`, { owner_user_id: owner.id, tag_ids: [tag.id], first_name: "Kim" }],
        ["PATCH", `/contacts/${contact.id.toUpperCase()}`, {
          first_name: " Kim ",
          tag_ids: [tag.id.toUpperCase()],
          owner_user_id: owner.id.toUpperCase()
        }]
      ],
      [
        ["POST", "/conversations", { channel_id: channel.id, phone, template }],
        ["POST", "/conversations", { channel_id: channel.id.toUpperCase(), phone: "0049 151 12345678", template }]
      ]
    ] as const
    for (const [index, [[method, path, json], [, other_path, other_json]]] of spellings.entries()) {
      const header = `other-words-${index}`
      const response = await ask(method, path, json, header)
      assert.isBelow(response.status, 300, response.text)
      const again = await ask(method, other_path, other_json, header)
      assert.isTrue(isReplayed(again), `${other_path} ${again.text}`)
      assert.strictEqual(again.text, response.text)
    }
    // A text that spells an ID is a text.
    const text = (value: string) => ask("POST", `/contacts/${contact.id}/notes`, { text: value }, "a-text-key")
    assert.strictEqual((await text(absent)).status, 200)
    assert.strictEqual(code(await text(`${absent} `)), "idempotency_conflict")
    const unknown = { first_name: "Kim", foo: 1 }
    assert.strictEqual((await ask("POST", "/contacts", { first_name: "Kim" }, "known-key")).status, 201)
    assert.strictEqual(code(await ask("POST", "/contacts", unknown, "known-key")), "idempotency_conflict")
  })
})

describe("an optional key", () => {
  it("makes a retry of a tag, a note, and a webhook harmless; without it each takes effect again", async () => {
    const { ask, get, write } = await begin()
    const { body: { data: contact } } = await write("POST", "/contacts", { first_name: "Kim" })
    const notes = `/contacts/${contact.id}/notes`
    const webhook = { url: "https://shop.example/crm", event_types: ["message.sent"] }
    for (
      const [path, json] of [
        ["/tags", { name: "VIP", color: "red" }],
        [notes, { text: "blue" }],
        ["/webhooks", webhook]
      ] as const
    ) {
      const first = await ask("POST", path, json, `optional ${path}`)
      const again = await ask("POST", path, json, `optional ${path}`)
      assert.strictEqual(first.status, 200, path)
      assert.isTrue(isReplayed(again), path)
      assert.strictEqual(again.text, first.text, path)
    }
    assert.lengthOf(await get("/tags"), 1)
    assert.strictEqual((await get(`/contacts/${contact.id}`)).notes, "blue")
    assert.lengthOf(await get("/webhooks"), 1)

    assert.strictEqual(code(await ask("POST", "/tags", { name: "VIP", color: "red" })), "conflict")
    assert.strictEqual((await ask("POST", notes, { text: "red" })).body.data.notes, "blue\n\nred")
    const second = await ask("POST", "/webhooks", webhook)
    assert.match(second.body.data.signing_secret, /^whsec_/)
    assert.isFalse(isReplayed(second))
    assert.lengthOf(await get("/webhooks"), 2)
  })
})
