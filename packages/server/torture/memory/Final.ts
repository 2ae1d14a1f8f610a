/** The final state of a run in memory. */
import { Audit } from "@messaging-crm/core/Audit"
import type { SendId, WebhookId } from "@messaging-crm/core/Ids"
import { SendStore } from "@messaging-crm/core/Sends"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookStore } from "@messaging-crm/core/Webhooks"
import { Effect, Option } from "effect"
import type { TestOrganization } from "../../testing/TestOrganization.ts"
import type { FinalState, Resource } from "../History.ts"
import type { Handler } from "./Service.ts"

const rows_max = 100_000

const noFilter = { resource_id: null, key_id: null, member_id: null, before: null }

interface Page {
  readonly data: ReadonlyArray<Resource>
  readonly next_cursor: string | null
}

/** Reads every page of a list. */
const list = (handler: Handler, key: string, path: string) =>
  Effect.promise(async () => {
    const rows: Array<Resource> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const query: string = cursor === "" ? "" : `${path.includes("?") ? "&" : "?"}cursor=${cursor}`
      const headers = { authorization: `Bearer ${key}` }
      const response = await handler(new Request(`http://localhost/v1${path}${query}`, { headers }))
      const page: Page = await response.json()
      rows.push(...page.data)
      cursor = page.next_cursor
    }
    return rows
  })

/** Converts rows to JSON, in which times are texts. */
const toJson = (value: unknown): ReadonlyArray<Resource> => JSON.parse(JSON.stringify(value))

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
  const all = (path: string) => list(handler, key, path)
  const conversations = yield* all("/conversations")
  const sends = yield* all("/sends")
  const loaded = yield* Effect.forEach(
    sends,
    ({ id }) => SendStore.use((store) => store.load(organization_id, id as SendId)) // the API returns IDs
  )
  const messages = yield* Effect.forEach(
    conversations,
    ({ id }) => Effect.map(all(`/conversations/${id}/messages`), (rows) => [String(id), rows] as const)
  )
  return {
    ...yield* readWebhooks(organization),
    contacts: yield* all("/contacts"),
    tags: yield* all("/tags"),
    conversations,
    messages: Object.fromEntries(messages),
    sends,
    uncertain_sends: loaded.flatMap(Option.toArray).flatMap(({ send }) => send.may_be_sent ? [send.id] : []),
    events: yield* all("/events"),
    audit: toJson(yield* as(Audit.use((audit) => audit.list(noFilter, rows_max))))
  } satisfies FinalState
})
