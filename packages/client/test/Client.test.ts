/** The client with real requests to the real API over memory. */
import { assert, describe, it } from "@effect/vitest"
import { PostedWebhooks } from "@messaging-crm/adapter-memory/WebhookTransport"
import { type Contact, MessagingCrm, MessagingCrmError, verifyWebhook } from "@messaging-crm/client"
import { afterAll } from "vitest"
import { orderReady, start } from "../../adapter-http/testing/Service.ts"

const service = start()
afterAll(() => service.stop())

const unknown = "0199abcd-0000-7000-8000-00000000000f"

const connect = async () => {
  const organization = await service.organization()
  const crm = new MessagingCrm({ apiKey: organization.key, baseUrl: "http://localhost/v1/", fetch: service.fetch })
  return { ...organization, crm }
}

const rejection = async (call: Promise<unknown>): Promise<MessagingCrmError> => {
  const error = await call.then(() => undefined, (error: unknown) => error)
  assert.instanceOf(error, MessagingCrmError)
  return error
}

describe("contacts", () => {
  it("creates, reads, and changes contacts, and adds notes", async () => {
    const { crm } = await connect()
    const made = await crm.contacts.create({ first_name: "Kim", primary_phone: "+49 151 12345678" })
    assert.strictEqual(made.primary_phone, "+4915112345678")
    assert.deepStrictEqual(await crm.contacts.get(made.id), made)
    const changed = await crm.contacts.update(made.id, { first_name: null, city: "Berlin" })
    assert.isNull(changed.first_name)
    assert.strictEqual(changed.city, "Berlin")
    assert.strictEqual((await crm.contacts.addNote(made.id, { text: "called" })).notes, "called")
  })

  it("lists contacts over all pages, with filters", async () => {
    const { crm } = await connect()
    const vip = await crm.tags.create({ name: "VIP", color: "amber" })
    for (let number = 0; number < 7; number++) {
      await crm.contacts.create({ first_name: `Kim ${number}`, ...(number % 2 === 0 ? { tag_ids: [vip.id] } : {}) })
    }
    const all: Array<Contact> = []
    for await (const contact of crm.contacts.list({ page_size: 3 })) all.push(contact)
    assert.deepStrictEqual(
      all.map(({ first_name }) => first_name).toSorted(),
      ["0", "1", "2", "3", "4", "5", "6"].map((number) => `Kim ${number}`)
    )
    assert.lengthOf(await crm.contacts.list({ tag_id: vip.id, page_size: 1 }).toArray({ limit: 100 }), 4)
    assert.lengthOf(await crm.contacts.list({ page_size: 2 }).toArray({ limit: 3 }), 3)
    const first = await crm.contacts.list({ page_size: 4 }).page()
    const cursor = first.next_cursor ?? ""
    const second = await crm.contacts.list({ page_size: 4, cursor }).page()
    assert.isNull(second.next_cursor)
    assert.deepStrictEqual([...first.data, ...second.data], all)
    const sizes = []
    for await (const { data } of crm.contacts.list({ page_size: 5 }).pages()) sizes.push(data.length)
    assert.deepStrictEqual(sizes, [5, 2])
  })
})

