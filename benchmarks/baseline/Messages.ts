/** The messages of a conversation, and sending one. */
import type { FastifyInstance } from "fastify"
import { v7 as uuid } from "uuid"
import * as Cursors from "./Cursors.ts"
import type { Query, Row } from "./Database.ts"
import { notFound } from "./Errors.ts"
import * as Idempotency from "./Idempotency.ts"
import * as Schemas from "./Schemas.ts"

const { plain, plainOrNull, text, textOrNull } = Schemas

const Media = Schemas.closedObject({
  kind: plain,
  mime_type: textOrNull,
  filename: textOrNull,
  byte_size: { type: "integer" },
  transcript: textOrNull,
  url: text
})

const Message = Schemas.closedObject({
  id: plain,
  conversation_id: plain,
  direction: plain,
  type: plain,
  text: textOrNull,
  sender: Schemas.closedObject({ type: plain, name: textOrNull }),
  status: plain,
  media: { ...Media, nullable: true },
  details: { type: "object", nullable: true, additionalProperties: true },
  provider_message_id: textOrNull,
  created_at: plain,
  sent_at: plainOrNull,
  delivered_at: plainOrNull,
  read_at: plainOrNull,
  failed_at: plainOrNull,
  edited_at: plainOrNull,
  deleted_at: plainOrNull
})

/** The columns of a message: those of its schema, with two for the sender. */
const columns = Object.keys(Message.properties)
  .map((name) => name === "sender" ? "sender_type, sender_name" : name)
  .join(", ")

/** Returns the message of a row with these columns. */
const messageOf = ([
  id,
  conversation_id,
  direction,
  type,
  text,
  sender_type,
  sender_name,
  status,
  media,
  details,
  provider_message_id,
  created_at,
  sent_at,
  delivered_at,
  read_at,
  failed_at,
  edited_at,
  deleted_at
]: Row) => ({
  id,
  conversation_id,
  direction,
  type,
  text,
  sender: { type: sender_type, name: sender_name },
  status,
  media,
  details,
  provider_message_id,
  created_at,
  sent_at,
  delivered_at,
  read_at,
  failed_at,
  edited_at,
  deleted_at
})

const size = 50

const page = (name: string, condition: string) => ({
  name,
  text: `
    SELECT ${columns} FROM messages
    WHERE conversation_id = $2 AND organization_id = $1 ${condition}
    ORDER BY created_at DESC, id DESC
    LIMIT ${size + 1}`
})

const first = page("messages", "")
const next = page("messages_after", "AND (created_at, id) < ($3, $4)")

const conversation = {
  name: "conversation",
  text: "SELECT FROM conversations WHERE id = $2 AND organization_id = $1"
}

const send = {
  name: "send_text",
  text: "SELECT status, body FROM send_text($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
}

const SendText = Schemas.request(
  { type: { type: "string", enum: ["text"] }, text: { type: "string", minLength: 1, maxLength: 4096 } },
  ["type", "text"]
)

interface Params {
  readonly conversation_id: string
}

export const routes = (app: FastifyInstance, query: Query): void => {
  const params = Schemas.request({ conversation_id: Schemas.uuid })

  app.get<{ Params: Params; Querystring: { cursor?: string } }>("/conversations/:conversation_id/messages", {
    config: { scope: "conversations:read" },
    schema: {
      params,
      querystring: Schemas.request({ cursor: Schemas.cursor }),
      response: { 200: Schemas.page(Message) }
    }
  }, async ({ key, params: { conversation_id }, query: { cursor } }) => {
    const list = `messages ${key.organization_id} ${conversation_id}`
    const after = Cursors.decode(list, cursor)
    const values = [key.organization_id, conversation_id]
    const rows = after === undefined
      ? await query(first, values)
      : await query(next, [...values, after.time, after.id])
    // Only an empty page does not prove that the conversation exists.
    if (rows.length === 0 && (await query(conversation, values)).length === 0) throw notFound("conversation")
    const data = rows.slice(0, size).map(messageOf)
    const last = rows.length > size ? data.at(-1) : undefined
    return {
      data,
      next_cursor: last === undefined ? null : Cursors.encode(list, { time: last.created_at, id: last.id })
    }
  })

  const { reject, write } = Idempotency.make(query)

  app.post<{ Params: Params; Body: { text: string } }>("/conversations/:conversation_id/messages", {
    config: { scope: "messages:send" },
    attachValidation: true,
    schema: { params, querystring: Schemas.request({}), body: SendText }
  }, async (request, reply) => {
    if (request.validationError) return reject(request, reply, request.validationError)
    const id = uuid()
    const conversation_id = request.params.conversation_id.toLowerCase()
    const created_at = new Date().toISOString()
    const data = { id, conversation_id, status: "queued", message_id: null, failure_reason: null, created_at }
    const accepted = JSON.stringify({ data })
    const values = [conversation_id, request.key.member_id, id, request.body.text, created_at, accepted]
    return write(request, reply, send, values)
  })
}
