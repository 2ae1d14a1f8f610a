import { CallbackStore, type StoredCallback } from "@messaging-crm/core/CallbackInbox"
import { ChannelId } from "@messaging-crm/core/Ids"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { At, date, OptionalAt } from "../database/Columns.ts"
import { makeCommitOrTransactionClient } from "../database/CommitConnections.ts"
import { first, rows, run } from "../database/Rows.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

const claimedCallbacks = rows(Schema.Struct({
  id: Schema.String,
  source: Schema.String,
  channel_id: Schema.NullOr(ChannelId),
  body: Schema.Uint8Array,
  received_at: At,
  attempt: Schema.Int,
  token: Schema.String,
  served: Schema.String
}))

const backlog = first(Schema.Struct({ count: Schema.Int, oldest_received_at: OptionalAt }))

/** Larger bodies share no statement, because it would send the bytes of several as text of twice the size. */
const shared_bytes_max = 65_536

/** The organization of bodies without a connected channel. All of them take turns as one organization. */
const no_organization = "00000000-0000-0000-0000-000000000000"

const organizationOf = (sql: SqlClient.SqlClient, channel_id: Statement.Fragment) =>
  sql`coalesce((SELECT organization_id FROM channels WHERE id = (${channel_id})::uuid), ${no_organization}::uuid)`

/** Inserts one large body, as bytes. */
const insertLarge = (
  sql: SqlClient.SqlClient,
  { body, channel_id, id, people, received_at, source }: StoredCallback
) =>
  run(sql`
    INSERT INTO provider_callbacks (id, source, channel_id, organization_id, people, body, received_at, due_at)
    VALUES (
      ${id}, ${source}, ${channel_id}, ${organizationOf(sql, sql`${channel_id}`)},
      ${JSON.stringify(people)}::jsonb, ${body}, ${date(received_at)}, ${date(received_at)}
    )
  `)

const insertAll = (sql: SqlClient.SqlClient, callbacks: ReadonlyArray<StoredCallback>) => {
  const organization_id = organizationOf(sql, sql`nullif(callback.channel_id, '')`)
  return run(sql`
    INSERT INTO provider_callbacks (id, source, channel_id, organization_id, people, body, received_at, due_at)
    SELECT id, source, nullif(channel_id, '')::uuid, ${organization_id}, people, body, received_at, received_at
    FROM unnest(
      ${callbacks.map(({ id }) => id)}::uuid[],
      ${callbacks.map(({ source }) => source)}::text[],
      ${callbacks.map(({ channel_id }) => channel_id ?? "")}::text[],
      ${callbacks.map(({ people }) => JSON.stringify(people))}::jsonb[],
      ${callbacks.map(({ body }) => body)}::bytea[],
      ${callbacks.map(({ received_at }) => date(received_at))}::timestamptz[]
    ) AS callback (id, source, channel_id, people, body, received_at)
  `)
}

/** Makes the function that inserts the parts of a body. Small ones share a statement with those of other bodies. */
const makeInsert = (sql: SqlClient.SqlClient): CallbackStore["Service"]["insert"] => {
  const insertShared = StatementBatcher.make(
    sql,
    (stored: ReadonlyArray<ReadonlyArray<StoredCallback>>) =>
      Effect.as(insertAll(sql, stored.flat()), stored.map(() => undefined))
  )

  return (callbacks) => {
    const bytes = callbacks.reduce((sum, { body }) => sum + body.byteLength, 0)
    if (bytes <= shared_bytes_max) return insertShared(callbacks)
    return callbacks.length === 1 ? insertLarge(sql, callbacks[0]) : insertAll(sql, callbacks)
  }
}

/** Makes the function that claims callbacks. Each claim begins with the organization after the last one of the previous claim. */
const makeClaim = Effect.gen(function*() {
  // On these connections, a claim uses indexes even if its plan was made while the table was empty.
  const claiming = yield* makeCommitOrTransactionClient
  let served = no_organization

  const claim: CallbackStore["Service"]["claim"] = Effect.fnUntraced(function*(
    { lease_until, limit, now, ordered_since, token }
  ) {
    const client = yield* claiming
    const found = yield* claimedCallbacks(client`
      SELECT id, source, channel_id, body, received_at, attempt, token, served
      FROM claim_callbacks(${served}, ${limit}, ${date(now)}, ${date(lease_until)}, ${token}, ${
      ordered_since === undefined ? "infinity" : date(ordered_since)
    })
    `)
    served = found.at(-1)?.served ?? served
    return found.map(({ served: _served, ...callback }) => callback)
  })
  return claim
})

/** Layer that keeps bodies of callbacks in PostgreSQL. */
export const layer = Layer.effect(
  CallbackStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const finish = StatementBatcher.make(sql, (ids: ReadonlyArray<string>) =>
      Effect.as(
        run(sql`DELETE FROM provider_callbacks WHERE id = ANY(${ids}::uuid[])`),
        ids.map(() => undefined)
      ))

    return CallbackStore.of({
      insert: makeInsert(sql),
      claim: yield* makeClaim,
      finish,
      postpone: ({ id, token }, due_at) =>
        run(sql`
          UPDATE provider_callbacks
          SET due_at = ${date(due_at)}
          WHERE id = ${id} AND token = ${token}
        `),
      backlog: Effect.map(
        backlog(sql`
          SELECT count(*)::int AS count, min(received_at) AS oldest_received_at
          FROM provider_callbacks
        `),
        Option.getOrElse(() => ({ count: 0, oldest_received_at: null }))
      )
    })
  })
)