describe("conversations", () => {
  it("starts, lists, assigns, closes, and reopens conversations", async () => {
    const { channel, crm, owner } = await connect()
    const templates = await crm.templates.list().toArray({ limit: 100 })
    const order = templates.find(({ name }) => name === "order_ready")?.id ?? ""
    const begun = await crm.conversations.start({
      channel_id: channel.id,
      phone: "+49 151 00000007",
      template: { ...orderReady(channel), id: order }
    })
    assert.strictEqual(begun.lastResponse.status, 202)
    const [ended] = await Promise.all([
      crm.sends.waitFor(begun.id),
      service.until(async () => (await crm.sends.get(begun.id)).status === "sent")
    ])
    assert.strictEqual(ended.status, "sent")

    const { conversation_id } = begun
    // The number writes back, so that a text may follow.
    await service.until(async () => (await crm.messages.list(conversation_id).page()).data.length === 2)
    const { id } = await crm.messages.send(conversation_id, { type: "text", text: "Thank you" })
    assert.include((await crm.sends.list().toArray({ limit: 9 })).map((send) => send.id), id)
    assert.strictEqual((await crm.sends.get(id)).conversation_id, conversation_id)
    const [newest] = await crm.messages.list(conversation_id).toArray({ limit: 1 })
    assert.deepStrictEqual(await crm.messages.get(conversation_id, newest?.id ?? ""), newest)

    const contacts = [{ primary_email: "kim@shop.example" }]
    const { results } = await crm.contacts.upsert({ match: "primary_email", contacts })
    assert.deepStrictEqual(results.map(({ outcome }) => outcome), ["created"])
    const [listed] = await crm.conversations.list({ status: "open" }).toArray({ limit: 10 })
    assert.strictEqual(listed?.id, conversation_id)
    const assigned = await crm.conversations.assign(conversation_id, { assigned_user_id: owner.id })
    assert.strictEqual(assigned.assigned_user_id, owner.id)
    const closed = await crm.conversations.close(conversation_id, { category: "resolved" })
    assert.strictEqual(closed.close_category, "resolved")
    assert.strictEqual((await crm.conversations.close(conversation_id)).status, "closed")
    assert.strictEqual((await crm.conversations.reopen(conversation_id)).status, "open")
    assert.strictEqual((await crm.conversations.get(conversation_id)).status, "open")
  })

  it("reports that a number cannot be reached", async () => {
    const { channel, crm } = await connect()
    const [order] = await crm.templates.list().toArray({ limit: 1 })
    const begun = await crm.conversations.start({
      channel_id: channel.id,
      phone: "+49 151 00000002",
      template: { ...orderReady(channel), id: order?.id ?? "" }
    })
    const [ended] = await Promise.all([
      crm.sends.waitFor(begun.id),
      service.until(async () => (await crm.sends.get(begun.id)).status === "failed")
    ])
    assert.strictEqual(ended.failure_reason, "recipient_unreachable")
  })
})

describe("webhooks", () => {
  it("creates, lists, and disables webhooks, and verifies their events", async () => {
    const { channel, crm } = await connect()
    const event_types = ["send.failed", "message.sent"] as const
    const hook = await crm.webhooks.create({ url: "https://hooks.example.com/crm", event_types })
    const [order] = await crm.templates.list().toArray({ limit: 1 })
    const send = await crm.conversations.start({
      channel_id: channel.id,
      phone: "+49 151 00000002",
      template: { ...orderReady(channel), id: order?.id ?? "" }
    })
    const deliveries = () => crm.webhooks.deliveries(hook.id).toArray({ limit: 10 })
    await service.until(async () => (await deliveries()).some(({ status }) => status === "succeeded"))
    const posted = await service.runtime.runPromise(PostedWebhooks.use((webhooks) => webhooks.posted))
    const [{ body = "", headers = {} } = {}] = posted
    const event = await verifyWebhook({ payload: body, headers, secret: hook.signing_secret })
    assert.isTrue(event.type === "send.failed" && event.data.send_id === send.id)
    const [delivery] = await deliveries()
    assert.strictEqual(delivery?.event_id, event.id)
    assert.strictEqual((await crm.webhooks.retry(hook.id, delivery?.id ?? "")).status, "pending")
    assert.deepStrictEqual(
      (await crm.webhooks.update(hook.id, { event_types: ["send.failed"] })).event_types,
      (await crm.webhooks.get(hook.id)).event_types
    )
    assert.strictEqual((await crm.webhooks.test(hook.id)).event_type, "webhook.test")
    const replay = await crm.webhooks.replay(hook.id, event.timestamp)
    assert.deepStrictEqual([replay.webhook_id, replay.since], [hook.id, event.timestamp])
    const listed_events = await crm.events.list({ type: "send.failed" }).toArray({ limit: 10 })
    assert.deepStrictEqual(listed_events.map(({ id }) => id), [event.id])
    assert.notStrictEqual((await crm.webhooks.rotateSecret(hook.id)).signing_secret, hook.signing_secret)
    assert.strictEqual((await crm.webhooks.disable(hook.id)).status, "disabled")
    const [listed] = await crm.webhooks.list().toArray({ limit: 10 })
    assert.strictEqual(listed?.id, hook.id)
  })
})

it("lists the catalogs", async () => {
  const { channel, crm, owner, social } = await connect()
  const ids = (await crm.channels.list().toArray({ limit: 10 })).map(({ id }) => id)
  assert.sameMembers(ids, [channel.id, social.id])
  assert.deepStrictEqual((await crm.members.list().page()).data.map(({ id }) => id), [owner.id])
  assert.deepStrictEqual((await crm.contactFields.list().page()).data, [])
  const tag = await crm.tags.create({ name: "VIP", color: "amber" })
  assert.deepStrictEqual(await crm.tags.list().toArray({ limit: 10 }), [{ ...tag }])
})

