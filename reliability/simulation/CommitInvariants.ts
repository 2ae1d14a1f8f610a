/** The invariants of each commit: a status changes only as the contract allows, and each event has the work that adds its deliveries. */
import type { WorldState } from "@messaging-crm/adapter-memory/World"
import * as WorldInspection from "@messaging-crm/adapter-memory/WorldInspection"
import { deliveryIdOf } from "@messaging-crm/core/Changes"
import { type ConversationColumns, ConversationRows } from "@messaging-crm/core/Conversations"
import type { EventId, OrganizationId } from "@messaging-crm/core/Ids"
import { type MessageColumns, MessageRows } from "@messaging-crm/core/Messages"
import { type SendColumns, SendRows } from "@messaging-crm/core/Sends"
import { type WebhookDelivery, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { Option } from "effect"
import type { Committed } from "./Store.ts"

/** An event of a commit. */
export interface RaisedEvent {
  readonly id: EventId
  readonly type: string
  readonly body: string
  readonly at: number
  readonly data: Readonly<Record<string, string>>
  /** The IDs of its deliveries; null until a worker adds them, and for an event to which no webhook subscribes. */
  deliveries: ReadonlyArray<string> | null
  readonly is_subscribed: boolean
}

export interface CommitInvariants {
  /** Checks a commit, and throws a `Violation` if an invariant does not hold. */
  readonly check: (committed: Committed) => void
  /** The events of all commits so far. */
  readonly events: () => ReadonlyArray<RaisedEvent>
}

/** The statuses that can follow each status of a send. A late report can prove that a send of unknown outcome was accepted. */
const sendTransitions: Readonly<Record<string, ReadonlyArray<string>>> = {
  queued: ["queued", "sending", "sent", "failed"],
  sending: ["queued", "sending", "sent", "failed", "unknown"],
  unknown: ["unknown", "sent", "failed"],
  sent: ["sent"],
  failed: ["failed"]
}

const messageTransitions: Readonly<Record<string, ReadonlyArray<string>>> = {
  received: ["received"],
  sent: ["sent", "delivered", "read", "failed"],
  delivered: ["delivered", "read"],
  read: ["read"],
  failed: ["failed", "delivered", "read"]
}

/** An attempt that is in progress while its webhook is disabled is recorded, after its delivery has failed. */
const deliveryTransitions: Readonly<Record<string, ReadonlyArray<string>>> = {
  pending: ["pending", "succeeded", "failed"],
  succeeded: ["succeeded", "pending"],
  failed: ["failed", "pending", "succeeded"]
}

/** An invariant that does not hold. */
export class Violation extends Error {
  override readonly name = "Violation"
}

/** Throws a `Violation` unless an invariant holds. */
export const assertInvariant = (holds: boolean, violation: string): void => {
  if (!holds) throw new Violation(violation)
}

/** Returns the rows of a table that a commit wrote, before and after it. */
const written = <Columns extends { readonly id: string }>(
  { after, before, changes, organization_id }: Committed,
  of: WorldInspection.TableRef<Columns>
) => {
  const ids = [
    ...(changes.update ?? []).filter(({ table }) => table === of.table).map(({ key }) => String(key["id"])),
    // A table's rows have its columns.
    ...(changes.insert ?? []).filter(({ table }) => table === of.table)
      .flatMap(({ rows }) => rows as ReadonlyArray<Columns>).map(({ id }) => id)
  ]
  return ids.map((id) => ({
    was: Option.getOrNull(WorldInspection.get(before.tables, of, organization_id, id)),
    is: Option.getOrNull(WorldInspection.get(after.tables, of, organization_id, id))
  }))
}

const assertTransitions = (
  kind: string,
  transitions: Readonly<Record<string, ReadonlyArray<string>>>,
  rows: ReadonlyArray<{
    readonly was: { readonly id: string; readonly status: string } | null
    readonly is: { readonly status: string } | null
  }>
) => {
  for (const { is, was } of rows) {
    if (was === null || is === null) continue
    assertInvariant(
      transitions[was.status]?.includes(is.status) === true,
      `${kind} ${was.id} goes from ${was.status} to ${is.status}`
    )
  }
}

const isOutcomeUnknown = ({ failure_reason, status }: SendColumns): boolean =>
  status === "failed" && failure_reason === "outcome_unknown"

const assertOneOpen = (
  { tables }: WorldState,
  organization_id: OrganizationId,
  { channel_id, contact_id }: ConversationColumns
) => {
  const open = WorldInspection.all(tables, ConversationRows, organization_id).filter((one) =>
    one.channel_id === channel_id && one.contact_id === contact_id && one.status === "open"
  )
  assertInvariant(open.length <= 1, `contact ${contact_id} has ${open.length} open conversations on one channel`)
}

const assertStates = (committed: Committed) => {
  const sends = written<SendColumns>(committed, SendRows)
  assertTransitions("send", sendTransitions, sends.filter(({ was }) => was === null || !isOutcomeUnknown(was)))
  for (const { is, was } of sends) {
    assertInvariant(
      was === null || !isOutcomeUnknown(was) || is?.status === "sent",
      `send ${was?.id} leaves outcome_unknown`
    )
    assertInvariant(
      is === null || (is.status === "sent") === (is.message_id !== null),
      `send ${is?.id} and its message disagree`
    )
  }
  assertTransitions("message", messageTransitions, written<MessageColumns>(committed, MessageRows))
  assertTransitions("delivery", deliveryTransitions, written<WebhookDelivery>(committed, WebhookDeliveryRows))
  for (const { is } of written<ConversationColumns>(committed, ConversationRows)) {
    if (is !== null) assertOneOpen(committed.after, committed.organization_id, is)
  }
}

/** Returns the active webhooks before a commit that subscribe to an event. */
const subscribersOf = ({ before, organization_id }: Committed, event: { readonly type: string }) =>
  WorldInspection.all(before.tables, WebhookRows, organization_id).filter(({ event_types, status }) =>
    status === "active" && event_types.some((type) => type === event.type)
  )

/** Returns the deliveries that the commit of an event's expansion must leave. */
const expandedDeliveries = (committed: Committed, { at, id, type }: RaisedEvent): ReadonlyArray<string> => {
  const deliveries = subscribersOf(committed, { type })
    .filter(({ created_at }) => created_at.epochMilliseconds <= at)
    .map((webhook) => deliveryIdOf(id, webhook.id))
  for (const delivery_id of deliveries) {
    const has = WorldInspection.has(
      committed.after.tables,
      WebhookDeliveryRows,
      committed.organization_id,
      delivery_id
    )
    assertInvariant(has, `event ${type} ${id} has no delivery ${delivery_id}`)
  }
  return deliveries
}

export const make = (): CommitInvariants => {
  const events = new Map<EventId, RaisedEvent>()
  return {
    events: () => Array.from(events.values()),
    check: (committed) => {
      assertStates(committed)
      for (const event of committed.changes.raise ?? []) {
        const { body, created_at, id, type } = event
        events.set(id, {
          id,
          type,
          body,
          at: created_at.epochMilliseconds,
          data: JSON.parse(body).data,
          deliveries: null,
          is_subscribed: subscribersOf(committed, event).length > 0
        })
      }
      for (const { event_id } of committed.changes.expand ?? []) {
        const event = events.get(event_id)
        if (event !== undefined) event.deliveries = expandedDeliveries(committed, event)
      }
    }
  }
}
