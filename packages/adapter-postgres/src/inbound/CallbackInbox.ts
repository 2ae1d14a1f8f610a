import { CallbackStore, StoredCallback } from "@messaging-crm/core/CallbackInbox"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { makeCommitOrTransactionClient } from "../database/CommitConnections.ts"
import { date, first, OptionalAt, rows, stored } from "../database/RowCodecs.ts"

const callbacks = rows(Schema.Struct({ ...stored(StoredCallback).fields, is_behind: Schema.Boolean }))

const backlog = first(Schema.Struct({ count: Schema.Int, oldest_received_at: OptionalAt }))

/**
 * Makes the function that loads claimed callbacks.
 *
 * `waiting` has the bodies that another claim has or that are due later. It is limited, so that a claim stays fast while very
 * many bodies wait for their files.
 */
const makeLoad = Effect.gen(function*() {
  // On these connections, a statement uses indexes even if its plan was made while the tables were empty.
  const claiming = yield* makeCommitOrTransactionClient

  const load: CallbackStore["Service"]["load"] = Effect.fnUntraced(function*(claimed, { now, ordered_since }) {
    const client = yield* claiming
    const lanes = Array.from(new Set(claimed.map(({ kind, lane }) => `${kind}:${lane}`)))
    const found = yield* callbacks(client`
      WITH item AS MATERIALIZED (
        SELECT waiting.ref
        FROM unnest(${lanes}::text[]) AS lane (name)
        CROSS JOIN LATERAL (
          (
            SELECT ref
            FROM work
            WHERE lane_name = lane.name AND leased_until IS NOT NULL AND token <> ${claimed[0]?.token ?? null}::uuid
            ORDER BY leased_until
          )
          UNION ALL
          (
            SELECT ref
            FROM work
            WHERE lane_name = lane.name AND leased_until IS NULL AND due_at > ${date(now)}
            ORDER BY due_at, seq
            LIMIT 1000
          )
        ) waiting
      ), waiting AS MATERIALIZED (
        SELECT id, organization_id, channel_id, people
        FROM provider_callbacks
        WHERE id = ANY(ARRAY(SELECT ref FROM item)) AND received_at > ${date(ordered_since)}
      )
      SELECT id, source, channel_id, people, body, received_at, EXISTS (
        SELECT FROM waiting earlier
        WHERE earlier.organization_id = callback.organization_id AND earlier.channel_id = callback.channel_id
          AND earlier.id < callback.id
          AND earlier.people ?| ARRAY(SELECT jsonb_array_elements_text(callback.people))
      ) AS is_behind
      FROM provider_callbacks callback
      WHERE id = ANY(${claimed.map(({ ref }) => ref)}::uuid[])
    `)
    const byId = new Map(found.map(({ is_behind, ...callback }) => [callback.id, { callback, is_behind }]))
    return claimed.map(({ ref }) => Option.fromUndefinedOr(byId.get(ref)))
  })
  return load
})

/** Layer that reads bodies of callbacks in PostgreSQL. */
export const layer = Layer.effect(
  CallbackStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    return CallbackStore.of({
      load: yield* makeLoad,
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
