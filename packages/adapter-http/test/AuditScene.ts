/** An organization with its audit records, and with the resources that the paths of writes name. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys } from "@messaging-crm/core/ApiKeys"
import { Audit } from "@messaging-crm/core/Audit"
import { Effect } from "effect"
import { idempotency, orderReady, type start } from "../testing/Service.ts"

const newest = { resource_id: null, key_id: null, member_id: null, before: null }

/** Creates an organization with a contact, a conversation, a webhook, and a finished delivery. */
export const makeScene = async (service: ReturnType<typeof start>) => {
  const { channel, key, organization, owner } = await service.organization()
  const operator = { organization_id: organization.id, member_id: null }
  /** Runs an effect of the runtime's services as an operator of the organization. */
  const run = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    service.runtime.runPromise(Effect.provideService(effect, CurrentActor, operator) as Effect.Effect<A, E, never>)
  const get = async (path: string) => (await service.request("GET", path, { key })).body.data
  const create = async (path: string, json: unknown) =>
    (await service.request("POST", path, { key, json, ...idempotency() })).body.data

  const [used] = await run(ApiKeys.use((keys) => keys.list))
  const records = () => run(Audit.use((audit) => audit.list(newest, 100)))
  const contact = await create("/v1/contacts", { first_name: "Kim" })
  const webhook = await create("/v1/webhooks", { url: "https://shop.example/crm", event_types: ["message.sent"] })
  const template = orderReady(channel)
  const send = await create("/v1/conversations", { channel_id: channel.id, phone: "+4915100000007", template })
  const written = await records()
  await service.until(async () => (await get(`/v1/sends/${send.id}`)).status === "sent")
  const deliveries = () => get(`/v1/webhooks/${webhook.id}/deliveries`)
  await service.until(async () => ![undefined, "pending"].includes((await deliveries())[0]?.status))
  const [delivery] = await deliveries()
  const ids: Readonly<Record<string, string>> = {
    contact_id: contact.id,
    conversation_id: send.conversation_id,
    delivery_id: delivery.id,
    webhook_id: webhook.id
  }
  return { channel, ids, key, key_id: used?.id ?? null, owner, records, run, written }
}

export type Scene = Awaited<ReturnType<typeof makeScene>>
