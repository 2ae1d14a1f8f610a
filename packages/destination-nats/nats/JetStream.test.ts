/** Events of the service in a stream of a real NATS server. */
import { assert, describe, it } from "@effect/vitest"
import { verifyWebhook } from "@messaging-crm/client"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { type Destination, Destinations } from "@messaging-crm/core/Destinations"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Worker } from "@messaging-crm/core/Worker"
import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream"
import { connect } from "@nats-io/transport-node"
import { Effect, Exit, Layer, Scope } from "effect"
import { afterAll, beforeEach } from "vitest"
import { idempotency, start } from "../../adapter-http/testing/Service.ts"
import { make } from "../src/index.ts"
import { natsServer } from "./NatsServer.ts"

const server = await natsServer()
await server.start()
const nats = await connect({ servers: `127.0.0.1:${server.port}`, user: "crm", pass: "p@ss", maxReconnectAttempts: -1 })
const manager: JetStreamManager = await jetstreamManager(nats)

const service = start({
  tuning: Layer.effect(Destinations, Effect.map(make({ servers: [server.address] }), (nats) => [nats]))
})

afterAll(async () => {
  await service.stop()
  await nats.close()
  await server.remove()
})

const stream = "CRM"

/** Creates the stream, without messages and without IDs of earlier ones. */
const emptyStream = async () => {
  await manager.streams.delete(stream).catch(() => null)
  await manager.streams.add({ name: stream, subjects: ["crm.>"] })
}

beforeEach(emptyStream)

/** Returns the number of stored messages below a subject. */
const countOf = async (subject: string) => {
  const { state } = await manager.streams.info(stream, { subjects_filter: `${subject}.>` })
  return Object.values(state.subjects ?? {}).reduce((sum, messages) => sum + messages, 0)
}

/** A subject of its own for each organization, as an operator chooses it. */
const subjectOf = (organization_id: OrganizationId) => `crm.${organization_id}`

/** An operator creates a webhook that publishes below a subject. */
const subscribe = (organization_id: OrganizationId, url = `nats://${subjectOf(organization_id)}`) =>
  service.runtime.runPromise(
    Webhooks.use((webhooks) => webhooks.create(CreateWebhook.make({ url, event_types: ["contact.created"] }))).pipe(
      Effect.provideService(CurrentActor, { organization_id, member_id: null })
    )
  )

const createContact = (key: string) =>
  service.request("POST", "/v1/contacts", { key, json: { first_name: "Kim" }, ...idempotency() })

const deliveryOf = async (key: string, webhook_id: string) => {
  const { body } = await service.request("GET", `/v1/webhooks/${webhook_id}/deliveries`, { key })
  return body.data[0]
}

const untilReconnected = async () => {
  for await (const { type } of nats.status()) if (type === "reconnect") return
}

const runWorker = () => service.runtime.runPromise(Worker.use((worker) => worker.runOnce))

/** Runs the worker until the latest delivery of a webhook has a status and an attempt. */
const attempted = (key: string, webhook_id: string, status: string) =>
  service.until(async () => {
    const delivery = await deliveryOf(key, webhook_id)
    return delivery !== undefined && delivery.status === status && delivery.attempt_count > 0
  })

describe("a webhook of an operator", () => {
  it("publishes each event once, signed, with its ID for deduplication", async () => {
    const { key, organization } = await service.organization()
    const { id, signing_secret } = await subscribe(organization.id)
    const { body: { data: contact } } = await createContact(key)
    await attempted(key, id, "succeeded")
    const subject = subjectOf(organization.id)
    assert.strictEqual(await countOf(subject), 1)
    const message = await manager.streams.getMessage(stream, { seq: 1 })
    assert.strictEqual(message?.subject, `${subject}.contact.created`)
    const headers = { get: (name: string) => message?.header.get(name) }
    const event = await verifyWebhook({ payload: message?.data ?? "", headers, secret: signing_secret })
    assert.strictEqual(message?.header.get("Nats-Msg-Id"), `${event.id}:${subject}.contact.created`)
    assert.propertyVal(event.data, "contact_id", contact.id)
    const delivery = await deliveryOf(key, id)
    assert.strictEqual(delivery.response_status, 200)
    assert.deepStrictEqual(JSON.parse(delivery.response_body), { stream, seq: 1, duplicate: false })
  })

  it("retries while NATS is unavailable, and loses no event", async () => {
    const { key, organization } = await service.organization()
    const { id } = await subscribe(organization.id)
    await createContact(key)
    await attempted(key, id, "succeeded")
    await server.stop()
    await createContact(key)
    await attempted(key, id, "pending")
    const { failure_code, id: delivery_id, response_status } = await deliveryOf(key, id)
    assert.deepStrictEqual([failure_code, response_status], ["connection_refused", null])
    const reconnected = untilReconnected()
    await server.start()
    // The client of the service reconnects sooner, after half a second.
    await reconnected
    await service.request("POST", `/v1/webhooks/${id}/deliveries/${delivery_id}/retry`, { key, ...idempotency() })
    await attempted(key, id, "succeeded")
    assert.strictEqual(await countOf(subjectOf(organization.id)), 2)
  })

  it("publishes replayed events again, of which the stream discards those that it has", async () => {
    const { key, organization } = await service.organization()
    const { id } = await subscribe(organization.id)
    await createContact(key)
    await attempted(key, id, "succeeded")
    const replay = async () => {
      const since = new Date(Date.now() - 60_000).toISOString()
      await service.request("POST", `/v1/webhooks/${id}/replay`, { key, json: { since }, ...idempotency() })
      for (let round = 0; round < 5; round++) await runWorker()
    }
    const subject = subjectOf(organization.id)
    await replay()
    assert.strictEqual(await countOf(subject), 1)
    await emptyStream()
    assert.strictEqual(await countOf(subject), 0)
    await replay()
    assert.strictEqual(await countOf(subject), 1)
  })
})

