import { ChannelId, ContactId, type ConversationId, type OrganizationId } from "@messaging-crm/core/Ids"
import {
  DeletionUpdate,
  EditUpdate,
  Message,
  MessageStore,
  positionOf,
  type ProviderMessage,
  StatusUpdate
} from "@messaging-crm/core/Messages"
import type { PageRequest } from "@messaging-crm/core/Page"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { longRows } from "../database/LongRows.ts"
import { first, purge, repeated, rows, selection, startOf, stored } from "../database/RowCodecs.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"

const Row = Schema.Struct({
  ...stored(Message).fields,
  sender: repeated(Message.fields.sender)
})

const LoadedRow = Schema.Struct({ ...Row.fields, version: Schema.Int })

const expressionOf = (column: string): string => column === "sender" ? "sender::text" : column
const { columns } = selection(Row, expressionOf)
const long = {
  long: { details: "jsonb", media: "jsonb", text: "text" },
  positionOf,
  time: "created_at"
} as const
const messages = longRows(Row, expressionOf, long)

/** The list of messages with their versions. */
export const loadedMessages = longRows(LoadedRow, expressionOf, long)
const message = first(Row)

/** Selects a page of a conversation's messages. */
export const selectMessages = (
  sql: SqlClient.SqlClient,
  organization_id: OrganizationId,
  conversation_id: ConversationId,
  page: PageRequest
) => {
  const { at, id } = startOf(page)
  return (columns: string) =>
    sql`
      SELECT ${sql.literal(columns)}
      FROM messages
      WHERE organization_id = ${organization_id}
        AND conversation_id = ${conversation_id}
        AND (created_at, id) < (${at}::timestamptz, ${id}::uuid)
      ORDER BY created_at DESC, id DESC
      LIMIT ${page.size}
    `
}

/** The row of a provider's message ID, with the columns of its message in one object. */
const providerMessages = rows(Schema.Struct({
  channel_id: ChannelId,
  provider_message_id: Schema.String,
  early_updates: Schema.Array(Schema.Union([StatusUpdate, EditUpdate, DeletionUpdate])),
  version: Schema.Int,
  message: Schema.NullOr(Schema.Struct({ ...Message.fields, version: Schema.Int, contact_id: ContactId }))
}))

/**
 * Makes the function that finds a message by its provider's ID, also if only early updates of it are known. A key has the erased IDs as
 * the text of an array, because an array of arrays cannot be unnested.
 */
const makeFindByProviderId = (sql: SqlClient.SqlClient) =>
  StatementBatcher.makeByKey(sql, {
    key: { organization_id: "uuid", channel_id: "uuid", provider_message_id: "text", erased_ids: "text" },
    select: `
      SELECT provider_message.channel_id, provider_message.provider_message_id, provider_message.early_updates,
        provider_message.version,
        CASE WHEN message.id IS NOT NULL
          THEN to_jsonb(message) || jsonb_build_object('contact_id', conversation.contact_id)
        END AS message
      FROM provider_messages provider_message
      LEFT JOIN messages message ON message.organization_id = provider_message.organization_id
        AND message.conversation_id = provider_message.conversation_id AND message.id = provider_message.message_id
      LEFT JOIN conversations conversation ON conversation.organization_id = provider_message.organization_id
        AND conversation.id = provider_message.conversation_id
      WHERE provider_message.organization_id = key.organization_id
        AND provider_message.channel_id = key.channel_id
        AND provider_message.provider_message_id = ANY(key.provider_message_id || key.erased_ids::text[])
      ORDER BY provider_message.provider_message_id = key.provider_message_id`,
    decode: providerMessages
  })

/** Layer that reads messages in PostgreSQL. */
export const layer = Layer.effect(
  MessageStore,
  SqlClient.SqlClient.useSync((sql) => {
    const findByProviderId = makeFindByProviderId(sql)

    return MessageStore.of({
      find: (organization_id, conversation_id, id) =>
        message(sql`
          SELECT ${sql.literal(columns)}
          FROM messages
          WHERE organization_id = ${organization_id} AND conversation_id = ${conversation_id} AND id = ${id}
        `),
      findByProviderId: (organization_id, channel_id, provider_message_id, erased_ids = []) =>
        Effect.map(
          findByProviderId({
            organization_id,
            channel_id,
            provider_message_id,
            erased_ids: `{${erased_ids.join(",")}}`
          }),
          Option.map((row): ProviderMessage => ({ ...row, message: Option.fromNullOr(row.message) }))
        ),
      list: (organization_id, conversation_id, page) =>
        Effect.orDie(messages.page(sql, {
          organization_id,
          statementOf: selectMessages(sql, organization_id, conversation_id, page)
        })),
      purgeEarlyUpdates: purge(sql, "provider_messages", "created_at", "message_id IS NULL")
    })
  })
)
