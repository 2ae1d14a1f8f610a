/** How the tests of messages insert messages and store early updates. */
import * as Changes from "@messaging-crm/core/Changes"
import type { ChannelId, OrganizationId } from "@messaging-crm/core/Ids"
import { insert, type Message, MessageStore, type MessageUpdate, storeEarlyUpdate } from "@messaging-crm/core/Messages"
import { Effect, Option } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { afterNoon } from "../../Fixtures.ts"

type Thread = Effect.Success<ReturnType<typeof Fixtures.thread>>

/** Inserts a message that has no status updates. */
export const inserted = ({ channel, contact_id }: Thread, message: Message) =>
  insert(channel.id, contact_id, Option.none(), message, null)

/** Stores an update whose message is not stored yet, as an inbound event does. */
export const keepEarly = Effect.fnUntraced(function*(
  organization_id: OrganizationId,
  channel_id: ChannelId,
  provider_message_id: string,
  update: MessageUpdate,
  now = afterNoon(9)
) {
  const stored = yield* MessageStore.use((store) =>
    store.findByProviderId(organization_id, channel_id, provider_message_id)
  )
  const changes = storeEarlyUpdate({ channel_id, provider_message_id }, stored, update, now)
  if (!Changes.isNone(changes)) yield* Fixtures.mustCommit(organization_id, changes)
})
