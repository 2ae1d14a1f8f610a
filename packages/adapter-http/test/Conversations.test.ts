/** `/conversations`, their messages, and `/sends`: from a start to a message that was read. */
import { assert, describe, it } from "@effect/vitest"
import { Inbound } from "@messaging-crm/core/Inbound"
import { DateTime, Effect } from "effect"
import { afterAll } from "vitest"
import { idempotency, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

type Organization = Awaited<ReturnType<typeof service.organization>>

const text = (value: string) => ({ type: "text", text: value })

const greeting = ({ channel }: Organization) => ({
  id: `${channel.phone_messaging_business_account_id}.order_ready`,
  components: [
    { type: "header", parameters: [text("7")] },
    { type: "body", parameters: [text("Kim"), text("{{1}}")] },
    { type: "button", sub_type: "url", index: "0", parameters: [text("7")] }
  ]
})

const startWith = (ours: Organization, json: Record<string, unknown> = {}) =>
  service.request("POST", "/v1/conversations", {
    key: ours.key,
    json: { channel_id: ours.channel.id, phone: "+49 151 12345678", template: greeting(ours), ...json },
    ...idempotency()
  })

const follow = async ({ key }: Organization, id: string, status: string) => {
  const get = () => service.request("GET", `/v1/sends/${id}`, { key })
  await service.until(async () => (await get()).body.data.status === status)
  return (await get()).body.data
}

describe("start", () => {
  it("queues a send, which becomes a message that is delivered and read", async () => {
    const ours = await service.organization()
    const started = await startWith(ours)
    assert.strictEqual(started.status, 202)
    const queued = started.body.data
    assert.deepStrictEqual(queued, {
      id: queued.id,
      conversation_id: queued.conversation_id,
      status: "queued",
      message_id: null,
      failure_reason: null,
      created_at: queued.created_at
    })
    const sent = await follow(ours, queued.id, "sent")
    const path = `/v1/conversations/${sent.conversation_id}`
    const get = () => service.request("GET", `${path}/messages/${sent.message_id}`, { key: ours.key })
    await service.until(async () => (await get()).body.data.status === "read")
    const { data: message } = (await get()).body
    // What a value holds is never taken for a placeholder.
    assert.strictEqual(message.text, "Hello Kim, your order {{1}} is ready.")
    assert.strictEqual(message.type, "template")
    assert.deepStrictEqual(message.sender, { type: "member", name: "Ada" })
    assert.isNotNull(message.delivered_at)
    assert.isNotNull(message.read_at)
    const list = await service.request("GET", `${path}/messages`, { key: ours.key })
    assert.deepStrictEqual<object>(list.body, { data: [message], next_cursor: null })
    const { data: conversation } = (await service.request("GET", path, { key: ours.key })).body
    assert.deepStrictEqual(conversation.channel, { id: ours.channel.id, type: "phone_messaging" })
    assert.strictEqual(conversation.contact.external_id, "+4915112345678")
    assert.strictEqual(conversation.status, "open")
    assert.strictEqual(conversation.last_activity_preview, message.text)
    const { data: contact } =
      (await service.request("GET", `/v1/contacts/${conversation.contact.id}`, { key: ours.key })).body
    assert.strictEqual(contact.primary_phone, "+4915112345678")
    assert.strictEqual(contact.last_conversation_id, conversation.id)
    assert.lengthOf(contact.identities, 1)
  })

  it("rejects invalid input, names the field, and stores nothing", async () => {
    const ours = await service.organization()
    const foreign = await service.organization()
    const template = (change: (template: ReturnType<typeof greeting>) => unknown) => ({
      template: change(greeting(ours))
    })
    for (
      const [json, param] of [
        [{ channel_id: "x" }, "channel_id"],
        [{ channel_id: foreign.channel.id }, "channel_id"],
        [{ channel_id: ours.social.id }, "channel_id"],
        [{ phone: "12345" }, "phone"],
        [{ phone: "015112345678" }, "phone"],
        [{ phone: `+${"1".repeat(40)}` }, "phone"],
        [{ phone: null }, "phone"],
        [{ text: "Hello" }, "text"],
        [template(() => null), "template"],
        [template(({ components }) => ({ components })), "template.id"],
        [template((whole) => ({ ...whole, id: "unknown" })), "template.id"],
        [template((whole) => ({ ...whole, id: whole.id.replace("order_ready", "invoice_ready") })), "template.id"],
        [template((whole) => ({ ...whole, id: whole.id.replace("order_ready", "win_back") })), "template.id"],
        [template((whole) => ({ ...whole, id: greeting(foreign).id })), "template.id"],
        [template((whole) => ({ ...whole, foo: 1 })), "template.foo"],
        [template(({ id }) => ({ id, components: [] })), "template.components"],
        [template(({ components, id }) => ({ id, components: components.slice(1) })), "template.components"],
        [template(({ components, id }) => ({ id, components: [...components, components[0]] })), "template.components"],
        [
          template(({ id }) => ({ id, components: [{ type: "HEADER", parameters: [] }] })),
          "template.components.0.type"
        ],
        [template(({ id }) => ({ id, components: [{ type: "body" }] })), "template.components.0.parameters"],
        [
          template(({ id }) => ({ id, components: [{ type: "body", parameters: [text("")] }] })),
          "template.components.0.parameters.0.text"
        ],
        [
          template(({ id }) => ({ id, components: [{ type: "body", parameters: [{ type: "sticker", text: "x" }] }] })),
          "template.components.0.parameters.0.type"
        ]
      ] as const
    ) {
      const response = await startWith(ours, json)
      assert.strictEqual(response.status, 400, JSON.stringify(json))
      assert.strictEqual(response.body.error.code, "invalid_input")
      assert.strictEqual(response.body.error.param, param, JSON.stringify(json))
    }
    assert.deepStrictEqual((await service.request("GET", "/v1/contacts", { key: ours.key })).body.data, [])
  })

  it("fills named templates by their names", async () => {
    const ours = await service.organization()
    const named = (components: unknown) => ({
      template: { id: `${ours.channel.phone_messaging_business_account_id}.appointment_reminder`, components }
    })
    const value = (parameter_name: string, value: string) => ({ ...text(value), parameter_name })
    const parameters = [value("time", "9:30"), value("first_name", "Kim"), value("day", "Monday")]
    const good = await startWith(ours, named([{ type: "body", parameters }]))
    const { conversation_id, message_id } = await follow(ours, good.body.data.id, "sent")
    const message = await service.request("GET", `/v1/conversations/${conversation_id}/messages/${message_id}`, {
      key: ours.key
    })
    assert.strictEqual(message.body.data.text, "Hello Kim, we see you on Monday at 9:30.")
    const wrong = [value("time", "9:30"), value("first_name", "Kim"), value("month", "May")]
    const bad = await startWith(ours, named([{ type: "body", parameters: wrong }]))
    assert.strictEqual(bad.body.error.param, "template.components")
    assert.include(bad.body.error.message, "day")
  })
})

describe("send", () => {
  const wroteTo = (ours: Organization, channel_id = ours.channel.id, external_id = "+4915112345678") =>
    service.runtime.runPromise(Effect.gen(function*() {
      const sent_at = yield* DateTime.now
      yield* Inbound.use((inbound) =>
        inbound.receive({
          event: "message_received",
          channel_id,
          provider_message_id: globalThis.crypto.randomUUID(),
          from: { external_id, display_name: "Kim", username: null },
          type: "text",
          text: "Hello?",
          media: null,
          sent_at
        })
      )
    }))

  /** Starts a conversation, and returns functions that send to it and read it. */
  const conversationOf = async (ours: Organization) => {
    const { conversation_id } = (await startWith(ours)).body.data
    const path = `/v1/conversations/${conversation_id}`
    const read = async (url: string) => (await service.request("GET", url, { key: ours.key })).body.data
    return {
      send: (json: unknown) => service.request("POST", `${path}/messages`, { key: ours.key, json, ...idempotency() }),
      windowEnd: async () => (await read(path)).reply_window_expires_at,
      messages: () => read(`${path}/messages`)
    }
  }

  /** Starts a conversation whose reply window is open. */
  const openConversation = async () => {
    const ours = await service.organization()
    const conversation = await conversationOf(ours)
    await wroteTo(ours)
    return { ours, ...conversation }
  }

  it("rejects a text outside the reply window", async () => {
    const { send, windowEnd } = await conversationOf(await service.organization())
    const rejected = await send(text("Hi"))
    assert.strictEqual(rejected.status, 409)
    assert.strictEqual(rejected.body.error.code, "conflict")
    assert.strictEqual(rejected.body.error.param, "type")
    assert.isNull(await windowEnd())
  })

  it("opens the reply window for 24 hours after an inbound message", async () => {
    const ours = await service.organization()
    const { windowEnd } = await conversationOf(ours)
    const before = await service.runtime.runPromise(DateTime.now)
    await wroteTo(ours)
    const [end, next] = [Date.parse(await windowEnd()), await service.runtime.runPromise(DateTime.now)]
    assert.isAtLeast(end, DateTime.add(before, { hours: 24 }).epochMilliseconds)
    assert.isAtMost(end, DateTime.add(next, { hours: 24 }).epochMilliseconds)
  })

  it("sends a text inside the reply window unchanged, and lists it first", async () => {
    const { messages, ours, send } = await openConversation()
    const accepted = await send(text("  kept as sent  "))
    assert.strictEqual(accepted.status, 202)
    const { message_id } = await follow(ours, accepted.body.data.id, "sent")
    const list = await messages()
    assert.strictEqual(list[0].id, message_id)
    assert.strictEqual(list[0].text, "  kept as sent  ")
    assert.deepStrictEqual(list.map((row: { readonly direction: string }) => row.direction).toSorted(), [
      "inbound",
      "outbound",
      "outbound"
    ])
  })

  it("accepts a template, and a text of 4,096 characters, inside the reply window", async () => {
    const { ours, send } = await openConversation()
    assert.strictEqual((await send({ type: "template", template: greeting(ours) })).status, 202)
    assert.strictEqual((await send(text("😀".repeat(4096)))).status, 202)
  })

  it("rejects an invalid message, and names the field", async () => {
    const { ours, send } = await openConversation()
    for (
      const [json, param] of [
        [{}, "type"],
        [{ type: "image" }, "type"],
        [{ type: "text" }, "text"],
        [text(""), "text"],
        [text("x".repeat(4097)), "text"],
        [{ ...text("x"), template: greeting(ours) }, "template"],
        [{ type: "template" }, "template"]
      ] as const
    ) {
      const response = await send(json)
      assert.strictEqual(response.status, 400, JSON.stringify(json).slice(0, 80))
      assert.strictEqual(response.body.error.param, param)
    }
  })

  it("accepts a blank text, which the provider rejects", async () => {
    const { ours, send } = await openConversation()
    for (const blank of [" ", " \n\t\u3000", " ".repeat(4096)]) {
      const accepted = await send(text(blank))
      assert.strictEqual(accepted.status, 202)
      assert.strictEqual((await follow(ours, accepted.body.data.id, "failed")).failure_reason, "provider_rejected")
    }
  })

  it("rejects a text that the network of the channel does not accept, with its limit", async () => {
    const ours = await service.organization()
    await wroteTo(ours, ours.social.id, "photo-user-8")
    const [contact] = (await service.request("GET", "/v1/contacts", { key: ours.key })).body.data
    const path = `/v1/conversations/${contact.last_conversation_id}/messages`
    const send = (text: string) =>
      service.request("POST", path, { key: ours.key, json: { type: "text", text }, ...idempotency() })
    for (const text of ["x".repeat(1001), "😀".repeat(251)]) {
      const rejected = await send(text)
      assert.strictEqual(rejected.status, 400)
      assert.strictEqual(rejected.body.error.param, "text")
      assert.include(rejected.body.error.message, "1000 bytes")
    }
    assert.strictEqual((await send("😀".repeat(250))).status, 202)
  })

  it("rejects a template on a channel of another type", async () => {
    const ours = await service.organization()
    await wroteTo(ours, ours.social.id, "photo-user-9")
    const [contact] = (await service.request("GET", "/v1/contacts", { key: ours.key })).body.data
    const path = `/v1/conversations/${contact.last_conversation_id}/messages`
    const json = { type: "template", template: greeting(ours) }
    const response = await service.request("POST", path, { key: ours.key, json, ...idempotency() })
    assert.strictEqual(response.status, 400)
    assert.strictEqual(response.body.error.param, "type")
  })

  it("reports why a send failed", async () => {
    const ours = await service.organization()
    const { id } = (await startWith(ours, { phone: "+4915112340002" })).body.data
    const failed = await follow(ours, id, "failed")
    assert.strictEqual(failed.failure_reason, "recipient_unreachable")
    assert.isNull(failed.message_id)
  })
})

it("lists sends by state, conversation and time, newest first", async () => {
  const ours = await service.organization()
  const { id: failed } = (await startWith(ours, { phone: "+4915112340002" })).body.data
  const { created_at } = await follow(ours, failed, "failed")
  const first = (await startWith(ours)).body.data
  await follow(ours, first.id, "sent")
  const list = async (query: string) => {
    const response = await service.request("GET", `/v1/sends${query}`, { key: ours.key })
    assert.strictEqual(response.status, 200, response.text)
    return response.body.data.map((row: { readonly id: string }) => row.id)
  }
  const all = [first.id, failed]
  assert.deepStrictEqual(await list(""), all)
  assert.deepStrictEqual(await list("?status=failed"), [failed])
  assert.deepStrictEqual(await list("?status=queued"), [])
  assert.deepStrictEqual(await list(`?conversation_id=${first.conversation_id.toUpperCase()}`), [first.id])
  assert.deepStrictEqual(await list(`?conversation_id=${first.conversation_id}&status=failed`), [])
  assert.deepStrictEqual(await list(`?created_since=${created_at}`), all)
  assert.deepStrictEqual(await list("?created_since=2999-01-01T00:00:00Z"), [])
  const page = await service.request("GET", "/v1/sends?page_size=1", { key: ours.key })
  const cursor = encodeURIComponent(String(page.body.next_cursor))
  assert.deepStrictEqual(page.body.data.map((row: { readonly id: string }) => row.id), [first.id])
  assert.deepStrictEqual(await list(`?page_size=1&cursor=${cursor}`), [failed])
  for (
    const [query, param] of [
      ["status=lost", "status"],
      ["conversation_id=one", "conversation_id"],
      ["created_since=yesterday", "created_since"],
      [`status=failed&cursor=${cursor}`, "cursor"],
      ["page_size=101", "page_size"]
    ] as const
  ) {
    const response = await service.request("GET", `/v1/sends?${query}`, { key: ours.key })
    assert.strictEqual(response.status, 400, query)
    assert.strictEqual(response.body.error.param, param)
  }
  const theirs = await service.organization()
  const other = await service.request("GET", `/v1/sends?conversation_id=${first.conversation_id}`, { key: theirs.key })
  assert.deepStrictEqual(other.body.data, [])
})

describe("a conversation", () => {
  const make = async () => {
    const ours = await service.organization()
    const { conversation_id } = (await startWith(ours)).body.data
    const path = `/v1/conversations/${conversation_id}`
    const get = async () => (await service.request("GET", path, { key: ours.key })).body.data
    const change = (method: string, what: string, json?: unknown) =>
      service.request(method, `${path}/${what}`, {
        key: ours.key,
        ...(json === undefined ? {} : { json }),
        ...idempotency()
      })
    return { ...ours, change, get, ours }
  }

  it("is listed by status and assignee, latest activity first", async () => {
    const { change, key, ours, owner } = await make()
    const second = (await startWith(ours, { phone: "+49 151 12345679" })).body.data.conversation_id
    await change("POST", "close")
    await change("PATCH", "assignment", { assigned_user_id: owner.id })
    const list = async (query: string) => {
      const response = await service.request("GET", `/v1/conversations${query}`, { key })
      assert.strictEqual(response.status, 200, response.text)
      return response.body.data.map((row: { readonly id: string }) => row.id)
    }
    const all = await list("")
    assert.lengthOf(all, 2)
    assert.deepStrictEqual(await list("?status=all"), all)
    assert.deepStrictEqual(await list("?status=open"), [second])
    assert.notDeepEqual(await list("?status=closed"), [second])
    assert.deepStrictEqual(await list(`?assigned_user_id=${owner.id}`), await list("?status=closed"))
    assert.deepStrictEqual(await list(`?status=open&assigned_user_id=${owner.id}`), [])
    const { contact } = (await service.request("GET", `/v1/conversations/${second}`, { key })).body.data
    assert.deepStrictEqual(await list("?unassigned=true"), [second])
    assert.deepStrictEqual(await list("?unassigned=true&status=closed"), [])
    assert.deepStrictEqual(await list(`?contact_id=${contact.id.toUpperCase()}`), [second])
    assert.deepStrictEqual(await list(`?channel_id=${ours.channel.id}`), all)
    assert.deepStrictEqual(await list(`?channel_id=${ours.social.id}`), [])
    assert.deepStrictEqual(await list(`?channel_id=${ours.channel.id}&contact_id=${contact.id}&status=closed`), [])
    const page = await service.request("GET", "/v1/conversations?page_size=1", { key })
    const cursor = encodeURIComponent(String(page.body.next_cursor))
    assert.deepStrictEqual([
      ...page.body.data.map((row: { readonly id: string }) => row.id),
      ...await list(`?page_size=1&cursor=${cursor}`)
    ], all)
    for (
      const [query, param] of [
        ["status=shut", "status"],
        ["assigned_user_id=me", "assigned_user_id"],
        [`unassigned=true&assigned_user_id=${owner.id}`, "unassigned"],
        ["unassigned=false", "unassigned"],
        ["unassigned=", "unassigned"],
        ["contact_id=me", "contact_id"],
        ["channel_id=", "channel_id"],
        [`status=open&cursor=${cursor}`, "cursor"],
        ["page_size=0", "page_size"]
      ] as const
    ) {
      const response = await service.request("GET", `/v1/conversations?${query}`, { key })
      assert.strictEqual(response.status, 400)
      assert.strictEqual(response.body.error.param, param)
    }
    const foreign = await service.request("GET", `/v1/contacts?cursor=${cursor}`, { key })
    assert.strictEqual(foreign.body.error.param, "cursor")
  })
})
