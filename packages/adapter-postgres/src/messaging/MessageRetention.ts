import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { date } from "../database/Columns.ts"
import { count } from "../database/Rows.ts"

/** Layer that removes old messages from PostgreSQL. */
export const layer = Layer.effect(
  MessageRetentionStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const purgeSends = (before: Timestamp, limit: number) =>
      count(sql`
        DELETE FROM sends
        WHERE ctid = ANY(ARRAY(
          SELECT ctid
          FROM sends
          WHERE created_at < ${date(before)} AND status IN ('sent', 'failed')
          ORDER BY created_at
          LIMIT ${limit}
        ))
        RETURNING 1
      `)

    const purgeMessages = (before: Timestamp, limit: number) =>
      count(sql`
        WITH found AS MATERIALIZED (
          SELECT organization_id, conversation_id, id, channel_id, provider_message_id, (media ->> 'id')::uuid AS media_id
          FROM messages
          WHERE created_at < ${date(before)}
          ORDER BY created_at
          LIMIT ${limit}
        ), threads AS (
          SELECT v.organization_id, v.id, v.contact_id
          FROM (SELECT DISTINCT organization_id, conversation_id FROM found) f
          JOIN conversations v ON v.organization_id = f.organization_id AND v.id = f.conversation_id
        ), provider_ids AS (
          DELETE FROM provider_messages p
          USING found f
          WHERE p.organization_id = f.organization_id AND p.channel_id = f.channel_id
            AND p.provider_message_id = f.provider_message_id AND p.message_id = f.id
        ), contact_previews AS (
          UPDATE contacts c
          SET last_activity_preview = NULL
          FROM (SELECT DISTINCT organization_id, contact_id FROM threads) t
          WHERE c.organization_id = t.organization_id AND c.id = t.contact_id
            AND c.last_activity_at < ${date(before)} AND c.last_activity_preview IS NOT NULL
        ), conversation_previews AS (
          UPDATE conversations v
          SET last_activity_preview = NULL
          FROM threads t
          WHERE v.organization_id = t.organization_id AND v.id = t.id
            AND v.last_activity_at < ${date(before)} AND v.last_activity_preview IS NOT NULL
        ), files AS (
          DELETE FROM media m
          USING found f
          WHERE m.organization_id = f.organization_id AND m.id = f.media_id
        )
        DELETE FROM messages m
        USING found f
        WHERE m.organization_id = f.organization_id AND m.conversation_id = f.conversation_id AND m.id = f.id
        RETURNING 1
      `)

    return MessageRetentionStore.of({
      purge: Effect.fnUntraced(function*(before, limit) {
        const sends = yield* purgeSends(before, limit)
        return sends === limit ? sends : sends + (yield* purgeMessages(before, limit - sends))
      })
    })
  })
)
