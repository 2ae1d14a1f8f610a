import { ChannelType } from "@messaging-crm/core/Channels"
import { type ConversationFilters, ConversationStatus, ConversationStore } from "@messaging-crm/core/Conversations"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { ChannelId, ContactId, ConversationId, IdentityId, MemberId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, date, OptionalAt, optionalDate } from "./Columns.ts"
import { findAndLock } from "./Reads.ts"

const OptionalText = Schema.NullOr(Schema.String)

const Row = Schema.Struct({
  id: ConversationId,
  channel_id: ChannelId,
  channel_type: ChannelType,
  contact_id: ContactId,
  first_name: OptionalText,
  last_name: OptionalText,
  identity_id: IdentityId,
  external_id: Schema.String,
  display_name: OptionalText,
  username: OptionalText,
  status: ConversationStatus,
  close_category: OptionalText,
  assigned_user_id: Schema.NullOr(MemberId),
  agent_id: OptionalText,
  created_at: At,
  opened_at: At,
  closed_at: OptionalAt,
  last_activity_at: At,
  last_activity_preview: OptionalText,
  last_inbound_at: OptionalAt
})

/** Layer that keeps conversations in PostgreSQL. */
export const layer = Layer.effect(
  ConversationStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const select = sql.literal(`
      SELECT v.id, v.channel_id, h.type AS channel_type, v.contact_id, c.first_name, c.last_name, v.identity_id,
        i.external_id, i.display_name, i.username, v.status, v.close_category, v.assigned_user_id, v.agent_id,
        v.created_at, v.opened_at, v.closed_at, v.last_activity_at, v.last_activity_preview, v.last_inbound_at
      FROM conversations v
      JOIN channels h ON h.organization_id = v.organization_id AND h.id = v.channel_id
      JOIN contacts c ON c.organization_id = v.organization_id AND c.id = v.contact_id
      JOIN identities i ON i.organization_id = v.organization_id AND i.id = v.identity_id
    `)

    const { find, lock } = findAndLock(sql, {
      Result: Row,
      locking: "FOR UPDATE OF v",
      execute: ({ id, organization_id }, locking) =>
        sql`
          ${select}
          WHERE v.organization_id = ${organization_id} AND v.id = ${id}
          ${locking}
        `
    })

    const conditions = (
      organization_id: OrganizationId,
      { assigned_user_id, status }: ConversationFilters,
      after: PageRequest["after"]
    ) => {
      const all = [sql`v.organization_id = ${organization_id}`]
      if (status !== null) all.push(sql`v.status = ${status}`)
      if (assigned_user_id !== null) all.push(sql`v.assigned_user_id = ${assigned_user_id}`)
      if (after !== null) all.push(sql`(v.last_activity_at, v.id) < (${date(after.at)}, ${after.id}::uuid)`)
      return sql.and(all)
    }

    const decodeRows = Schema.decodeUnknownEffect(Schema.Array(Row))

    return ConversationStore.of({
      list: (organization_id, filters, { after, size }) =>
        sql`
          ${select}
          WHERE ${conditions(organization_id, filters, after)}
          ORDER BY v.last_activity_at DESC, v.id DESC
          LIMIT ${size}
        `.pipe(Effect.flatMap(decodeRows), Effect.orDie),
      update: (organization_id, { assigned_user_id, close_category, closed_at, id, opened_at, status }) =>
        sql`
          UPDATE conversations
          SET
            status = ${status},
            close_category = ${close_category},
            assigned_user_id = ${assigned_user_id},
            opened_at = ${date(opened_at)},
            closed_at = ${optionalDate(closed_at)}
          WHERE organization_id = ${organization_id} AND id = ${id}
        `.pipe(Effect.orDie, Effect.asVoid),
      // An open conversation is updated too, to itself: that locks it.
      open: (organization_id, id, { channel_id, contact_id, identity_id }, now) => {
        const at = date(now)
        return sql<{ readonly id: ConversationId }>`
          INSERT INTO conversations AS v ${
          sql.insert({
            organization_id,
            id,
            channel_id,
            contact_id,
            identity_id,
            status: "open",
            created_at: at,
            opened_at: at,
            last_activity_at: at
          })
        }
          ON CONFLICT ON CONSTRAINT conversations_thread_unique DO UPDATE SET
            status = 'open',
            opened_at = CASE WHEN v.status = 'open' THEN v.opened_at ELSE excluded.opened_at END,
            closed_at = NULL,
            close_category = NULL
          RETURNING id
        `.pipe(
          Effect.flatMap((rows) => Effect.fromNullishOr(rows[0]?.id)),
          Effect.orDie
        )
      },
      find,
      lock,
      recordActivity: (organization_id, id, { at, last_inbound_at, preview }) => {
        const moment = date(at)
        return sql<{ readonly contact_id: ContactId }>`
          UPDATE conversations
          SET
            last_activity_at = greatest(last_activity_at, ${moment}),
            last_activity_preview = CASE
              WHEN last_activity_at > ${moment} THEN last_activity_preview
              ELSE ${preview}
            END,
            last_inbound_at = greatest(last_inbound_at, ${optionalDate(last_inbound_at)}::timestamptz)
          WHERE organization_id = ${organization_id} AND id = ${id}
          RETURNING contact_id
        `.pipe(
          Effect.flatMap((rows) => Effect.fromNullishOr(rows[0]?.contact_id)),
          Effect.orDie
        )
      },
      replacePreview: (organization_id, id, at, preview) =>
        sql<{ readonly contact_id: ContactId }>`
          UPDATE conversations
          SET last_activity_preview = ${preview}
          WHERE organization_id = ${organization_id} AND id = ${id} AND last_activity_at = ${date(at)}
          RETURNING contact_id
        `.pipe(Effect.map((rows) => Option.fromUndefinedOr(rows[0]?.contact_id)), Effect.orDie)
    })
  })
)
