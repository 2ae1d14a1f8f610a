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
        yield* Fixtures.mustCommit(organization_id, Changes.expand(event.id))
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
  it.effect("are written by one statement, after the one that closes the conversation and stores its event", () =>
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
      const writesOf = (table: string) =>
        sql<{ readonly write: string; readonly rows: number }>`
          SELECT (xmin::text, cmin::text)::text AS write, count(*)::integer AS rows
          FROM ${sql(table)} WHERE organization_id = ${organization_id} GROUP BY 1`
      const closing = yield* writesOf("webhook_events")
      assert.deepStrictEqual(closing.map(({ rows }) => rows), [1])
      assert.deepStrictEqual(yield* writesOf("work"), closing)
      const [conversation] = yield* sql`
        SELECT (xmin::text, cmin::text)::text AS write FROM conversations WHERE id = ${conversation_id}`
      assert.deepStrictEqual(conversation?.["write"], closing[0]?.write)

      yield* Fixtures.expandEvents
      const expansion = yield* writesOf("webhook_deliveries")
      assert.deepStrictEqual(expansion.map(({ rows }) => rows), [limits.webhooks_active_max])
      assert.deepStrictEqual(yield* writesOf("work"), expansion)
    }))
})
