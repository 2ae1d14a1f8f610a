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
        SELECT count(*)::integer AS rows, count(DISTINCT (d.xmin::text, d.cmin::text))::integer AS statements
        FROM webhook_deliveries d WHERE d.organization_id = ${organization_id}`
      assert.deepStrictEqual(deliveries, { rows: limits.webhooks_active_max, statements: 1 })
      const together = yield* sql`
        SELECT DISTINCT w.xmin::text AS transaction, w.cmin::text AS command FROM webhook_deliveries w
        WHERE w.organization_id = ${organization_id}
        UNION SELECT c.xmin::text, c.cmin::text FROM conversations c WHERE c.id = ${conversation_id}
        UNION SELECT e.xmin::text, e.cmin::text FROM webhook_events e WHERE e.organization_id = ${organization_id}
          AND e.type = 'conversation.closed'
        UNION SELECT q.xmin::text, q.cmin::text FROM work q WHERE q.organization_id = ${organization_id}`
      assert.lengthOf(together, 1)
    }))
})
