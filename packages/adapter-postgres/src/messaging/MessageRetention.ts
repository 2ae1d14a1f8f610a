import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { date } from "../database/Columns.ts"
import { count } from "../database/Rows.ts"
import { withoutResources } from "../webhooks/Events.ts"

/** Removes sends. It waits for locked ones and skips none, because a message is removed only after the sends that name it. */
const purgeSends = (sql: SqlClient.SqlClient, before: Timestamp, limit: number) =>
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

/** The messages to remove, and their conversations. */
const found = (sql: SqlClient.SqlClient, before: Timestamp, limit: number) =>
  sql`
    found AS MATERIALIZED (
      SELECT organization_id, conversation_id, id, channel_id, provider_message_id, (media ->> 'id')::uuid AS media_id
      FROM messages
      WHERE created_at < ${date(before)}
      ORDER BY created_at
      LIMIT ${limit}
    ), threads AS MATERIALIZED (
      SELECT v.organization_id, v.id, v.contact_id
      FROM (SELECT DISTINCT organization_id, conversation_id FROM found) f
      JOIN conversations v ON v.organization_id = f.organization_id AND v.id = f.conversation_id
    )
  `

/** Locks on all rows that the statement changes, in the order of `lock_order`. */
const locks = (sql: SqlClient.SqlClient, before: Timestamp) =>
  sql`
    provider_ids AS MATERIALIZED (
      SELECT p.organization_id, p.channel_id, p.provider_message_id
      FROM found f
      JOIN provider_messages p ON p.organization_id = f.organization_id AND p.channel_id = f.channel_id
        AND p.provider_message_id = f.provider_message_id AND p.message_id = f.id
      ORDER BY p.organization_id, p.channel_id, p.provider_message_id
      FOR UPDATE OF p
    ), contact_previews AS MATERIALIZED (
      SELECT c.organization_id, c.id
      FROM (SELECT DISTINCT organization_id, contact_id FROM threads) t
      JOIN contacts c ON c.organization_id = t.organization_id AND c.id = t.contact_id
      WHERE c.last_activity_at < ${date(before)} AND c.last_activity_preview IS NOT NULL
        AND (SELECT count(*) FROM provider_ids) >= 0
      ORDER BY c.organization_id, c.id
      FOR NO KEY UPDATE OF c
    ), conversation_previews AS MATERIALIZED (
      SELECT v.organization_id, v.id
      FROM threads t
      JOIN conversations v ON v.organization_id = t.organization_id AND v.id = t.id
      WHERE v.last_activity_at < ${date(before)} AND v.last_activity_preview IS NOT NULL
        AND (SELECT count(*) FROM contact_previews) >= 0
      ORDER BY v.organization_id, v.id
      FOR NO KEY UPDATE OF v
    ), locked AS MATERIALIZED (
      SELECT m.organization_id, m.conversation_id, m.id
      FROM found f
      JOIN messages m ON m.organization_id = f.organization_id AND m.conversation_id = f.conversation_id AND m.id = f.id
      WHERE (SELECT count(*) FROM conversation_previews) >= 0
      ORDER BY m.organization_id, m.conversation_id, m.id
      FOR UPDATE OF m
    )
  `

/** The changes in addition to the deletion of the messages. */
const removals = (sql: SqlClient.SqlClient, before: Timestamp) =>
  sql`
    files AS (
      DELETE FROM media m
      USING found f
      WHERE m.organization_id = f.organization_id AND m.id = f.media_id AND (SELECT count(*) FROM locked) >= 0
    ), ids_removed AS (
      DELETE FROM provider_messages p
      USING provider_ids i
      WHERE p.organization_id = i.organization_id AND p.channel_id = i.channel_id
        AND p.provider_message_id = i.provider_message_id
    ), contacts_cleared AS (
      UPDATE contacts c
      SET last_activity_preview = NULL
      FROM contact_previews p
      WHERE c.organization_id = p.organization_id AND c.id = p.id AND c.last_activity_at < ${date(before)}
    ), conversations_cleared AS (
      UPDATE conversations v
      SET last_activity_preview = NULL
      FROM conversation_previews p
      WHERE v.organization_id = p.organization_id AND v.id = p.id AND v.last_activity_at < ${date(before)}
    ), events AS (
      ${withoutResources(sql, sql`(organization_id, message_id) IN (SELECT organization_id, id FROM locked)`)}
    )
  `

/**
 * Locks all rows before it changes any. A condition on the number of rows that an earlier step locked makes
 * PostgreSQL run that step first.
 */
const purgeMessages = (sql: SqlClient.SqlClient, before: Timestamp, limit: number) =>
  count(sql`
    WITH ${found(sql, before, limit)}, ${locks(sql, before)}, ${removals(sql, before)}
    DELETE FROM messages m
    USING locked l
    WHERE m.organization_id = l.organization_id AND m.conversation_id = l.conversation_id AND m.id = l.id
    RETURNING 1
  `)

/** Layer that removes old messages from PostgreSQL. */
export const layer = Layer.effect(
  MessageRetentionStore,
  SqlClient.SqlClient.useSync((sql) =>
    MessageRetentionStore.of({
      purge: Effect.fnUntraced(function*(before, limit) {
        const sends = yield* purgeSends(sql, before, limit)
        return sends === limit ? sends : sends + (yield* purgeMessages(sql, before, limit - sends))
      })
    })
  )
)
