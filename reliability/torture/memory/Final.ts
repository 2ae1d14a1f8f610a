/** The final state of a run in memory. */
import type { SendId, WebhookId } from "@messaging-crm/core/Ids"
import { SendStore } from "@messaging-crm/core/Sends"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookStore } from "@messaging-crm/core/Webhooks"
import { Effect, Option } from "effect"
import type { TestOrganization } from "../../../packages/server/testing/TestOrganization.ts"
import { type Page, readAudit, readLists, toJson } from "../FinalState.ts"
import type { FinalState } from "../History.ts"
import type { Handler } from "./Service.ts"

const rows_max = 100_000

const get = (handler: Handler, key: string) => (path: string) =>
  Effect.promise(async (): Promise<Page> => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await handler(new Request(`http://localhost/v1${path}`, { headers }))
    return response.json()
  })

/** Reads the webhooks and their deliveries from the stores, because the API lists the 100 most recent. */
const readWebhooks = Effect.fnUntraced(function*({ organization_id }: TestOrganization) {
  const webhooks = toJson(yield* WebhookStore.use((store) => store.list(organization_id, { status: null }, rows_max)))
  const deliveries = yield* Effect.forEach(webhooks, ({ id }) =>
    Effect.map(
      WebhookDeliveryStore.use((store) => store.list(organization_id, id as WebhookId, rows_max)), // the store returns IDs
      (rows) => [String(id), toJson(rows)] as const
    ))
  return { webhooks, deliveries: Object.fromEntries(deliveries) }
})

/** Reads everything that is stored. */
export const readFinal = Effect.fnUntraced(function*(handler: Handler, organization: TestOrganization) {
  const { as, key, organization_id } = organization
  const lists = yield* readLists(get(handler, key))
  const loaded = yield* Effect.forEach(
    lists.sends,
    ({ id }) => SendStore.use((store) => store.load(organization_id, id as SendId)) // the API returns IDs
  )
  return {
    ...lists,
    ...yield* readWebhooks(organization),
    uncertain_sends: loaded.flatMap(Option.toArray).flatMap(({ send }) => send.may_be_sent ? [send.id] : []),
    audit: yield* as(readAudit)
  } satisfies FinalState
})
