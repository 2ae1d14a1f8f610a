/** A service with organizations, their webhooks, and the requests to them. */
import { assert } from "@effect/vitest"
import { PostedWebhooks } from "@messaging-crm/adapter-memory/WebhookTransport"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { Layer } from "effect"
import { idempotency, start, type TestResponse } from "../testing/Service.ts"

export const absent = "01990000-0000-7000-8000-000000000000"

/** Creates an organization, and returns the functions that use its webhooks. */
const begin = async (service: ReturnType<typeof start>) => {
  const { channel, key, organization, owner } = await service.organization()
  const url = `https://shop-${organization.id}.example/crm`
  const get = (path: string) => service.request("GET", `/v1${path}`, { key })
  const post = (path: string, json?: unknown) =>
    service.request("POST", `/v1${path}`, { key, ...(json === undefined ? {} : { json }), ...idempotency() })
  const create = async (fields: object = {}) =>
    (await post("/webhooks", { url, event_types: ["conversation.closed"], ...fields })).body.data
  const posted = () =>
    service.runtime.runPromise(PostedWebhooks.use((webhooks) => webhooks.posted)).then((all) =>
      all.filter((request) => request.url === url)
    )
  const response = (how: Parameters<PostedWebhooks["Service"]["respond"]>[0]) =>
    service.runtime.runPromise(PostedWebhooks.use((webhooks) => webhooks.respond(how)))
  const conversation = async () => {
    const account = channel.phone_messaging_business_account_id
    const template = {
      id: `${account}.spring_sale`,
      components: [{ type: "body", parameters: [{ type: "text", text: "a" }, { type: "text", text: "b" }] }]
    }
    const send = await post("/conversations", { channel_id: channel.id, phone: "+4915112345678", template })
    return send.body.data.conversation_id
  }
  const close = async () => {
    const conversation_id = await conversation()
    await post(`/conversations/${conversation_id}/close`)
    return conversation_id
  }
  const deliveries = async (id: string) => (await get(`/webhooks/${id}/deliveries`)).body.data
  /** Returns the deliveries once there are as many, and each has been attempted. */
  const settled = async (id: string, count = 1) => {
    await service.until(async () => {
      const all: ReadonlyArray<{ readonly attempt_count: number }> = await deliveries(id)
      return all.length === count && all.every(({ attempt_count }) => attempt_count > 0)
    })
    return deliveries(id)
  }
  const disable = (id: string) => service.request("DELETE", `/v1/webhooks/${id}`, { key, ...idempotency() })
  const update = (id: string, json: unknown) =>
    service.request("PATCH", `/v1/webhooks/${id}`, { key, json, ...idempotency() })
  return {
    update,
    response,
    close,
    create,
    deliveries,
    disable,
    get,
    key,
    organization,
    owner,
    post,
    posted,
    settled,
    url
  }
}

/** Starts a service, and returns it with the function that begins a test. */
export const startWithWebhooks = () => {
  const service = start({ tuning: Layer.succeed(RequestsPerMinute, 100_000) })
  return { begin: () => begin(service), service }
}

export const rejected = (response: TestResponse, param: string | null, code = "invalid_input", status = 400) => {
  assert.strictEqual(response.status, status, response.text)
  assert.strictEqual(response.body.error.code, code)
  assert.strictEqual(response.body.error.param, param)
}

/** Waits until followers get each event that the list has: in a database, once no earlier transaction is open. */
export const untilFollowed = async (get: (path: string) => Promise<TestResponse>): Promise<void> => {
  const { length } = (await get("/events")).body.data
  while ((await get("/events?after=start")).body.data.length < length) continue
}
