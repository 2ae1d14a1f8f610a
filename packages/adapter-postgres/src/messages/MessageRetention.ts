import { MessageRetentionStore } from "@messaging-crm/core/MessageRetention"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { count, date, first } from "../database/RowCodecs.ts"
import { withoutResources } from "../events/Events.ts"

const counts = first(Schema.Struct({ found: Schema.Int, removed: Schema.Int }))

/**
 * Removes sends, and returns how many it found and removed. It leaves those that another transaction has locked, so that
 * the two cannot deadlock.
 *
 * It deletes by key: a row that another transaction changes meanwhile has another `ctid`, so a deletion by `ctid` would skip it.
 * The limit is part of the text, because with a parameter the planner expects many rows and reads the whole table for the join.
 */
const purgeSends = (sql: SqlClient.SqlClient, before: Timestamp, limit: number) =>
  Effect.map(
    counts(sql`
      WITH found AS MATERIALIZED (
        SELECT organization_id, id
        FROM sends
        WHERE created_at < ${date(before)} AND status IN ('sent', 'failed')
        ORDER BY created_at
        LIMIT ${sql.literal(String(limit))}
      ), locked AS MATERIALIZED (
        SELECT send.*
        FROM found
        CROSS JOIN LATERAL (
          SELECT organization_id, id
          FROM sends
          WHERE organization_id = found.organization_id AND id = found.id
          FOR UPDATE SKIP LOCKED
        ) send
      ), removed AS (
        DELETE FROM sends send
        USING locked
        WHERE send.organization_id = locked.organization_id AND send.id = locked.id
        RETURNING 1
      )
      SELECT (SELECT count(*) FROM found)::int AS found, (SELECT count(*) FROM removed)::int AS removed
    `),
    Option.getOrThrow
  )

/** The messages to remove, and their conversations. */
const findMessages = (sql: SqlClient.SqlClient, before: Timestamp, limit: number) =>
  sql`
    found AS MATERIALIZED (
      SELECT organization_id, conversation_id, id, channel_id, provider_message_id, (media ->> 'id')::uuid AS media_id
      FROM messages
      WHERE created_at < ${date(before)}
      ORDER BY created_at
      LIMIT ${limit}
    ), threads AS MATERIALIZED (
      SELECT conversation.organization_id, conversation.id, conversation.contact_id
      FROM (SELECT DISTINCT organization_id, conversation_id FROM found) thread
      JOIN conversations conversation ON conversation.organization_id = thread.organization_id
        AND conversation.id = thread.conversation_id
    )
  `

/** Locks on the rows that commits lock too, in the order of `lock_order`, as `LockOrder.test.ts` checks. */
const lockRows = (sql: SqlClient.SqlClient, before: Timestamp) =>
  sql`
    provider_ids AS MATERIALIZED (
      SELECT provider_message.organization_id, provider_message.channel_id, provider_message.provider_message_id
      FROM found
      JOIN provider_messages provider_message ON provider_message.organization_id = found.organization_id
        AND provider_message.channel_id = found.channel_id
        AND provider_message.provider_message_id = found.provider_message_id
        AND provider_message.message_id = found.id
      ORDER BY provider_message.organization_id, provider_message.channel_id, provider_message.provider_message_id
      FOR UPDATE OF provider_message
    ), contact_previews AS MATERIALIZED (
      SELECT contact.organization_id, contact.id
      FROM (SELECT DISTINCT organization_id, contact_id FROM threads) thread
      JOIN contacts contact ON contact.organization_id = thread.organization_id AND contact.id = thread.contact_id
      WHERE contact.last_activity_at < ${date(before)} AND contact.last_activity_preview IS NOT NULL
        AND (SELECT count(*) FROM provider_ids) >= 0
      ORDER BY contact.organization_id, contact.id
      FOR NO KEY UPDATE OF contact
    ), conversation_previews AS MATERIALIZED (
      SELECT conversation.organization_id, conversation.id
      FROM threads thread
      JOIN conversations conversation ON conversation.organization_id = thread.organization_id AND conversation.id = thread.id
      WHERE conversation.last_activity_at < ${date(before)} AND conversation.last_activity_preview IS NOT NULL
        AND (SELECT count(*) FROM contact_previews) >= 0
      ORDER BY conversation.organization_id, conversation.id
      FOR NO KEY UPDATE OF conversation
    ), locked AS MATERIALIZED (
      SELECT message.organization_id, message.conversation_id, message.id
      FROM found
      JOIN messages message ON message.organization_id = found.organization_id
        AND message.conversation_id = found.conversation_id AND message.id = found.id
      WHERE (SELECT count(*) FROM conversation_previews) >= 0
      ORDER BY message.organization_id, message.conversation_id, message.id
      FOR UPDATE OF message
    )
  `

/** The changes in addition to the deletion of the messages. */
const removeRest = (sql: SqlClient.SqlClient, before: Timestamp) =>
  sql`
    files AS (
      DELETE FROM media file
      USING found
      WHERE file.organization_id = found.organization_id AND file.id = found.media_id AND (SELECT count(*) FROM locked) >= 0
    ), ids_removed AS (
      DELETE FROM provider_messages provider_message
      USING provider_ids locked
      WHERE provider_message.organization_id = locked.organization_id AND provider_message.channel_id = locked.channel_id
        AND provider_message.provider_message_id = locked.provider_message_id
    ), contacts_cleared AS (
      UPDATE contacts contact
      SET last_activity_preview = NULL
      FROM contact_previews preview
      WHERE contact.organization_id = preview.organization_id AND contact.id = preview.id
        AND contact.last_activity_at < ${date(before)}
    ), conversations_cleared AS (
      UPDATE conversations conversation
      SET last_activity_preview = NULL
      FROM conversation_previews preview
      WHERE conversation.organization_id = preview.organization_id AND conversation.id = preview.id
        AND conversation.last_activity_at < ${date(before)}
    ), events AS (
      ${withoutResources(sql, sql`(organization_id, message_id) IN (SELECT organization_id, id FROM locked)`)}
    )
  `

/**
 * Locks the rows of `lockRows` before it changes any. A condition on the number of rows that an earlier step locked makes
 * PostgreSQL run that step first.
 */
const purgeMessages = (sql: SqlClient.SqlClient, before: Timestamp, limit: number) =>
  count(sql`
    WITH ${findMessages(sql, before, limit)}, ${lockRows(sql, before)}, ${removeRest(sql, before)}
    DELETE FROM messages message
    USING locked
    WHERE message.organization_id = locked.organization_id AND message.conversation_id = locked.conversation_id
      AND message.id = locked.id
    RETURNING 1
  `)

/** Layer that removes old messages from PostgreSQL. */
export const layer = Layer.effect(
  MessageRetentionStore,
  SqlClient.SqlClient.useSync((sql) =>
    MessageRetentionStore.of({
      purge: Effect.fnUntraced(function*(before, limit) {
        const sends = yield* purgeSends(sql, before, limit)
        // A message is removed only after the sends that name it.
        if (sends.found === limit || sends.removed < sends.found) return sends.removed
        return sends.removed + (yield* purgeMessages(sql, before, limit - sends.removed))
      })
    })
  )
)
