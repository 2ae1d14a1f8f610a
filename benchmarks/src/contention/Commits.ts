/** The time that PostgreSQL needs for the commit of an event, without webhooks and with as many as an organization may have. */
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import * as Provider from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { WorkSignal } from "@messaging-crm/core/WorkQueue"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { median } from "../harness/Percentiles.ts"
import * as Statements from "../harness/Statements.ts"

/** The number of rounds, of which the first ones are not measured, and of commits of each organization in a round. */
const [rounds, warm_up_rounds, commits] = [24, 4, 50]

const service = Crm.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Postgres.layer, Provider.layer("callback_ref"), Ids.layer, WorkSignal.layer))
)

/** Creates an organization with active webhooks, and returns the function that updates its contact. */
const organizationWith = Effect.fnUntraced(function*(webhooks: number) {
  const organization_id = yield* Fixtures.organization
  const { id } = yield* Fixtures.contact(organization_id)
  yield* Effect.replicateEffect(Fixtures.webhook(organization_id, { event_types: ["contact.updated"] }), webhooks)
  return (job_title: string) =>
    Contacts.use((contacts) => contacts.update(id, UpdateContact.make({ job_title }))).pipe(
      Effect.provideService(CurrentActor, { organization_id, member_id: null })
    )
})

/** Returns the time of a commit in PostgreSQL, in microseconds. */
const readCommitTime = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly us: number }>`
    SELECT (sum(total_exec_time + total_plan_time) * 1000 / sum(calls))::float8 AS us
    FROM pg_stat_statements
    WHERE toplevel AND query LIKE '%events_raised%' AND query NOT LIKE '%pg_stat_statements%'
  `
).pipe(Effect.map(([row]) => row?.us ?? NaN))

/** Commits events of both organizations in turn, and compares the medians of their times. No worker runs meanwhile. */
export const commitTimes = Effect.gen(function*() {
  const webhooks = [0, limits.webhooks_active_max]
  const organizations = yield* Effect.forEach(webhooks, organizationWith)
  const times = webhooks.map((): Array<number> => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, update] of organizations.entries()) {
      yield* Statements.reset
      for (let number = 0; number < commits; number++) yield* update(`${round} ${number}`)
      const us = yield* readCommitTime
      if (round >= warm_up_rounds) times[index]?.push(us)
    }
  }
  // The worker of the other measurements must not expand these events.
  yield* SqlClient.SqlClient.use((sql) => sql`DELETE FROM work`)
  const [without_us = NaN, with_us = NaN] = times.map(median)
  return {
    webhooks: limits.webhooks_active_max,
    without_us: Math.round(without_us),
    with_us: Math.round(with_us),
    ratio: Math.round(with_us / without_us * 100) / 100
  }
}).pipe(Effect.provide(service))
