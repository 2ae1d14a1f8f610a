/** Reads of one contact while writers wait for another. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Api } from "../harness/Fixtures.ts"
import { summaryOf } from "../harness/Percentiles.ts"
import type * as Service from "../harness/Service.ts"
import { resourceOf } from "./Requests.ts"

/** Locks a contact for a second. */
const lock = (id: string) =>
  SqlClient.SqlClient.use((sql) =>
    sql.withTransaction(
      Effect.andThen(sql`SELECT id FROM contacts WHERE id = ${id} FOR UPDATE`, Effect.sleep("1 second"))
    )
  )

/** Measures reads while writers wait for a locked row. */
export const lockedReads = Effect.fnUntraced(function*(cluster: Service.Cluster) {
  const { acme: { key }, server } = cluster
  const create = (first_name: string) =>
    Effect.flatMap(
      Api.request(server, "POST", "/contacts", {
        key,
        json: { first_name },
        idempotency_key: `locked-reads-${first_name}`
      }),
      resourceOf
    )
  const [locked, other] = [yield* create("locked"), yield* create("other")]
  const read = Effect.gen(function*() {
    const started_at = yield* Clock.currentTimeMillis
    yield* Effect.flatMap(Api.request(server, "GET", `/contacts/${other.id}`, { key }), resourceOf)
    return (yield* Clock.currentTimeMillis) - started_at
  })
  const edit = (number: number) =>
    Api.request(server, "PATCH", `/contacts/${locked.id}`, {
      key,
      json: { city: `${number}` },
      idempotency_key: `locked-reads-edit-${number}`
    })
  const sample = Effect.forEach(Array.from({ length: 8 }, (_, n) => n), () => Effect.replicateEffect(read, 150), {
    concurrency: "unbounded"
  })
  const without_lock = summaryOf((yield* sample).flat())
  const [, , during_lock] = yield* Effect.all([
    Effect.replicateEffect(lock(locked.id), 4, { discard: true }),
    Effect.forEach(Array.from({ length: 12 }, (_, n) => n), edit, { concurrency: "unbounded" }),
    sample
  ], { concurrency: "unbounded" })
  return { without_lock, during_lock: summaryOf(during_lock.flat()) }
})
