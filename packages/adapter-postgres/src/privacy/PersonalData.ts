import { ChannelType, types_with_phones } from "@messaging-crm/core/Channels"
import { part_prefix } from "@messaging-crm/core/Idempotency"
import { type ContactId, IdentityId, type OrganizationId } from "@messaging-crm/core/Ids"
import type { Found } from "@messaging-crm/core/Page"
import { PersonalDataStore } from "@messaging-crm/core/PersonalData"
import { Effect, Layer, Schema } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { conversationsOf } from "../conversations/ConversationPages.ts"
import { conversations, select_conversations } from "../conversations/Conversations.ts"
import { longRows } from "../database/LongRows.ts"
import { rows, run, startOf } from "../database/RowCodecs.ts"
import { unlimited } from "../database/TimeLimits.ts"
import { withoutResources } from "../events/Events.ts"
import { loadedMessages, selectMessages } from "../messages/Messages.ts"
import { SendRow } from "../sends/Sends.ts"

const networkIds = rows(Schema.Struct({
  channel_type: ChannelType,
  name: Schema.String,
  identity_id: IdentityId,
  identity_version: Schema.Int
}))
const sends = longRows(SendRow, (column) => column, {
  long: { content: "jsonb" },
  positionOf: ({ created_at: at, id }) => ({ at, id }),
  time: "created_at"
})

const rowsOf = <Row>(page: Effect.Effect<Found<Row>, SqlError.SqlError>) =>
  Effect.orDie(Effect.map(page, ({ rows }) => rows))

/** The text that follows the columns of a contact's network IDs: each `identity_name` with its `identity`. */
const namesOf = (sql: SqlClient.SqlClient, organization_id: OrganizationId, contact_id: ContactId) =>
  sql`
    FROM identities identity
    JOIN identity_names identity_name ON identity_name.organization_id = identity.organization_id
      AND identity_name.channel_type = identity.channel_type AND identity_name.identity_id = identity.id
    WHERE identity.organization_id = ${organization_id} AND identity.contact_id = ${contact_id}
  `

/** Selects the IDs of the events about a contact and its conversations. */
const eventsOf = (sql: SqlClient.SqlClient, organization_id: OrganizationId, contact_id: ContactId) =>
  sql`
    SELECT event.id
    FROM webhook_events event
    JOIN (${conversationsOf(sql, organization_id, contact_id)} UNION SELECT ${contact_id}::uuid) named
      ON position(named.id::text IN event.body) > 0
    WHERE event.organization_id = ${organization_id}
  `

/** The endpoint's response in a recorded delivery. In other records, a quotation mark of a text is escaped. */
const recorded_response = "\"response_body\":\""

/**
 * The statements that erase what events, deliveries, and idempotency records contain of a contact. The last two read all
 * rows of the organization. Deliveries and records are locked by their keys, as commits lock them. Records are deleted
 * last, because a record of a delivery can be committed until the delivery's version has increased.
 */
const copiesErased = (sql: SqlClient.SqlClient, organization_id: OrganizationId, contact_id: ContactId) => [
  withoutResources(sql, sql`organization_id = ${organization_id} AND contact_id = ${contact_id}`),
  sql`
    UPDATE webhook_deliveries
    SET response_body = NULL, version = version + 1
    WHERE (organization_id, id) IN (
      SELECT organization_id, id
      FROM webhook_deliveries
      WHERE organization_id = ${organization_id} AND (response_body IS NOT NULL OR status = 'pending')
        AND event_id IN (${eventsOf(sql, organization_id, contact_id)})
      ORDER BY organization_id, id
      FOR NO KEY UPDATE
    )
  `,
  sql`
    DELETE FROM idempotency_keys
    WHERE (organization_id, key) IN (
      SELECT k.organization_id, k.key
      FROM (
        SELECT key, fingerprint
        FROM idempotency_keys
        WHERE organization_id = ${organization_id} AND (
          position(${contact_id} IN body) > 0
          OR CASE WHEN NOT sealed AND position(${recorded_response} IN body) > 0
            THEN substring(body FROM '"event_id":"([0-9a-f-]{36})"')::uuid
          END IN (${eventsOf(sql, organization_id, contact_id)})
        )
      ) shown
      JOIN idempotency_keys k ON k.fingerprint = shown.fingerprint
        AND (k.key = shown.key OR k.body IS NULL OR starts_with(k.key, ${part_prefix}))
      WHERE k.organization_id = ${organization_id}
      ORDER BY k.organization_id, k.key
      FOR UPDATE OF k
    )
  `
]

