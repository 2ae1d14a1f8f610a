/** Destinations other than HTTP endpoints: operators choose them, and a webhook of a disabled one fails visibly. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { type Destination, Destinations } from "@messaging-crm/core/Destinations"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Effect, Layer } from "effect"
import { afterAll } from "vitest"
import { idempotency, start } from "../testing/Service.ts"

const published: Array<string> = []
const enabled: Array<Destination> = []

const queue: Destination = {
  protocol: "queue:",
  rejectionOf: (url) => /^queue:\/\/[a-z]+$/.test(url) ? null : "The URL must be queue:// and a name.",
  post: ({ body, url }) =>
    Effect.sync(() => {
      published.push(`${url} ${JSON.parse(body).type}`)
      return { status: 200, body: "stored", retry_after: null }
    })
}

const service = start({ tuning: Layer.succeed(Destinations, enabled) })
afterAll(() => service.stop())

const createAsOperator = (organization_id: OrganizationId, url: string) =>
  service.runtime.runPromise(
    Webhooks.use((webhooks) => webhooks.create(CreateWebhook.make({ url, event_types: ["contact.created"] }))).pipe(
      Effect.provideService(CurrentActor, { organization_id, member_id: null }),
      Effect.result
    )
  )

it("only an operator chooses a destination; the API rejects its URL like an unknown one", async () => {
  enabled.push(queue)
  const { key, organization } = await service.organization()
  const json = { url: "queue://crm", event_types: ["contact.created"] }
  const known = await service.request("POST", "/v1/webhooks", { key, json, ...idempotency() })
  const unknown = await service.request("POST", "/v1/webhooks", {
    key,
    json: { ...json, url: "other://crm" },
    ...idempotency()
  })
  assert.deepStrictEqual([known.status, known.body.error.param], [400, "url"])
  assert.strictEqual(known.body.error.message, unknown.body.error.message)
  const rejected = await createAsOperator(organization.id, "queue://CRM")
  assert.deepInclude(rejected, { _tag: "Failure" })
  const created = await createAsOperator(organization.id, "queue://crm")
  assert.strictEqual(created._tag, "Success")
})

it("a webhook publishes to its destination, and fails while that is disabled", async () => {
  enabled.splice(0, enabled.length, queue)
  published.length = 0
  const { key, organization } = await service.organization()
  const created = await createAsOperator(organization.id, "queue://crm")
  const webhook_id = created._tag === "Success" ? created.success.id : ""
  const deliver = async (count: number) => {
    await service.request("POST", "/v1/contacts", { key, json: { first_name: "Kim" }, ...idempotency() })
    const list = async () => (await service.request("GET", `/v1/webhooks/${webhook_id}/deliveries`, { key })).body.data
    await service.until(async () => {
      const found = await list()
      return found.length === count && found[0].attempt_count > 0
    })
    return (await list())[0]
  }
  const delivered = await deliver(1)
  assert.deepInclude(delivered, { status: "succeeded", response_status: 200, response_body: "stored" })
  assert.deepStrictEqual(published, ["queue://crm contact.created"])
  enabled.length = 0
  assert.deepInclude(await deliver(2), { status: "pending", failure_code: "protocol_error", response_status: null })
})