describe("an API key", () => {
  it("cannot choose a subject, and can manage the operator's webhook otherwise", async () => {
    const { key, organization } = await service.organization()
    const { id } = await subscribe(organization.id)
    const url = `nats://${subjectOf(organization.id)}`
    const json = { url, event_types: ["contact.created"] }
    for (
      const rejected of [
        await service.request("POST", "/v1/webhooks", { key, json, ...idempotency() }),
        await service.request("PATCH", `/v1/webhooks/${id}`, { key, json: { url }, ...idempotency() })
      ]
    ) {
      assert.deepStrictEqual([rejected.status, rejected.body.error.param], [400, "url"])
    }
    const { body } = await service.request("GET", `/v1/webhooks/${id}`, { key })
    assert.strictEqual(body.data.url, url)
    await service.request("POST", `/v1/webhooks/${id}/test`, { key, ...idempotency() })
    await attempted(key, id, "succeeded")
    const disabled = await service.request("DELETE", `/v1/webhooks/${id}`, { key, ...idempotency() })
    assert.strictEqual(disabled.body.data.status, "disabled")
  })
})

describe("an attempt", () => {
  const post = async (address: string, requests: ReadonlyArray<Parameters<Destination["post"]>[0]>) => {
    const scope = Scope.makeUnsafe()
    const { post } = await Effect.runPromise(Effect.provideService(make({ servers: [address] }), Scope.Scope, scope))
    const outcomes = await Effect.runPromise(Effect.forEach(requests, (request) => Effect.result(post(request))))
    await Effect.runPromise(Scope.close(scope, Exit.void))
    return outcomes.map((outcome) =>
      outcome._tag === "Success" ? [outcome.success.status, outcome.success.body] : [outcome.failure.failure_code]
    )
  }

  const request = (url: string, text = "") => ({
    url,
    headers: { "webhook-id": "e1" },
    body: JSON.stringify({ type: "message.sent", text })
  })

  it("that is repeated stores the event once", async () => {
    const outcomes = await post(server.address, [request("nats://crm.acme"), request("nats://crm.acme")])
    assert.deepStrictEqual(outcomes, [
      [200, JSON.stringify({ stream, seq: 1, duplicate: false })],
      [200, JSON.stringify({ stream, seq: 1, duplicate: true })]
    ])
    assert.strictEqual(await countOf("crm.acme"), 1)
  })

  it("has the status of what NATS rejects", async () => {
    assert.deepStrictEqual(
      await post(server.address, [request("nats://other"), request("nats://crm.acme", "x".repeat(2_000_000))]),
      [[503, "No stream stores the subject."], [413, "The event exceeds the maximum size of NATS."]]
    )
    await manager.streams.update(stream, { max_msg_size: 10 })
    const [[status, body] = []] = await post(server.address, [request("nats://crm.acme")])
    assert.deepStrictEqual([status, body], [400, "message size exceeds maximum allowed"])
  })

  it("fails without a server, and with wrong credentials", async () => {
    assert.deepStrictEqual(await post("nats://127.0.0.1:1", [request("nats://crm")]), [["connection_refused"]])
    assert.deepStrictEqual(await post("nats://nats.invalid:4222", [request("nats://crm")]), [["dns_error"]])
    assert.deepStrictEqual(
      await post(server.address.replace("p%40ss", "wrong"), [request("nats://crm")]),
      [[401, "NATS rejected the credentials."]]
    )
  })
})
