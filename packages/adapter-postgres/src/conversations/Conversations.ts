import { concurrently } from "@messaging-crm/core/Concurrency"
import { ConversationRow, ConversationStore } from "@messaging-crm/core/Conversations"
import { Array, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Known, known_columns } from "../contacts/Contacts.ts"
import { rows, selection, stored } from "../database/RowCodecs.ts"
import * as StatementBatcher from "../database/StatementBatcher.ts"
import { selectPage } from "./ConversationPages.ts"

const Row = stored(ConversationRow)

/** Decodes conversations with the columns of `select_conversations`. */
export const conversations = rows(Row)

const identities = rows(Schema.Struct({
  ...Known.fields,
  conversation: Schema.NullOr(ConversationRow)
}))

/** The columns that do not belong to the conversation itself. */
const sources: Readonly<Record<string, string>> = {
  channel_type: "channel.type",
  first_name: "contact.first_name",
  last_name: "contact.last_name",
  external_id: "identity.external_id",
  display_name: "identity.display_name",
  username: "identity.username"
}

/** The same columns for a conversation that is looked up by the type of its channel. */
const joinedPairs = Object.entries({ ...sources, channel_type: "key.channel_type" })
  .map(([column, source]) => `'${column}', ${source}`).join(", ")

const list = selection(Row, (column) => sources[column] ?? `conversation.${column}`)

/** The joins with which a `conversation` is read. */
const joins = `
  JOIN channels channel ON channel.organization_id = conversation.organization_id AND channel.id = conversation.channel_id
  JOIN contacts contact ON contact.organization_id = conversation.organization_id AND contact.id = conversation.contact_id
  JOIN identities identity ON identity.organization_id = conversation.organization_id AND identity.id = conversation.identity_id
`

/** The text that selects each `conversation`, up to the conditions. */
export const select_conversations = `SELECT ${list.columns} FROM conversations conversation ${joins}`

const makeFind = (sql: SqlClient.SqlClient) =>
  StatementBatcher.makeByKey(sql, {
    key: { organization_id: "uuid", id: "uuid" },
    select: `
      ${select_conversations}
      WHERE conversation.organization_id = key.organization_id AND conversation.id = key.id`,
    decode: conversations
  })

/** Makes the function that finds the identity of a network ID, with its contact and its conversation on a channel. */
const makeIdentify = (sql: SqlClient.SqlClient) =>
  StatementBatcher.makeByKey(sql, {
    key: { organization_id: "uuid", channel_id: "uuid", channel_type: "text", network_id: "text" },
    select: `
      SELECT ${known_columns},
        CASE WHEN conversation.id IS NOT NULL THEN to_jsonb(conversation) || jsonb_build_object(${joinedPairs}) END
          AS conversation
      FROM identity_names identity_name
      JOIN identities identity ON identity.organization_id = identity_name.organization_id
        AND identity.id = identity_name.identity_id
      JOIN contacts contact ON contact.organization_id = identity.organization_id AND contact.id = identity.contact_id
      LEFT JOIN conversations conversation ON conversation.organization_id = identity.organization_id
        AND conversation.channel_id = key.channel_id AND conversation.identity_id = identity.id
      WHERE identity_name.organization_id = key.organization_id AND identity_name.channel_type = key.channel_type
        AND identity_name.name = key.network_id`,
    decode: identities
  })

/** Layer that reads conversations in PostgreSQL. */
export const layer = Layer.effect(
  ConversationStore,
  SqlClient.SqlClient.useSync((sql) => {
    const find = makeFind(sql)
    const identifyOne = makeIdentify(sql)

    return ConversationStore.of({
      find: (organization_id, id) => find({ organization_id, id }),
      list: (organization_id, filters, page) =>
        Effect.orDie(list.rows(sql`
          SELECT ${sql.literal(list.columns)}
          FROM (${selectPage(sql, organization_id, filters, page)}) conversation
          ${sql.literal(joins)}
          ORDER BY conversation.last_activity_at DESC, conversation.id DESC
          LIMIT ${page.size}
        `)),
      identify: (organization_id, { id, type }, network_ids) =>
        Effect.map(
          Effect.forEach(
            network_ids,
            (network_id) => identifyOne({ organization_id, channel_id: id, channel_type: type, network_id }),
            concurrently
          ),
          Array.getSomes
        )
    })
  })
)
