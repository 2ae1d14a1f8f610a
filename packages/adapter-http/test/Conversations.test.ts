/** `/conversations`: their start by a template, and their lists. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { idempotency, orderReady, start, text } from "../testing/Service.ts"
import { conversationsOf } from "./ConversationScene.ts"

const service = start()
afterAll(() => service.stop())
const { follow, startWith } = conversationsOf(service)

describe("start", () => {
  it("queues a send, which becomes a message that is delivered and read", async () => {
    const ours = await service.organization()
    const { components: [header, body, button], id: template_id } = orderReady(ours.channel, "{{1}}")
    // The index of a button can be a number or its digits.
    const components = [header, body, { ...button, index: "0" }]
    const started = await startWith(ours, { template: { id: template_id, components } })
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
    // A placeholder in a value is not replaced.
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
    const template = (change: (template: ReturnType<typeof orderReady>) => unknown) => ({
      template: change(orderReady(ours.channel))
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
        [template((whole) => ({ ...whole, id: orderReady(foreign.channel).id })), "template.id"],
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
      assert.strictEqual(response.status, 400, query)
      assert.strictEqual(response.body.error.param, param, query)
    }
    const foreign = await service.request("GET", `/v1/contacts?cursor=${cursor}`, { key })
    assert.strictEqual(foreign.body.error.param, "cursor")
  })
})
