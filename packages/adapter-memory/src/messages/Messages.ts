import { ConversationRows } from "@messaging-crm/core/Conversations"
import {
  type Message,
  type MessageColumns,
  MessageRows,
  MessageStore,
  ProviderMessageRows
} from "@messaging-crm/core/Messages"
import { Layer, Option, Struct } from "effect"
import { longPage, positionOf } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

const toMessage = (row: Table.Row<MessageColumns>): Message => Struct.omit(row, ["channel_id", "version"])

/** The long columns of a message. */
export const long_columns = ["details", "media", "text"] as const

/** Layer that keeps messages in the in-memory world. */
export const layer = Layer.effect(
  MessageStore,
  World.useSync(({ modify, read }) =>
    MessageStore.of({
      find: (organization_id, conversation_id, id) =>
        read(({ tables }) =>
          Option.map(Table.get(tables, MessageRows, organization_id, conversation_id, id), toMessage)
        ),
      findByProviderId: (organization_id, channel_id, provider_message_id, erased_ids = []) =>
        read(({ tables }) =>
          Option.map(
            Option.firstSomeOf(
              [...erased_ids, provider_message_id].map((id) =>
                Table.get(tables, ProviderMessageRows, organization_id, channel_id, id)
              )
            ),
            (named) => ({
              ...Struct.pick(named, ["channel_id", "early_updates", "provider_message_id", "version"]),
              message: Option.gen(function*() {
                const conversation_id = yield* Option.fromNullOr(named.conversation_id)
                const id = yield* Option.fromNullOr(named.message_id)
                const message = yield* Table.get(tables, MessageRows, organization_id, conversation_id, id)
                const { contact_id } = yield* Table.get(tables, ConversationRows, organization_id, conversation_id)
                return { ...Struct.omit(message, ["channel_id"]), contact_id }
              })
            })
          )
        ),
      list: (organization_id, conversation_id, request) =>
        read(({ tables }) =>
          longPage(
            Table.all(tables, MessageRows, organization_id).filter((row) => row.conversation_id === conversation_id)
              .map(toMessage),
            request,
            positionOf,
            long_columns
          )
        ),
      purgeEarlyUpdates: (before, limit) =>
        modify((state) => {
          const [old, tables] = Table.purge(
            state.tables,
            ProviderMessageRows,
            ({ created_at, message_id }) => message_id === null ? created_at : null,
            before,
            limit
          )
          return [old.length, { ...state, tables }]
        })
    })
  )
)