describe("a rejection", () => {
  it("has its code, field and request ID", async () => {
    const { crm } = await connect()
    await crm.tags.create({ name: "VIP", color: "amber" })
    const taken = await rejection(crm.tags.create({ name: "vip", color: "red" }))
    assert.strictEqual(taken.status, 409)
    assert.strictEqual(taken.code, "conflict")
    assert.strictEqual(taken.param, "name")
    assert.isNull(taken.retryAfter)
    assert.match(taken.requestId, /^[0-9a-f-]{36}$/)
    assert.include(taken.message, "vip")
    assert.strictEqual((await rejection(crm.contacts.get(unknown))).code, "not_found")
  })

  it("does not contain the API key", async () => {
    const apiKey = `svc_live_${"A".repeat(43)}`
    const crm = new MessagingCrm({ apiKey, baseUrl: "http://localhost/v1", fetch: service.fetch })
    const error = await rejection(crm.tags.list().page())
    assert.strictEqual(error.code, "unauthorized")
    assert.notInclude(JSON.stringify([error, crm, error.stack, String(error)]), apiKey)
  })
})

it("changes a contact only as it was read, with its ETag", async () => {
  const { crm } = await connect()
  const { id, lastResponse: { etag: created } } = await crm.contacts.create({ first_name: "Kim" })
  const { lastResponse: { etag } } = await crm.contacts.get(id)
  assert.strictEqual(etag, created)
  const updated = await crm.contacts.update(id, { city: "Ulm" }, { ifMatch: etag })
  assert.strictEqual(updated.city, "Ulm")
  const late = [
    crm.contacts.update(id, { city: "Bonn" }, { ifMatch: etag }),
    crm.contacts.addNote(id, { text: "x" }, { ifMatch: etag })
  ]
  // Each has its handler before the first of them can reject.
  for (const { code } of await Promise.all(late.map(rejection))) assert.strictEqual(code, "precondition_failed")
  const noted = await crm.contacts.addNote(id, { text: "Called" }, { ifMatch: updated.lastResponse.etag })
  assert.deepInclude(noted, { city: "Ulm", notes: "Called" })
  assert.isNull((await crm.tags.create({ name: "New", color: "red" })).lastResponse.etag)
  const error = await crm.contacts.update(id, {}, { ifMatch: "\n" }).catch((error: unknown) => error)
  assert.instanceOf(error, TypeError)
})

it("calls any operation by its method and path", async () => {
  const { crm } = await connect()
  const { data: { id }, lastResponse } = await crm.request("POST /contacts", { body: { first_name: "Kim" } })
  assert.strictEqual(lastResponse.status, 201)
  const read = await crm.request("GET /contacts/{contact_id}", { path: { contact_id: id } })
  assert.deepInclude(read.data, { id, first_name: "Kim" })
  const page = await crm.request("GET /contacts", { query: { page_size: 1 } })
  assert.deepStrictEqual([page.data.map((contact) => contact.id), page.next_cursor], [[id], null])
  const proxy = new MessagingCrm({
    apiKey: "svc_live_x",
    baseUrl: "http://localhost/v1",
    fetch: async () => new Response("{}")
  })
  assert.strictEqual((await rejection(proxy.request("GET /tags", {}))).code, "unexpected_response")
})

it("gives every result its request ID, and leaves that out of JSON", async () => {
  const { crm } = await connect()
  const tag = await crm.tags.create({ name: "VIP", color: "amber" }, { idempotencyKey: "tag-vip-0001" })
  assert.match(tag.lastResponse.requestId, /^[0-9a-f-]{36}$/)
  assert.isFalse(tag.lastResponse.isReplayed)
  assert.strictEqual(tag.lastResponse.headers.get("x-ratelimit-limit"), "120")
  assert.hasAllKeys(JSON.parse(JSON.stringify(tag)), ["id", "name", "color"])
  const again = await crm.tags.create({ name: "VIP", color: "amber" }, { idempotencyKey: "tag-vip-0001" })
  assert.isTrue(again.lastResponse.isReplayed)
  assert.deepStrictEqual(again, tag)
  const reused = await rejection(crm.tags.create({ name: "X", color: "red" }, { idempotencyKey: "tag-vip-0001" }))
  assert.strictEqual(reused.code, "idempotency_conflict")
})
