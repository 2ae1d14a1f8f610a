/** The invariants of a run, checked at each commit: states move as the contract says, and nothing is lost. */
import type { WorldState } from "@messaging-crm/adapter-memory/World"
import type { Changes } from "@messaging-crm/core/Changes"
import { deliveryIdOf } from "@messaging-crm/core/Changes"
import { type ConversationColumns, ConversationRows } from "@messaging-crm/core/Conversations"
import type { EventId, OrganizationId } from "@messaging-crm/core/Ids"
import { type MessageColumns, MessageRows } from "@messaging-crm/core/Messages"
import { type SendColumns, SendRows } from "@messaging-crm/core/Sends"
import { type WebhookDelivery, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { Option } from "effect"
import * as Table from "../../adapter-memory/src/world/Table.ts"
import type { Committed } from "./Store.ts"

/** An event as it was raised. */
export interface Raised {
  readonly id: EventId
  readonly type: string
  readonly body: string
  readonly at: number
  readonly data: Readonly<Record<string, string>>
  /** The ids of its deliveries. */
  readonly deliveries: ReadonlyArray<string>
}

export interface Ledger {
  readonly record: (committed: Committed) => void
  readonly events: ReadonlyArray<Raised>
}

/** The statuses that may follow one of a send. A report can prove later that a send of unknown outcome was accepted. */
const after_send: Readonly<Record<string, ReadonlyArray<string>>> = {
  queued: ["queued", "sending", "sent", "failed", "unknown"],
  sending: ["queued", "sending", "sent", "failed", "unknown"],
  unknown: ["unknown", "sent", "failed"],
  sent: ["sent"],
  failed: ["failed"]
}

const after_message: Readonly<Record<string, ReadonlyArray<string>>> = {
  received: ["received"],
  sent: ["sent", "delivered", "read", "failed"],
  delivered: ["delivered", "read"],
  read: ["read"],
  failed: ["failed", "delivered", "read"]
}

/** An attempt that is in progress while its webhook is disabled is recorded, after its delivery has failed. */
const after_delivery: Readonly<Record<string, ReadonlyArray<string>>> = {
  pending: ["pending", "succeeded", "failed"],
  succeeded: ["succeeded", "pending"],
  failed: ["failed", "pending", "succeeded"]
}

/** A claim about the run that does not hold. */
export class Violation extends Error {
  override readonly name = "Violation"
}

export const require = (holds: boolean, claim: string): void => {
  if (!holds) throw new Violation(claim)
}

/** Returns the rows of a table that a commit wrote, before and after it. */
const written = <Columns extends { readonly id: string }>(
  { after, before, changes, organization_id }: Committed,
  of: Parameters<typeof Table.get<Columns>>[1]
) => {
  const ids = [
    ...(changes.update ?? []).filter(({ table }) => table === of.table).map(({ key }) => String(key["id"])),
    // A table's rows have its columns.
    ...(changes.insert ?? []).filter(({ table }) => table === of.table)
      .flatMap(({ rows }) => rows as ReadonlyArray<Columns>).map(({ id }) => id)
  ]
  return ids.map((id) => ({
    was: Option.getOrNull(Table.get(before.tables, of, organization_id, id)),
    is: Option.getOrNull(Table.get(after.tables, of, organization_id, id))
  }))
}

const requireOrder = (
  what: string,
  order: Readonly<Record<string, ReadonlyArray<string>>>,
  rows: ReadonlyArray<{
    readonly was: { readonly id: string; readonly status: string } | null
    readonly is: { readonly status: string } | null
  }>
) => {
  for (const { is, was } of rows) {
    if (was === null || is === null) continue
    require(
      order[was.status]?.includes(is.status) === true,
      `${what} ${was.id} goes from ${was.status} to ${is.status}`
    )
  }
}

const isOutcomeUnknown = ({ failure_reason, status }: SendColumns): boolean =>
  status === "failed" && failure_reason === "outcome_unknown"

const requireOneOpen = (
  { tables }: WorldState,
  organization_id: OrganizationId,
  { channel_id, contact_id }: ConversationColumns
) => {
  const open = Table.all(tables, ConversationRows, organization_id).filter((one) =>
    one.channel_id === channel_id && one.contact_id === contact_id && one.status === "open"
  )
  require(open.length <= 1, `contact ${contact_id} has ${open.length} open conversations on one channel`)
}

const requireStates = (committed: Committed) => {
  const sends = written<SendColumns>(committed, SendRows)
  requireOrder("send", after_send, sends.filter(({ was }) => was === null || !isOutcomeUnknown(was)))
  for (const { is, was } of sends) {
    require(was === null || !isOutcomeUnknown(was) || is?.status === "sent", `send ${was?.id} leaves outcome_unknown`)
    require(
      is === null || (is.status === "sent") === (is.message_id !== null),
      `send ${is?.id} and its message disagree`
    )
  }
  requireOrder("message", after_message, written<MessageColumns>(committed, MessageRows))
  requireOrder("delivery", after_delivery, written<WebhookDelivery>(committed, WebhookDeliveryRows))
  for (const { is } of written<ConversationColumns>(committed, ConversationRows)) {
    if (is !== null) requireOneOpen(committed.after, committed.organization_id, is)
  }
}

const deliveriesOf = ({ after, before, organization_id }: Committed, event: NonNullable<Changes["raise"]>[number]) =>
  Table.all(before.tables, WebhookRows, organization_id).flatMap(({ event_types, id, status }) => {
    const now = Option.getOrNull(Table.get(after.tables, WebhookRows, organization_id, id))
    const isSubscribed = status === "active" && now?.status === "active" &&
      event_types.some((type) => type === event.type)
    return isSubscribed ? [deliveryIdOf(event.id, id)] : []
  })

export const make = (now: () => number): Ledger => {
  const events: Array<Raised> = []
  return {
    events,
    record: (committed) => {
      requireStates(committed)
      for (const event of committed.changes.raise ?? []) {
        const deliveries = deliveriesOf(committed, event)
        for (const id of deliveries) {
          const has = Table.has(committed.after.tables, WebhookDeliveryRows, committed.organization_id, id)
          require(has, `event ${event.type} ${event.id} has no delivery ${id}`)
        }
        const { data } = JSON.parse(event.body)
        events.push({ id: event.id, type: event.type, body: event.body, at: now(), data, deliveries })
      }
    }
  }
}
