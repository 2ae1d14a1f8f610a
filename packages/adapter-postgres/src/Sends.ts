import { ChannelId, MemberId } from "@messaging-crm/core/Ids"
import { Send, type SendRow, SendStore } from "@messaging-crm/core/Sends"
import { Content } from "@messaging-crm/core/Sends/Content"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { At, date, json, OptionalAt, optionalDate } from "./Columns.ts"
import { findAndLock } from "./Reads.ts"

const Row = Schema.Struct({
  ...Send.fields,
  created_at: At,
  channel_id: ChannelId,
  recipient: Schema.String,
  member_id: Schema.NullOr(MemberId),
  content: Content,
  first_attempt_at: OptionalAt
})

const toSendRow = (
  { channel_id, content, first_attempt_at, member_id, recipient, ...send }: typeof Row.Type
): SendRow => ({
  send,
  channel_id,
  recipient,
  member_id,
  content,
  first_attempt_at
})

/** Layer that keeps sends in PostgreSQL. */
export const layer = Layer.effect(
  SendStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const select = sql.literal(`
      SELECT id, conversation_id, status, message_id, failure_reason, created_at, channel_id, recipient, member_id,
        content, first_attempt_at
      FROM sends
    `)

    const { find, lock } = findAndLock(sql, {
      Result: Row,
      locking: "FOR UPDATE",
      execute: ({ id, organization_id }, locking) =>
        sql`
          ${select}
          WHERE organization_id = ${organization_id} AND id = ${id}
          ${locking}
        `
    })

    return SendStore.of({
      insert: (organization_id, { channel_id, content, first_attempt_at, member_id, recipient, send }) =>
        sql`
          INSERT INTO sends ${
          sql.insert({
            ...send,
            organization_id,
            channel_id,
            recipient,
            member_id,
            content: json(content),
            created_at: date(send.created_at),
            first_attempt_at: optionalDate(first_attempt_at)
          })
        }
        `.pipe(Effect.orDie, Effect.asVoid),
      find: (organization_id, id) => Effect.map(find(organization_id, id), Option.map(toSendRow)),
      lock: (organization_id, id) => Effect.map(lock(organization_id, id), Option.map(toSendRow)),
      update: (organization_id, { first_attempt_at, send }) =>
        sql`
          UPDATE sends
          SET
            status = ${send.status},
            message_id = ${send.message_id},
            failure_reason = ${send.failure_reason},
            first_attempt_at = ${optionalDate(first_attempt_at)}
          WHERE organization_id = ${organization_id} AND id = ${send.id}
        `.pipe(Effect.orDie, Effect.asVoid)
    })
  })
)
