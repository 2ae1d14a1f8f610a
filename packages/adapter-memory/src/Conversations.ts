import { type ConversationRow, ConversationStore } from "@messaging-crm/core/Conversations"
import type { ConversationId, OrganizationId } from "@messaging-crm/core/Ids"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { DateTime, Effect, Layer, Option } from "effect"
import { page } from "./Order.ts"
import * as Table from "./Table.ts"
import { type Rows, World } from "./World.ts"

/** What of a conversation is its own; the rest is looked up when it is read. */
export type Thread = Omit<
  ConversationRow,
  "channel_type" | "display_name" | "external_id" | "first_name" | "last_name" | "username"
>

const toRow = (rows: Rows, organization_id: OrganizationId, thread: Thread): ConversationRow => {
  const channel = Option.getOrThrow(Table.get(rows.channels, organization_id, thread.channel_id))
  const contact = Option.getOrThrow(Table.get(rows.contacts, organization_id, thread.contact_id))
  const identity = Option.getOrThrow(
    Option.fromUndefinedOr(contact.identities.find(({ id }) => id === thread.identity_id))
  )
  return {
    ...thread,
    channel_type: channel.type,
    first_name: contact.first_name,
    last_name: contact.last_name,
    external_id: identity.external_id,
    display_name: identity.display_name,
    username: identity.username
  }
}

const find = (rows: Rows, organization_id: OrganizationId, id: ConversationId) =>
  Option.map(Table.get(rows.conversations, organization_id, id), (thread) => toRow(rows, organization_id, thread))

const put = (rows: Rows, organization_id: OrganizationId, thread: Thread): Rows => ({
  ...rows,
  conversations: Table.set(rows.conversations, organization_id, thread.id, thread)
})

const reopen = (thread: Thread, now: Timestamp): Thread =>
  thread.status === "open"
    ? thread
    : { ...thread, status: "open", opened_at: now, closed_at: null, close_category: null }

const later = (a: Timestamp | null, b: Timestamp | null): Timestamp | null => {
  if (a === null || b === null) return a ?? b
  return DateTime.max(a, b)
}

/** Layer that keeps conversations in the in-memory world. */
export const layer = Layer.effect(
  ConversationStore,
  Effect.gen(function*() {
    const world = yield* World

    return ConversationStore.of({
      open: (organization_id, id, { channel_id, contact_id, identity_id }, now) =>
        world.modify((rows) => {
          const key = `${channel_id}|${identity_id}`
          const known = Option.flatMap(
            Table.get(rows.threads, organization_id, key),
            (known_id) => Table.get(rows.conversations, organization_id, known_id)
          )
          if (Option.isSome(known)) return [known.value.id, put(rows, organization_id, reopen(known.value, now))]
          const thread: Thread = {
            id,
            channel_id,
            contact_id,
            identity_id,
            status: "open",
            close_category: null,
            assigned_user_id: null,
            agent_id: null,
            created_at: now,
            opened_at: now,
            closed_at: null,
            last_activity_at: now,
            last_activity_preview: null,
            last_inbound_at: null
          }
          const threads = Table.set(rows.threads, organization_id, key, id)
          return [id, { ...put(rows, organization_id, thread), threads }]
        }),
      find: (organization_id, id) => world.read((rows) => find(rows, organization_id, id)),
      // A unit of work has the turn to itself, so reading is locking.
      lock: (organization_id, id) => world.read((rows) => find(rows, organization_id, id)),
      list: (organization_id, { assigned_user_id, status }, request) =>
        world.read((rows) =>
          page(
            Table.all(rows.conversations, organization_id).filter((thread) =>
              (status === null || thread.status === status) &&
              (assigned_user_id === null || thread.assigned_user_id === assigned_user_id)
            ),
            request,
            (thread) => ({ at: thread.last_activity_at, id: thread.id })
          ).map((thread) => toRow(rows, organization_id, thread))
        ),
      update: (organization_id, { assigned_user_id, close_category, closed_at, id, opened_at, status }) =>
        world.modify((rows) => {
          const found = Table.get(rows.conversations, organization_id, id)
          if (Option.isNone(found)) return [undefined, rows]
          const changed = { ...found.value, assigned_user_id, close_category, closed_at, opened_at, status }
          return [undefined, put(rows, organization_id, changed)]
        }),
      recordActivity: (organization_id, id, { at, last_inbound_at, preview }) =>
        world.modify((rows) => {
          const thread = Option.getOrThrow(Table.get(rows.conversations, organization_id, id))
          const is_older = DateTime.isLessThan(at, thread.last_activity_at)
          const moved: Thread = {
            ...thread,
            last_activity_at: DateTime.max(thread.last_activity_at, at),
            last_activity_preview: is_older ? thread.last_activity_preview : preview,
            last_inbound_at: later(thread.last_inbound_at, last_inbound_at)
          }
          return [thread.contact_id, put(rows, organization_id, moved)]
        }),
      replacePreview: (organization_id, id, at, last_activity_preview) =>
        world.modify((rows) => {
          const thread = Option.filter(
            Table.get(rows.conversations, organization_id, id),
            ({ last_activity_at }) => DateTime.Equivalence(last_activity_at, at)
          )
          if (Option.isNone(thread)) return [Option.none(), rows]
          const { contact_id } = thread.value
          return [Option.some(contact_id), put(rows, organization_id, { ...thread.value, last_activity_preview })]
        })
    })
  })
)
