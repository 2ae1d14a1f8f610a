/** `/conversations/{conversation_id}/messages` and `/sends`: messages inside and outside the reply window, and lists of sends. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime } from "effect"
import { afterAll } from "vitest"
import { idempotency, orderReady, start, text } from "../testing/Service.ts"
import { conversationsOf, type Organization } from "./ConversationScene.ts"

const service = start()
afterAll(() => service.stop())
const { follow, startWith } = conversationsOf(service)

describe("send", () => {
  const wroteTo = (ours: Organization, channel_id = ours.channel.id, external_id = "+4915112345678") =>
    service.receive(channel_id, { from: { external_id, display_name: "Kim", username: null } })

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
    assert.strictEqual((await send({ type: "template", template: orderReady(ours.channel) })).status, 202)
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
        [{ ...text("x"), template: orderReady(ours.channel) }, "template"],
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
      assert.strictEqual(accepted.status, 202, `${blank.length} characters`)
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
      assert.strictEqual(rejected.status, 400, `${text.length} code units`)
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
    const json = { type: "template", template: orderReady(ours.channel) }
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
