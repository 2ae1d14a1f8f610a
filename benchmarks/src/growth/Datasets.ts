/** The databases that the operations run on. */
import { ConversationId } from "@messaging-crm/core/Ids"
import type { PageRequest } from "@messaging-crm/core/Page"
import { type DateTime, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { Crowd } from "../harness/Fixtures.ts"

/** The facts of a database that the cases need. */
export interface Dataset {
  /** The number of contacts. */
  readonly contacts: number
  /** Conversations whose reply window is open. */
  readonly conversations: ReadonlyArray<ConversationId>
  /** Values that contacts have. */
  readonly known: { readonly phone: string; readonly email_key: string; readonly external_id: string }
  /** The request of the 200th page of a list; null if the list has fewer pages. */
  readonly page_200: { readonly [list in "contacts" | "conversations" | "messages"]: PageRequest | null }
}

const page_size = 50
/** A list reads one row more than the page, to see whether another page follows. */
export const page_1: PageRequest = { after: null, size: page_size + 1 }
/** The long conversation of the large organization. */
export const thread = ConversationId.make(Crowd.id("conversation", 1))

/** Opens the reply windows of some conversations, as messages of their contacts do, and returns them. */
const openConversations = SqlClient.SqlClient.use((sql) =>
  sql<{ readonly id: string }>`
    UPDATE conversations
    SET last_inbound_at = now(), status = 'open', closed_at = NULL
    WHERE organization_id = ${Crowd.large} AND id IN (
      SELECT id
      FROM conversations
      WHERE organization_id = ${Crowd.large} AND id <> ${thread}
      ORDER BY md5(id::text)
      LIMIT 200
    )
    RETURNING id
  `
).pipe(Effect.map((rows) => rows.map(({ id }) => ConversationId.make(id))))

/** Returns a phone, an email, and an external ID, each of one contact. */
const knownValues = Effect.map(
  SqlClient.SqlClient.use((sql) =>
    sql<Dataset["known"]>`
      SELECT
        (SELECT max(primary_phone) FROM contacts WHERE organization_id = ${Crowd.large}) AS phone,
        (SELECT max(email_key) FROM contacts WHERE organization_id = ${Crowd.large}) AS email_key,
        (SELECT max(external_id) FROM identities WHERE organization_id = ${Crowd.large}) AS external_id
    `
  ),
  ([values]) => Option.getOrThrow(Option.fromUndefinedOr(values))
)

/** Prepares a filled database for the cases, and returns its facts. */
export const prepareDataset = Effect.fnUntraced(function*(contacts: number) {
  const sql = yield* SqlClient.SqlClient
  const skipped_rows = 199 * page_size - 1
  const startOf = Effect.fnUntraced(function*(table: string, at: string, condition: string) {
    const [row] = yield* sql<{ readonly at: DateTime.Utc; readonly id: string }>`
      SELECT ${sql(at)} AS at, id
      FROM ${sql(table)}
      WHERE organization_id = ${Crowd.large} AND ${sql.literal(condition)}
      ORDER BY ${sql(at)} DESC, id DESC
      OFFSET ${skipped_rows}
      LIMIT 1
    `
    return row === undefined ? null : { after: { at: row.at, id: row.id }, size: page_1.size }
  })
  return {
    contacts,
    conversations: yield* openConversations,
    known: yield* knownValues,
    page_200: {
      contacts: yield* startOf("contacts", "updated_at", "true"),
      conversations: yield* startOf("conversations", "last_activity_at", "true"),
      messages: yield* startOf("messages", "created_at", `conversation_id = '${thread}'`)
    }
  } satisfies Dataset
})
