import type { ConversationId, OrganizationId } from "@messaging-crm/core/Ids"
import { type Message, type MessageReport, MessageStore } from "@messaging-crm/core/Messages"
import { DateTime, Effect, Layer, Option } from "effect"
import { page } from "./Order.ts"
import * as Table from "./Table.ts"
import { type Rows, World } from "./World.ts"

const ownerOf = (organization_id: OrganizationId, conversation_id: ConversationId) =>
  `${organization_id}|${conversation_id}`

const put = (rows: Rows, organization_id: OrganizationId, message: Message): Rows => ({
  ...rows,
  messages: Table.set(rows.messages, ownerOf(organization_id, message.conversation_id), message.id, message)
})

const sameReport = (a: MessageReport) => (b: MessageReport): boolean =>
  a.status === b.status && DateTime.Equivalence(a.at, b.at)

/** Layer that keeps messages in the in-memory world. */
export const layer = Layer.effect(
  MessageStore,
  Effect.gen(function*() {
    const world = yield* World

    return MessageStore.of({
      // A unit of work has the turn to itself, so there is nothing more to hold.
      hold: () => Effect.void,
      insert: (organization_id, channel_id, message) =>
        world.modify((rows) => {
          const { conversation_id, id, provider_message_id } = message
          if (provider_message_id === null) return [true, put(rows, organization_id, message)]
          const key = `${channel_id}|${provider_message_id}`
          if (Table.has(rows.provider_messages, organization_id, key)) return [false, rows]
          return [true, {
            ...put(rows, organization_id, message),
            provider_messages: Table.set(rows.provider_messages, organization_id, key, { conversation_id, id })
          }]
        }),
      update: (organization_id, message) =>
        world.modify((rows) => {
          const known = Table.has(rows.messages, ownerOf(organization_id, message.conversation_id), message.id)
          return [undefined, known ? put(rows, organization_id, message) : rows]
        }),
      find: (organization_id, conversation_id, id) =>
        world.read((rows) => Table.get(rows.messages, ownerOf(organization_id, conversation_id), id)),
      findByProviderId: (organization_id, channel_id, provider_message_id) =>
        world.read((rows) =>
          Option.flatMap(
            Table.get(rows.provider_messages, organization_id, `${channel_id}|${provider_message_id}`),
            ({ conversation_id, id }) => Table.get(rows.messages, ownerOf(organization_id, conversation_id), id)
          )
        ),
      list: (organization_id, conversation_id, request) =>
        world.read((rows) =>
          page(Table.all(rows.messages, ownerOf(organization_id, conversation_id)), request, (message) => ({
            at: message.created_at,
            id: message.id
          }))
        ),
      park: (organization_id, channel_id, provider_message_id, report, parked_at) =>
        world.modify((rows) => {
          const key = `${channel_id}|${provider_message_id}`
          const parked = Option.getOrElse(Table.get(rows.parked_reports, organization_id, key), () => [])
          if (parked.some((one) => sameReport(report)(one.report))) return [undefined, rows]
          const all = [...parked, { report, parked_at }]
          return [undefined, {
            ...rows,
            parked_reports: Table.set(rows.parked_reports, organization_id, key, all)
          }]
        }),
      takeParked: (organization_id, channel_id, provider_message_id) =>
        world.modify((rows) => {
          const key = `${channel_id}|${provider_message_id}`
          const parked = Option.getOrElse(Table.get(rows.parked_reports, organization_id, key), () => [])
          const parked_reports = Table.remove(rows.parked_reports, organization_id, key)
          return [parked.map(({ report }) => report), { ...rows, parked_reports }]
        }),
      purgeParked: (before, limit) =>
        world.modify((rows) => {
          let { parked_reports } = rows
          let removed = 0
          for (const [organization_id, shelf] of rows.parked_reports) {
            for (const [key, parked] of shelf) {
              if (removed === limit) return [removed, { ...rows, parked_reports }]
              const old = parked.filter(({ parked_at }) => DateTime.isLessThan(parked_at, before)).slice(
                0,
                limit - removed
              )
              if (old.length === 0) continue
              const rest = parked.filter((one) => !old.includes(one))
              parked_reports = rest.length === 0
                ? Table.remove(parked_reports, organization_id, key)
                : Table.set(parked_reports, organization_id, key, rest)
              removed += old.length
            }
          }
          return [removed, { ...rows, parked_reports }]
        })
    })
  })
)