/**
 * The statement that erases stored callbacks about a contact. They name people by network IDs, without the `+` of a phone
 * number. They are locked by ID, as commits lock them.
 */
const callbacksErased = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  contact_id: ContactId,
  phones: ReadonlyArray<string>
) =>
  sql`
    WITH network_ids AS (
      SELECT identity_name.channel_type, identity_name.name
      ${namesOf(sql, organization_id, contact_id)}
      UNION
      SELECT with_phones.type, phone
      FROM unnest(${types_with_phones}::text[]) AS with_phones (type), unnest(${phones}::text[]) AS phone
      WHERE NOT EXISTS (
        SELECT
        FROM identity_names identity_name
        WHERE identity_name.organization_id = ${organization_id}
          AND identity_name.channel_type = with_phones.type AND identity_name.name = ANY(${phones}::text[])
      )
    ), people AS MATERIALIZED (
      SELECT channel_type, array_agg(substr(name, CASE WHEN starts_with(name, '+') THEN 2 ELSE 1 END)) AS ids
      FROM network_ids
      GROUP BY channel_type
    )
    DELETE FROM provider_callbacks
    WHERE id IN (
      SELECT callback.id
      FROM provider_callbacks callback
      JOIN channels channel ON channel.id = callback.channel_id
      JOIN people ON people.channel_type = channel.type
      WHERE channel.organization_id = ${organization_id} AND jsonb_exists_any(callback.people, people.ids)
      ORDER BY callback.id
      FOR UPDATE OF callback
    )
  `

/** Layer that exports and erases people in PostgreSQL. */
export const layer = Layer.effect(
  PersonalDataStore,
  SqlClient.SqlClient.useSync((sql) => {
    const patiently = <A, E>(effect: Effect.Effect<A, E>) => Effect.orDie(unlimited(sql)(effect))

    return PersonalDataStore.of({
      networkIds: (organization_id, contact_id) =>
        patiently(networkIds(sql`
          SELECT identity_name.channel_type, identity_name.name, identity_name.identity_id,
            identity.version AS identity_version
          ${namesOf(sql, organization_id, contact_id)}
        `)),
      conversations: (organization_id, contact_id) =>
        conversations(sql`
          ${sql.literal(select_conversations)}
          WHERE conversation.organization_id = ${organization_id}
            AND conversation.id IN (${conversationsOf(sql, organization_id, contact_id)})
        `),
      sends: (organization_id, conversation_id, page) => {
        const { at, id } = startOf(page)
        const statementOf = (columns: string) =>
          sql`
            SELECT ${sql.literal(columns)}
            FROM sends
            WHERE organization_id = ${organization_id} AND conversation_id = ${conversation_id}
              AND (created_at, id) < (${at}::timestamptz, ${id}::uuid)
            ORDER BY created_at DESC, id DESC
            LIMIT ${page.size}
          `
        return rowsOf(sends.page(sql, { organization_id, statementOf }))
      },
      messages: (organization_id, conversation_id, page) =>
        rowsOf(
          loadedMessages.page(sql, {
            organization_id,
            statementOf: selectMessages(sql, organization_id, conversation_id, page)
          })
        ),
      // Each is a transaction, so that it locks its rows only while it runs: a retry of a request waits for its record.
      eraseCopies: (organization_id, contact_id) =>
        Effect.forEach(copiesErased(sql, organization_id, contact_id), patiently, { discard: true }),
      eraseCallbacks: (organization_id, contact_id, phones) =>
        patiently(run(callbacksErased(sql, organization_id, contact_id, phones)))
    })
  })
)
