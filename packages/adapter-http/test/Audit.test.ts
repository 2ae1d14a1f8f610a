/** Tests of the audit records of requests: one for each write, and for each response that shows a resource as it is. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys } from "@messaging-crm/core/ApiKeys"
import { Audit } from "@messaging-crm/core/Audit"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { operations } from "../testing/Operations.ts"
import { idempotency, orderReady, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

const newest = { resource_id: null, key_id: null, member_id: null, before: null }

it("every operation that writes leaves one record: the key, its member, the resource and the request", async () => {
  const { channel, key, organization, owner } = await service.organization()
  const operator = { organization_id: organization.id, member_id: null }
  const run = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provideService(effect, CurrentActor, operator) as Effect.Effect<A, E, never>
  const [used] = await service.runtime.runPromise(run(ApiKeys.use((keys) => keys.list)))
  const records = () => service.runtime.runPromise(run(Audit.use((audit) => audit.list(newest, 100))))
  const written = new Set<string>()

  /** Sends a write, and compares the records that it left with those expected. */
  const leaves = async (
    method: string,
    path: string,
    expected: ReadonlyArray<readonly [operation: string, resource_id?: string]>,
    json: unknown = undefined,
    fill: Readonly<Record<string, string>> = {}
  ) => {
    written.add(`${method} ${path}`)
    const before = await records()
    const url = path.replace(/:(\w+)/g, (_, name: string) => fill[name] ?? "")
    const id = `req-${written.size}-${globalThis.crypto.randomUUID()}`
    const { headers } = idempotency()
    const send = () =>
      service.request(method, url, {
        key,
        headers: { ...headers, "x-request-id": id },
        ...(json === undefined ? {} : { json })
      })
    const response = await send()
    assert.isBelow(response.status, 300, response.text)
    // A retry gets the recorded response and changes nothing.
    if (path !== "/v1/webhooks/:webhook_id/deliveries/:delivery_id/retry") await send()
    const left = (await records()).slice(0, -before.length)
    assert.deepStrictEqual(
      left.map(({ id: _id, at: _at, ...record }) => record),
      expected.map(([operation, resource_id = response.body.data.id]) => ({
        operation: operation as (typeof left)[number]["operation"],
        resource_id,
        key_id: used?.id ?? null,
        member_id: owner.id,
        request_id: id
      }))
    )
    return response.body.data
  }

  await leaves("POST", "/v1/tags", [["tags.create"]], { name: "VIP", color: "red" })
  const contact = await leaves("POST", "/v1/contacts", [["contacts.create"]], { first_name: "Kim" })
  const of = { contact_id: contact.id }
  await leaves("PATCH", "/v1/contacts/:contact_id", [["contacts.update"]], { company: "Brick" }, of)
  // The responses to a write that changes nothing and to its retry show the resource as it is.
  await leaves("PATCH", "/v1/contacts/:contact_id", [["contacts.update"], ["contacts.update"]], {}, of)
  await leaves("POST", "/v1/contacts/:contact_id/notes", [["contacts.add_note"]], { text: "called" }, of)
  const webhook = await leaves("POST", "/v1/webhooks", [["webhooks.create"]], {
    url: "https://shop.example/crm",
    event_types: ["message.sent"]
  })
  const { conversation_id, id: send_id } = await leaves("POST", "/v1/conversations", [["sends.start"]], {
    channel_id: channel.id,
    phone: "+4915112345678",
    template: orderReady(channel)
  })
  await service.until(async () =>
    (await service.request("GET", `/v1/sends/${send_id}`, { key })).body.data.status === "sent"
  )
  const deliveries = `/v1/webhooks/${webhook.id}/deliveries`
  await service.until(async () =>
    (await service.request("GET", deliveries, { key })).body.data[0]?.status !== "pending"
  )
  const [delivery] = (await service.request("GET", deliveries, { key })).body.data
  const to = { webhook_id: webhook.id, delivery_id: delivery.id, conversation_id }
  const again = "/v1/webhooks/:webhook_id/deliveries/:delivery_id/retry"
  await leaves("POST", again, [["webhook_deliveries.retry", delivery.id]], undefined, to)
  const template = {
    type: "template",
    template: orderReady(channel)
  }
  const conversation = "/v1/conversations/:conversation_id"
  await leaves("POST", `${conversation}/messages`, [["sends.send"]], template, to)
  await leaves("PATCH", `${conversation}/assignment`, [["conversations.assign"]], { assigned_user_id: owner.id }, to)
  await leaves("POST", `${conversation}/close`, [["conversations.close"]], {}, to)
  await leaves("POST", `${conversation}/close`, [["conversations.close"], ["conversations.close"]], {}, to)
  await leaves("POST", `${conversation}/reopen`, [["conversations.reopen"]], undefined, to)
  await leaves("PATCH", "/v1/webhooks/:webhook_id", [["webhooks.update"]], { event_types: ["send.failed"] }, to)
  await leaves("PATCH", "/v1/webhooks/:webhook_id", [["webhooks.update"], ["webhooks.update"]], {}, to)
  await leaves("POST", "/v1/webhooks/:webhook_id/test", [["webhooks.test"]], undefined, to)
  const since = new Date().toISOString()
  await leaves("POST", "/v1/webhooks/:webhook_id/replay", [["webhooks.replay"]], { since }, to)
  await leaves("POST", "/v1/webhooks/:webhook_id/rotate_secret", [["webhooks.rotate_secret"]], undefined, to)
  await leaves("DELETE", "/v1/webhooks/:webhook_id", [["webhooks.disable"]], undefined, to)

  // Each contact of an upsert leaves a record of its own.
  const single = operations.filter(({ path }) => path !== "/v1/contacts/upsert")
  const writes = single.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`)
  assert.deepStrictEqual(Array.from(written).toSorted(), writes.toSorted())
  const whole = await records()

  // An operator has no key, and what comes in by itself leaves no record.
  const added = await service.runtime.runPromise(
    run(Members.use((members) => members.add(AddMember.make({ name: "Bo", email: "bo@acme.example", role: "member" }))))
  )
  const [last, ...others] = await records()
  assert.deepStrictEqual(others, whole)
  assert.deepStrictEqual(
    [last?.operation, last?.resource_id, last?.key_id, last?.member_id, last?.request_id],
    ["members.add", added.id, null, null, null]
  )
})
