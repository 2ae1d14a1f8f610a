import { type IdempotencyKey, IdempotencyStore, RequestProcessing } from "@messaging-crm/core/Idempotency"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { UnitOfWork } from "@messaging-crm/core/UnitOfWork"
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { date } from "./Columns.ts"

const Row = Schema.Struct({
  fingerprint: Schema.String,
  status: Schema.Int,
  body: Schema.Uint8Array,
  sealed: Schema.Boolean,
  request_id: Schema.String
})

/** Layer that keeps used idempotency keys in PostgreSQL. */
export const layer = Layer.effect(
  IdempotencyStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const { transact } = yield* UnitOfWork

    const find = SqlSchema.findOneOption({
      Request: Schema.Struct({ organization_id: OrganizationId, key: Schema.String }),
      Result: Row,
      execute: ({ key, organization_id }) =>
        sql`
          SELECT fingerprint, status, body, sealed, request_id
          FROM idempotency_keys
          WHERE organization_id = ${organization_id} AND key = ${key}
        `
    })

    /** Takes the key until the transaction ends, or answers false at once. Never in the statement that reads: its snapshot would predate the lock. */
    const tryLock = (organization_id: OrganizationId, key: IdempotencyKey) =>
      sql<{ readonly locked: boolean }>`
        SELECT pg_try_advisory_xact_lock(
          ('x' || substr(encode(sha256(convert_to(${`${organization_id} ${key}`}, 'UTF8')), 'hex'), 1, 16))::bit(64)::bigint
        ) AS locked
      `.pipe(Effect.map((rows) => rows[0]?.locked === true), Effect.orDie)

    return IdempotencyStore.of({
      exclusively: <A, E, R>(organization_id: OrganizationId, key: IdempotencyKey, effect: Effect.Effect<A, E, R>) =>
        transact(
          Effect.flatMap(
            tryLock(organization_id, key),
            (locked): Effect.Effect<A, E | RequestProcessing, R> =>
              locked ? effect : Effect.fail(new RequestProcessing())
          )
        ),
      find: (organization_id, key) => Effect.orDie(find({ organization_id, key })),
      insert: (organization_id, key, record, created_at) =>
        sql`
          INSERT INTO idempotency_keys ${sql.insert({ ...record, organization_id, key, created_at: date(created_at) })}
        `.pipe(Effect.orDie, Effect.asVoid),
      purge: (before, limit) =>
        sql`
          DELETE FROM idempotency_keys
          WHERE ctid = ANY(ARRAY(
            SELECT ctid
            FROM idempotency_keys
            WHERE created_at < ${date(before)}
            ORDER BY created_at
            LIMIT ${limit}
          ))
          RETURNING key
        `.pipe(Effect.map((removed) => removed.length), Effect.orDie)
    })
  })
)
