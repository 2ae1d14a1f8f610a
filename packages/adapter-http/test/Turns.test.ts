/** Whose turn it is at the database: each read and write of an organization's data waits as that organization. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { CurrentTurn } from "@messaging-crm/core/Turns"
import { Worker } from "@messaging-crm/core/Worker"
import { Context, Effect, Layer } from "effect"
import { afterAll } from "vitest"
import { idempotency, orderReady, start } from "../testing/Service.ts"

/** The calls of ports for an organization that did not wait as that organization. */
const wrong = new Set<string>()
/** The ports that were called for an organization. */
const called = new Set<string>()
let organizations: ReadonlyArray<string> = []

/** Returns a port whose calls for an organization are compared with the turn in which they wait. */
const checked = (name: string, port: object): object =>
  new Proxy(port, {
    get: (target, method) => {
      const value: unknown = Reflect.get(target, method)
      if (typeof value !== "function") return value
      return (...args: ReadonlyArray<unknown>) => {
        const result: unknown = value.apply(target, args)
        const organization_id = args.find((arg) => organizations.some((id) => id === arg))
        if (organization_id === undefined || !Effect.isEffect(result)) return result
        return Effect.withFiber((fiber) => {
          const call = `${name}.${String(method)}`
          called.add(call)
          if (fiber.getRef(CurrentTurn) !== organization_id) wrong.add(call)
          return result
        })
      }
    }
  })

const storage = Layer.effectContext(Effect.map(Layer.build(Memory.layer), (context) => {
  const services = Array.from(context.mapUnsafe, ([name, service]) => [name, checked(name, service)] as const)
  return Context.makeUnsafe(new Map(services)) as typeof context
}))
const service = start({ storage: storage as typeof Memory.layer })
afterAll(() => service.stop())

it("is that of the organization, in requests, in the worker, and in callbacks", async () => {
  const { channel, key, organization } = await service.organization()
  organizations = [organization.id]
  const request = async (method: string, path: string, json?: unknown) => {
    const response = await service.request(method, `/v1${path}`, { key, json, ...idempotency() })
    assert.isBelow(response.status, 300, response.text)
    return response.body.data
  }
  const { id: webhook } = await request("POST", "/webhooks", {
    url: "https://shop.example/webhook",
    event_types: ["message.sent", "message.updated", "contact.created"]
  })
  await request("POST", "/tags", { name: "vip", color: "red" })
  const contact = await request("POST", "/contacts", { first_name: "Kim", primary_phone: "+4915112345678" })
  const send = await request("POST", "/conversations", {
    channel_id: channel.id,
    phone: contact.primary_phone,
    template: orderReady(channel)
  })
  const isSent = async () => (await request("GET", `/sends/${send.id}`)).status === "sent"
  await service.until(isSent)
  for (
    const path of [
      "/contacts?query=kim",
      `/contacts/${contact.id}`,
      `/conversations/${send.conversation_id}/messages`,
      "/events",
      `/webhooks/${webhook}/deliveries`
    ]
  ) await request("GET", path)
  await request("POST", `/webhooks/${webhook}/replay`, { since: new Date(Date.now() - 60_000).toISOString() })
  await service.runtime.runPromise(Effect.replicateEffect(Worker.use((worker) => worker.runOnce), 5))
  const stores = new Set(Array.from(called, (call) => call.slice(call.lastIndexOf("/") + 1).split(".")[0]))
  assert.includeMembers([...stores], ["ContactStore", "EventStore", "MessageStore", "Rows", "SendStore"])
  assert.isTrue(called.has("@messaging-crm/core/Commit.commit"))
  assert.deepStrictEqual([...wrong], [])
})
