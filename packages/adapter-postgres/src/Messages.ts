import { ChannelId, ConversationId, MessageId, OrganizationId } from "@messaging-crm/core/Ids"
import { DeletionReport, EditReport, Message, MessageStore, StatusReport } from "@messaging-crm/core/Messages"
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { At, date, json, OptionalAt, optionalDate } from "./Columns.ts"

const Row = Schema.Struct({
  ...Message.fields,
  created_at: At,
  sent_at: OptionalAt,
  delivered_at: OptionalAt,
  read_at: OptionalAt,
  failed_at: OptionalAt,
  edited_at: OptionalAt,
  deleted_at: OptionalAt
})

const ReportRow = Schema.Union([
  Schema.Struct({ ...StatusReport.fields, at: At }),
  Schema.Struct({ ...EditReport.fields, at: At }),
  Schema.Struct({ ...DeletionReport.fields, at: At })
])

const ProviderKey = Schema.Struct({
  organization_id: OrganizationId,
  channel_id: ChannelId,
  provider_message_id: Schema.String
})

/** Layer that keeps messages in PostgreSQL. */
export const layer = Layer.effect(
  MessageStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const columns = sql.literal(`
      id, conversation_id, direction, type, text, sender, status, media, provider_message_id, created_at, sent_at,
      delivered_at, read_at, failed_at, edited_at, deleted_at
    `)

    const find = SqlSchema.findOneOption({
      Request: Schema.Struct({ organization_id: OrganizationId, conversation_id: ConversationId, id: MessageId }),
      Result: Row,
      execute: ({ conversation_id, id, organization_id }) =>
        sql`
          SELECT ${columns}
          FROM messages
          WHERE organization_id = ${organization_id} AND conversation_id = ${conversation_id} AND id = ${id}
        `
    })

    const findByProviderId = SqlSchema.findOneOption({
      Request: ProviderKey,
      Result: Row,
      execute: ({ channel_id, organization_id, provider_message_id }) =>
        sql`
          SELECT ${columns}
          FROM messages
          WHERE organization_id = ${organization_id}
            AND channel_id = ${channel_id}
            AND provider_message_id = ${provider_message_id}
        `
    })

    const list = SqlSchema.findAll({
      Request: Schema.Struct({
        organization_id: OrganizationId,
        conversation_id: ConversationId,
        after: Schema.NullOr(Schema.Struct({ at: At, id: Schema.String })),
        size: Schema.Int
      }),
      Result: Row,
      execute: ({ after, conversation_id, organization_id, size }) =>
        sql`
          SELECT ${columns}
          FROM messages
          WHERE organization_id = ${organization_id}
            AND conversation_id = ${conversation_id}
            ${after === null ? sql.literal("") : sql`AND (created_at, id) < (${after.at}, ${after.id}::uuid)`}
          ORDER BY created_at DESC, id DESC
          LIMIT ${size}
        `
    })

    const takeParked = SqlSchema.findAll({
      Request: ProviderKey,
      Result: ReportRow,
      execute: ({ channel_id, organization_id, provider_message_id }) =>
        sql`
          DELETE FROM parked_reports
          WHERE organization_id = ${organization_id}
            AND channel_id = ${channel_id}
            AND provider_message_id = ${provider_message_id}
          RETURNING status, text, at
        `
    })

    return MessageStore.of({
      hold: (channel_id, provider_message_id) =>
        sql`
          SELECT pg_advisory_xact_lock(hashtextextended(${`${channel_id}|${provider_message_id}`}, 0))
        `.pipe(Effect.orDie, Effect.asVoid),
      insert: (organization_id, channel_id, message) =>
        sql`
          INSERT INTO messages ${
          sql.insert({
            ...message,
            organization_id,
            channel_id,
            sender: json(message.sender),
            media: message.media === null ? null : json(message.media),
            created_at: date(message.created_at),
            sent_at: optionalDate(message.sent_at),
            delivered_at: optionalDate(message.delivered_at),
            read_at: optionalDate(message.read_at),
            failed_at: optionalDate(message.failed_at),
            edited_at: optionalDate(message.edited_at),
            deleted_at: optionalDate(message.deleted_at)
          })
        }
          ON CONFLICT ON CONSTRAINT messages_provider_message_id_unique DO NOTHING
          RETURNING id
        `.pipe(Effect.map((inserted) => inserted.length === 1), Effect.orDie),
      update: (organization_id, message) =>
        sql`
          UPDATE messages
          SET
            text = ${message.text},
            media = ${message.media === null ? null : json(message.media)},
            status = ${message.status},
            sent_at = ${optionalDate(message.sent_at)},
            delivered_at = ${optionalDate(message.delivered_at)},
            read_at = ${optionalDate(message.read_at)},
            failed_at = ${optionalDate(message.failed_at)},
            edited_at = ${optionalDate(message.edited_at)},
            deleted_at = ${optionalDate(message.deleted_at)}
          WHERE organization_id = ${organization_id}
            AND conversation_id = ${message.conversation_id}
            AND id = ${message.id}
        `.pipe(Effect.orDie, Effect.asVoid),
      find: (organization_id, conversation_id, id) => Effect.orDie(find({ organization_id, conversation_id, id })),
      findByProviderId: (organization_id, channel_id, provider_message_id) =>
        Effect.orDie(findByProviderId({ organization_id, channel_id, provider_message_id })),
      list: (organization_id, conversation_id, page) =>
        Effect.orDie(list({ organization_id, conversation_id, ...page })),
      park: (organization_id, channel_id, provider_message_id, report, parked_at) =>
        sql`
          INSERT INTO parked_reports ${
          sql.insert({
            organization_id,
            channel_id,
            provider_message_id,
            status: report.status,
            text: report.status === "edited" ? report.text : null,
            at: date(report.at),
            parked_at: date(parked_at)
          })
        }
          ON CONFLICT DO NOTHING
        `.pipe(Effect.orDie, Effect.asVoid),
      takeParked: (organization_id, channel_id, provider_message_id) =>
        Effect.orDie(takeParked({ organization_id, channel_id, provider_message_id })),
      purgeParked: (before, limit) =>
        sql`
          DELETE FROM parked_reports
          WHERE ctid = ANY(ARRAY(
            SELECT ctid
            FROM parked_reports
            WHERE parked_at < ${date(before)}
            ORDER BY parked_at
            LIMIT ${limit}
          ))
          RETURNING status
        `.pipe(Effect.map((removed) => removed.length), Effect.orDie)
    })
  })
)
