import { ChannelType } from "@messaging-crm/core/Channels"
import type { ContactId, OrganizationId } from "@messaging-crm/core/Ids"
import { IdentityId } from "@messaging-crm/core/Ids"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { erased } from "@messaging-crm/core/Text"
import { Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { json } from "../database/Columns.ts"
import { count, rows } from "../database/Rows.ts"
import { StatementDeadline } from "../database/StatementDeadline.ts"
import { conversations, selectConversations } from "./Conversations.ts"
import { SendRow } from "./Sends.ts"

const names = rows(Schema.Struct({
  channel_type: ChannelType,
  name: Schema.String,
  identity_id: IdentityId,
  identity_version: Schema.Int
}))
const sends = rows(SendRow)

const sendColumns = Object.keys(SendRow.fields).join(", ")
const content = json({ type: "text", text: erased })

/** Layer that exports and erases people in PostgreSQL. */
export const layer = Layer.effect(
  PersonalDataStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    /** Runs statements in one transaction without a limit of their time: some read a table without an index. */
    const patiently = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      sql.withTransaction(Effect.gen(function*() {
        yield* sql`SET LOCAL statement_timeout = 0`
        yield* sql`SET LOCAL transaction_timeout = 0`
        return yield* effect
      })).pipe(
        Effect.provideService(StatementDeadline, Duration.infinity),
        Effect.orDie
      )

    /** Selects the ids of a contact's conversations, by the unique key of channel and identity. */
    const threads = (organization_id: OrganizationId, contact_id: ContactId) =>
      sql`
        SELECT v.id
        FROM identities i
        JOIN channels h ON h.organization_id = i.organization_id
        JOIN conversations v ON v.organization_id = i.organization_id AND v.channel_id = h.id AND v.identity_id = i.id
        WHERE i.organization_id = ${organization_id} AND i.contact_id = ${contact_id}
      `

    const eraseSends = (organization_id: OrganizationId, contact_id: ContactId) =>
      sql`
        UPDATE sends
        SET content = ${content}::jsonb, recipient = ${erased}, version = version + 1,
          status = CASE WHEN status = 'sent' THEN status ELSE 'failed' END,
          failure_reason = CASE WHEN status = 'sent' THEN NULL ELSE coalesce(failure_reason, 'recipient_opted_out') END
        WHERE organization_id = ${organization_id}
          AND conversation_id IN (${threads(organization_id, contact_id)})
          AND recipient <> ${erased}
      `

    const erasePreviews = (organization_id: OrganizationId, contact_id: ContactId) =>
      Effect.andThen(
        sql`
          UPDATE conversations
          SET last_activity_preview = CASE WHEN last_activity_preview IS NOT NULL THEN ${erased} END,
            close_category = NULL, last_inbound_at = NULL, version = version + 1
          WHERE organization_id = ${organization_id}
            AND id IN (${threads(organization_id, contact_id)})
            AND (last_activity_preview <> ${erased} OR close_category IS NOT NULL OR last_inbound_at IS NOT NULL)
        `,
        sql`
          UPDATE contacts
          SET last_activity_preview = ${erased}
          WHERE organization_id = ${organization_id} AND id = ${contact_id} AND last_activity_preview <> ${erased}
        `
      )

    // Both read all rows of the organization.
    const eraseAnswers = (organization_id: OrganizationId, contact_id: ContactId) =>
      Effect.andThen(
        sql`
          DELETE FROM idempotency_keys
          WHERE organization_id = ${organization_id} AND position(convert_to(${contact_id}, 'UTF8') IN body) > 0
        `,
        sql`
          UPDATE webhook_deliveries
          SET response_body = NULL
          WHERE organization_id = ${organization_id} AND response_body IS NOT NULL AND event_id IN (
            SELECT e.id
            FROM webhook_events e
            JOIN (${threads(organization_id, contact_id)}) v ON position(v.id::text IN e.body) > 0
            WHERE e.organization_id = ${organization_id}
          )
        `
      )

    return PersonalDataStore.of({
      names: (organization_id, contact_id) =>
        patiently(names(sql`
          SELECT n.channel_type, n.name, n.identity_id, i.version AS identity_version
          FROM identities i
          JOIN identity_names n ON n.organization_id = i.organization_id AND n.channel_type = i.channel_type
            AND n.identity_id = i.id
          WHERE i.organization_id = ${organization_id} AND i.contact_id = ${contact_id}
        `)),
      conversations: (organization_id, contact_id) =>
        conversations(sql`
          ${sql.literal(selectConversations)}
          WHERE v.organization_id = ${organization_id} AND v.id IN (${threads(organization_id, contact_id)})
        `),
      sends: (organization_id, conversation_id) =>
        patiently(sends(sql`
          SELECT ${sql.literal(sendColumns)}
          FROM sends
          WHERE organization_id = ${organization_id} AND conversation_id = ${conversation_id}
        `)),
      eraseMessages: (organization_id, contact_id, limit) =>
        count(sql`
          WITH found AS (
            SELECT m.conversation_id, m.id, m.channel_id, m.provider_message_id, (m.media ->> 'id')::uuid AS media_id
            FROM messages m
            WHERE m.organization_id = ${organization_id}
              AND m.conversation_id IN (${threads(organization_id, contact_id)})
              AND (
                m.text IS DISTINCT FROM ${erased} OR m.media IS NOT NULL OR m.details IS NOT NULL OR m.provider_message_id IS NOT NULL
                OR (m.direction = 'inbound' AND m.sender ->> 'name' IS NOT NULL)
              )
            LIMIT ${limit}
            FOR UPDATE OF m
          ), files AS (
            DELETE FROM media f
            USING found
            WHERE f.organization_id = ${organization_id} AND f.id = found.media_id
          ), provider_ids AS (
            DELETE FROM provider_messages p
            USING found
            WHERE p.organization_id = ${organization_id} AND p.channel_id = found.channel_id
              AND p.provider_message_id = found.provider_message_id
          )
          UPDATE messages m
          SET text = ${erased}, media = NULL, details = NULL, provider_message_id = NULL, version = m.version + 1,
            sender = CASE WHEN m.direction = 'inbound' THEN jsonb_set(m.sender, '{name}', 'null') ELSE m.sender END
          FROM found
          WHERE m.organization_id = ${organization_id} AND m.conversation_id = found.conversation_id
            AND m.id = found.id
          RETURNING 1
        `),
      eraseRest: (organization_id, contact_id) =>
        patiently(Effect.asVoid(Effect.all([
          eraseSends(organization_id, contact_id),
          erasePreviews(organization_id, contact_id),
          eraseAnswers(organization_id, contact_id)
        ]))),
      eraseCallbacks: (organization_id, people) =>
        patiently(Effect.asVoid(Effect.orDie(sql`
          DELETE FROM provider_callbacks
          WHERE channel_id IN (SELECT id FROM channels WHERE organization_id = ${organization_id})
            AND jsonb_exists_any(people, ${people}::text[])
        `)))
    })
  })
)
