import { ChannelHoldRows } from "@messaging-crm/core/ChannelHolds"
import { ChannelRows } from "@messaging-crm/core/Channels"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import { MemberRows } from "@messaging-crm/core/Members"
import { SendRows, SendStore, toSend } from "@messaging-crm/core/Sends"
import { DateTime, Layer, Option, Struct } from "effect"
import { page, positionOf } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps sends in the in-memory world. */
export const layer = Layer.effect(
  SendStore,
  World.useSync(({ read }) =>
    SendStore.of({
      find: (organization_id, id) => read(({ tables }) => Table.get(tables, SendRows, organization_id, id)),
      list: (organization_id, { conversation_id, created_since, status }, request) =>
        read(({ tables }) =>
          page(
            Table.all(tables, SendRows, organization_id).filter((send) =>
              (status === null || send.status === status) &&
              (conversation_id === null || send.conversation_id === conversation_id) &&
              (created_since === null || DateTime.isGreaterThanOrEqualTo(send.created_at, created_since))
            ),
            request,
            positionOf
          ).map(toSend)
        ),
      load: (organization_id, id) =>
        read(({ tables }) =>
          Option.gen(function*() {
            const send = yield* Table.get(tables, SendRows, organization_id, id)
            const conversation = yield* Table.get(tables, ConversationRows, organization_id, send.conversation_id)
            const channel = yield* Table.get(tables, ChannelRows, organization_id, send.channel_id)
            const hold = Table.get(tables, ChannelHoldRows, organization_id, send.channel_id)
            const member = send.member_id === null
              ? Option.none()
              : Table.get(tables, MemberRows, organization_id, send.member_id)
            return {
              send,
              channel: Table.plain(channel),
              hold: Option.getOrNull(hold),
              ...Struct.pick(conversation, ["contact_id", "identity_id"]),
              member_name: Option.getOrNull(Option.map(member, ({ name }) => name))
            }
          })
        )
    })
  )
)
