import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { limits } from "@messaging-crm/core/Limits"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"

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
