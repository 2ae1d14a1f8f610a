/** Tests of the audit records of requests: one for each write, and for each response that shows a resource as it is. */
import { assert, describe, it } from "@effect/vitest"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { afterAll } from "vitest"
import { operations } from "../testing/Operations.ts"
import { idempotency, orderReady, start } from "../testing/Service.ts"
import { makeScene, type Scene } from "./AuditScene.ts"

const service = start()
afterAll(() => service.stop())

type Write = readonly [endpoint: string, operation: string, json?: (scene: Scene) => unknown]

const [contact, conversation, webhook] = [
  "/v1/contacts/:contact_id",
  "/v1/conversations/:conversation_id",
  "/v1/webhooks/:webhook_id"
]
const close: Write = [`POST ${conversation}/close`, "conversations.close", () => ({})]
const reopen: Write = [`POST ${conversation}/reopen`, "conversations.reopen"]
const retryDelivery: Write = [`POST ${webhook}/deliveries/:delivery_id/retry`, "webhook_deliveries.retry"]

/** Writes that change something, in the state of a new scene. */
const changes: ReadonlyArray<Write> = [
  ["POST /v1/tags", "tags.create", () => ({ name: "VIP", color: "red" })],
  ["POST /v1/contacts", "contacts.create", () => ({ first_name: "Kim" })],
  [`PATCH ${contact}`, "contacts.update", () => ({ company: "Brick" })],
  [`POST ${contact}/notes`, "contacts.add_note", () => ({ text: "called" })],
  ["POST /v1/conversations", "sends.start", ({ channel }) => ({
    channel_id: channel.id,
    phone: "+4915112345679",
    template: orderReady(channel)
  })],
  [`POST ${conversation}/messages`, "sends.send", ({ channel }) => ({
    type: "template",
    template: orderReady(channel)
  })],
  [`PATCH ${conversation}/assignment`, "conversations.assign", ({ owner }) => ({ assigned_user_id: owner.id })],
  close,
  ["POST /v1/webhooks", "webhooks.create", () => ({
    url: "https://shop.example/crm",
    event_types: ["message.sent"]
  })],
  [`PATCH ${webhook}`, "webhooks.update", () => ({ event_types: ["send.failed"] })],
  [`POST ${webhook}/test`, "webhooks.test"],
  [`POST ${webhook}/replay`, "webhooks.replay", () => ({ since: new Date().toISOString() })],
  [`POST ${webhook}/rotate_secret`, "webhooks.rotate_secret"],
  [`DELETE ${webhook}`, "webhooks.disable"],
  retryDelivery
]

/** Sends a request, with the IDs of the scene in its path. */
const send = ({ ids, key }: Scene, endpoint: string, json: unknown, headers: Readonly<Record<string, string>>) => {
  const [method = "", path = ""] = endpoint.split(" ")
  const url = path.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? "")
  return service.request(method, url, { key, headers, ...(json === undefined ? {} : { json }) })
}

/** Sends a write twice with one idempotency key, and asserts that this leaves one record of it. */
const expectRecord = async (scene: Scene, write: Write) => {
  const [endpoint, operation, body] = write
  const before = await scene.records()
  const request_id = `req-${globalThis.crypto.randomUUID()}`
  const headers = { ...idempotency().headers, "x-request-id": request_id }
  const json = body?.(scene)
  const response = await send(scene, endpoint, json, headers)
  assert.isBelow(response.status, 300, response.text)
  await send(scene, endpoint, json, headers)
  const left = (await scene.records()).slice(0, -before.length)
  const record = {
    operation: operation as (typeof left)[number]["operation"],
    resource_id: write === retryDelivery ? scene.ids["delivery_id"] : response.body.data.id,
    key_id: scene.key_id,
    member_id: scene.owner.id,
    request_id
  }
  assert.deepStrictEqual(left.map(({ id: _id, at: _at, ...rest }) => rest), [record])
}

it("the tests of changes include every operation that writes one resource", () => {
  // Each contact of an upsert leaves a record of its own.
  const single = operations.filter(({ method, path }) => method !== "GET" && path !== "/v1/contacts/upsert")
  const endpoints = [...changes, reopen].map(([endpoint]) => endpoint)
  assert.sameMembers(endpoints, single.map(({ method, path }) => `${method} ${path}`))
})

describe("a change leaves one record of the key, its member, the resource, and the request", () => {
  for (const write of changes) {
    it(write[1], async () => expectRecord(await makeScene(service), write))
  }

  it(reopen[1], async () => {
    const scene = await makeScene(service)
    await send(scene, close[0], {}, idempotency().headers)
    await expectRecord(scene, reopen)
  })
})

describe("a write without a change leaves one record, as its response shows the resource", () => {
  const empty: ReadonlyArray<Write> = [
    [`PATCH ${contact}`, "contacts.update", () => ({})],
    [`PATCH ${webhook}`, "webhooks.update", () => ({})]
  ]
  for (const write of empty) {
    it(write[1], async () => expectRecord(await makeScene(service), write))
  }

  it(close[1], async () => {
    const scene = await makeScene(service)
    await send(scene, close[0], {}, idempotency().headers)
    await expectRecord(scene, close)
  })
})

it("sending, delivering, and receiving leave no record, and a change by an operator leaves one without a key", async () => {
  const { ids, key, records, run, written } = await makeScene(service)
  // The contact of the scene writes back.
  const path = `/v1/conversations/${ids["conversation_id"]}/messages`
  await service.until(async () => (await service.request("GET", path, { key })).body.data.length === 2)
  assert.deepStrictEqual(await records(), written)
  const added = await run(
    Members.use((members) => members.add(AddMember.make({ name: "Bo", email: "bo@acme.example", role: "member" })))
  )
  const [last, ...others] = await records()
  assert.deepStrictEqual(others, written)
  assert.deepStrictEqual(
    [last?.operation, last?.resource_id, last?.key_id, last?.member_id, last?.request_id],
    ["members.add", added.id, null, null, null]
  )
})
