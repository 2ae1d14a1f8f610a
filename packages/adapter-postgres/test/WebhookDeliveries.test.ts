import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import * as Changes from "@messaging-crm/core/Changes"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { limits } from "@messaging-crm/core/Limits"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { Context, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"

it.layer(Processes.database, { excludeTestServices: true })("A claim of deliveries", (it) => {
  it.effect("reads no long resources, which are loaded by themselves", () =>
    Effect.gen(function*() {
      const store = yield* WebhookDeliveryStore
      const organization_id = yield* Fixtures.organization
      const to = yield* Fixtures.webhook(organization_id, { include_resource: true })
      const contact = yield* Fixtures.contact(organization_id)
      const raise = Effect.fnUntraced(function*(notes: string) {
        const resource = { name: "contact", value: { notes }, contact_id: contact.id, message_id: null }
        const event = yield* Fixtures.newEvent({ resource })
        yield* Fixtures.mustCommit(organization_id, Changes.raise(event))
        return Fixtures.deliveryOf(event, to).id
      })
      const short = yield* raise("short")
      const long = yield* Effect.replicateEffect(raise("long".repeat(50_000)), 9)
      const claimed = yield* store.claim({
        kind: "webhook_delivery",
        limit: 64,
        now: Fixtures.afterNoon(60),
        lease_until: Fixtures.afterNoon(120),
        token: yield* Fixtures.uuid
      })
      assert.sameMembers(claimed.map(({ claimed: { ref } }) => ref), [short, ...long])
      const read = claimed.filter(({ outgoing }) => outgoing !== null)
      assert.deepStrictEqual(read.map(({ claimed: { ref } }) => ref), [short])
      for (const id of long) {
        const { full_body } = Option.getOrThrow(yield* store.load(organization_id, id))
        assert.include(full_body, "longlong")
      }
    }))
})

it.layer(Processes.database, { excludeTestServices: true })("Deliveries to as many webhooks as there may be", (it) => {
  it.effect("are written by the statement that closes the conversation", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const crm = yield* Processes.startCrm
      const organization_id = yield* Fixtures.organization
      const { conversation_id } = yield* Fixtures.thread(organization_id)
      yield* Effect.replicateEffect(
        Fixtures.webhook(organization_id, { event_types: ["conversation.closed"] }),
        limits.webhooks_active_max
      )
      yield* Context.get(crm, Conversations).close(conversation_id, CloseConversation.make({})).pipe(
        Effect.provideService(CurrentActor, { organization_id, member_id: null })
      )
      // A row shows its transaction and the command in it that wrote it.
      const [deliveries] = yield* sql`
        SELECT count(*)::integer AS rows, count(DISTINCT (delivery.xmin::text, delivery.cmin::text))::integer AS statements
        FROM webhook_deliveries delivery WHERE delivery.organization_id = ${organization_id}`
      assert.deepStrictEqual(deliveries, { rows: limits.webhooks_active_max, statements: 1 })
      const together = yield* sql`
        SELECT DISTINCT delivery.xmin::text AS transaction, delivery.cmin::text AS command FROM webhook_deliveries delivery
        WHERE delivery.organization_id = ${organization_id}
        UNION SELECT conversation.xmin::text, conversation.cmin::text FROM conversations conversation
          WHERE conversation.id = ${conversation_id}
        UNION SELECT event.xmin::text, event.cmin::text FROM webhook_events event
          WHERE event.organization_id = ${organization_id} AND event.type = 'conversation.closed'
        UNION SELECT item.xmin::text, item.cmin::text FROM work item WHERE item.organization_id = ${organization_id}`
      assert.lengthOf(together, 1)
    }))
})
