/** Tests that one organization's key can neither read nor change another's data, in every operation. */
import { assert, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { bodyFor, operations } from "../testing/Operations.ts"
import { idempotency, orderReady, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

it("returns 404 for every operation on another organization's ID, and changes nothing", async () => {
  const [ours, theirs] = [await service.organization(), await service.organization()]
  const get = async (path: string) => (await service.request("GET", path, { key: ours.key })).text
  const webhook = await service.request("POST", "/v1/webhooks", {
    key: ours.key,
    json: { url: "https://shop.example/crm", event_types: ["message.sent"] }
  })
  const webhook_id = webhook.body.data.id
  const started = await service.request("POST", "/v1/conversations", {
    key: ours.key,
    json: {
      channel_id: ours.channel.id,
      phone: "+4915112345678",
      template: orderReady(ours.channel)
    },
    ...idempotency()
  })
  const { conversation_id, id: send_id } = started.body.data
  const send = async () => JSON.parse(await get(`/v1/sends/${send_id}`)).data
  await service.until(async () => (await send()).status === "sent")
  const { message_id } = await send()
  const messagePath = `/v1/conversations/${conversation_id}/messages/${message_id}`
  await service.until(async () => JSON.parse(await get(messagePath)).data.status === "read")
  const contact_id = JSON.parse(await get(`/v1/conversations/${conversation_id}`)).data.contact.id

  const { event_id, id: delivery_id } = JSON.parse(await get(`/v1/webhooks/${webhook_id}/deliveries`)).data[0]
  const ids: Readonly<Record<string, string>> = {
    contact_id,
    conversation_id,
    delivery_id,
    event_id,
    message_id,
    send_id,
    webhook_id
  }
  const ofOurs = (path: string) => path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? `no ${name}`)
  const resources = operations.filter(({ method, path }) => method === "GET" && path.includes(":")).map(({ path }) =>
    ofOurs(path)
  )
  const before = await Promise.all(resources.map(get))
  for (const { method, path } of operations.filter(({ path }) => path.includes(":"))) {
    const options = method === "GET" ? {} : { ...bodyFor({ method, path }), ...idempotency() }
    const response = await service.request(method, ofOurs(path), { key: theirs.key, ...options })
    assert.strictEqual(response.status, 404, `${method} ${path}`)
    assert.strictEqual(response.body.error.code, "not_found")
  }
  assert.deepStrictEqual(await Promise.all(resources.map(get)), before)
})
