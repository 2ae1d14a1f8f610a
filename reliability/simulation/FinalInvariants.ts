/** The invariants at the end of a run, after the faults have stopped and every queue is empty. */
import type { WorldState } from "@messaging-crm/adapter-memory/World"
import * as WorldInspection from "@messaging-crm/adapter-memory/WorldInspection"
import { event_age_max } from "@messaging-crm/core/Changes"
import { ContactRows } from "@messaging-crm/core/Contacts"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { MessageRows } from "@messaging-crm/core/Messages"
import { SendRows } from "@messaging-crm/core/Sends"
import { delays, WebhookDeliveryRows } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookRows } from "@messaging-crm/core/Webhooks"
import { Duration, Option } from "effect"
import { assertInvariant, type RaisedEvent } from "./CommitInvariants.ts"
import type { Endpoints } from "./Endpoints.ts"
import type { Network } from "./Network.ts"
import type { CompletedRequest } from "./Requests.ts"

/** The end of a run. */
export interface End {
  readonly now: number
  readonly organization_id: OrganizationId
  readonly rows: WorldState
  readonly completed: ReadonlyArray<CompletedRequest>
  readonly endpoints: Endpoints
  readonly events: ReadonlyArray<RaisedEvent>
  readonly network: Network
}

/** Each send was accepted once at most, and exactly once if it is sent. */
const assertSendsOnce = ({ network, organization_id, rows }: End) => {
  const sends = WorldInspection.all(rows.tables, SendRows, organization_id)
  for (const { failure_reason, id, status } of sends) {
    const accepted = network.accepted.filter(({ message }) => message.reference === id)
    assertInvariant(accepted.length <= 1, `send ${id} was accepted ${accepted.length} times`)
    assertInvariant(status === "sent" || status === "failed", `send ${id} ends as ${status}`)
    assertInvariant(
      status !== "sent" || accepted.length === 1,
      `send ${id} is sent, and the network has not accepted it`
    )
    if (accepted.length === 1 && status === "failed") {
      const isReported = Array.from(network.acknowledged).some((event) =>
        event.event === "message_status_reported" && event.reference === id
      )
      assertInvariant(failure_reason === "outcome_unknown", `send ${id} was accepted, and fails with ${failure_reason}`)
      assertInvariant(!isReported, `send ${id} was reported, and fails`)
    }
  }
}

const rank: Readonly<Record<string, number>> = { sent: 1, failed: 2, delivered: 3, read: 4 }

/** Each message has the highest status that the network reported, and each inbound message is stored once. */
const assertMessages = ({ network, organization_id, rows }: End) => {
  const messages = WorldInspection.all(rows.tables, MessageRows, organization_id)
  const byId = new Map(messages.map((message) => [message.provider_message_id, message]))
  assertInvariant(byId.size === messages.length, "two messages have the same provider_message_id")
  for (const event of network.acknowledged) {
    if (event.event === "message_received") {
      const message = byId.get(event.provider_message_id)
      assertInvariant(message?.text === event.text, `inbound message ${event.provider_message_id} is lost`)
    }
    if (event.event === "message_status_reported") {
      const message = byId.get(event.provider_message_id)
      // Without a reference, a report cannot prove a send of unknown outcome.
      if (message === undefined && event.reference === null) continue
      assertInvariant(message !== undefined, `message ${event.provider_message_id} was reported, and does not exist`)
      const [current = 0, reported = 0] = [rank[message?.status ?? ""], rank[event.status]]
      assertInvariant(
        current >= reported,
        `message ${event.provider_message_id} is ${message?.status} after ${event.status}`
      )
    }
  }
}

/** Each event got its deliveries, and was delivered to each of its webhooks, or its delivery ended as failed. */
const assertDeliveries = ({ endpoints, events, now, organization_id, rows }: End) => {
  for (const { at, body, deliveries, id, is_subscribed, type } of events) {
    assertInvariant(!is_subscribed || deliveries !== null, `event ${type} ${id} got no deliveries`)
    for (const delivery_id of deliveries ?? []) {
      const delivery = Option.getOrUndefined(
        WorldInspection.get(rows.tables, WebhookDeliveryRows, organization_id, delivery_id)
      )
      const isOld = now - at > Duration.toMillis(event_age_max)
      assertInvariant(delivery !== undefined || isOld, `delivery ${delivery_id} of ${type} was removed before its time`)
      if (delivery === undefined) continue
      const webhook = Option.getOrUndefined(
        WorldInspection.get(rows.tables, WebhookRows, organization_id, delivery.webhook_id)
      )
      const posts = endpoints.posts.filter((post) => post.event_id === id && post.url === webhook?.url)
      assertInvariant(delivery.status !== "pending", `delivery ${delivery_id} of ${type} is still pending`)
      assertInvariant(posts.every((post) => post.body === body), `event ${id} was posted with other bytes`)
      assertInvariant(
        delivery.status !== "succeeded" || posts.some(({ is_accepted }) => is_accepted),
        `delivery ${delivery_id} of ${type} succeeded, and the endpoint accepted nothing`
      )
      assertInvariant(
        delivery.status !== "failed" || webhook?.status === "disabled" || delivery.attempt_count > delays.length,
        `delivery ${delivery_id} of ${type} failed after ${delivery.attempt_count} attempts`
      )
    }
  }
}

/** Returns the number of events of a type with a value in a field. */
const countOf = (events: End["events"], type: string, field: string, value: string): number =>
  events.filter((event) => event.type === type && event.data[field] === value).length

/** Each change raised its event once. */
const assertEvents = ({ events, organization_id, rows }: End) => {
  for (const { direction, id } of WorldInspection.all(rows.tables, MessageRows, organization_id)) {
    const type = direction === "inbound" ? "message.received" : "message.sent"
    const count = countOf(events, type, "message_id", id)
    assertInvariant(count === 1, `message ${id} raised ${type} ${count} times`)
  }
  for (const { id } of WorldInspection.all(rows.tables, ContactRows, organization_id)) {
    const count = countOf(events, "contact.created", "contact_id", id)
    assertInvariant(count === 1, `contact ${id} raised contact.created ${count} times`)
  }
  for (const { id, status } of WorldInspection.all(rows.tables, SendRows, organization_id)) {
    const count = countOf(events, "send.failed", "send_id", id)
    assertInvariant(
      status === "failed" ? count === 1 : count <= 1,
      `send ${id} is ${status} and raised send.failed ${count} times`
    )
  }
  for (const { id, status } of WorldInspection.all(rows.tables, ConversationRows, organization_id)) {
    const [opened, closed] = ["conversation.opened", "conversation.closed"].map((type) =>
      countOf(events, type, "conversation_id", id)
    )
    assertInvariant(
      (opened ?? 0) - (closed ?? 0) === (status === "open" ? 1 : 0),
      `conversation ${id} is ${status}, opened ${opened} times, and closed ${closed} times`
    )
  }
}

/** The last activity of a conversation is its newest message. */
const assertActivity = ({ organization_id, rows }: End) => {
  const messages = WorldInspection.all(rows.tables, MessageRows, organization_id)
  for (const conversation of WorldInspection.all(rows.tables, ConversationRows, organization_id)) {
    const { created_at, id, last_activity_at, last_activity_preview, last_inbound_at } = conversation
    const own = messages.filter(({ conversation_id }) => conversation_id === id)
    const newest = Math.max(created_at.epochMilliseconds, ...own.map((message) => message.created_at.epochMilliseconds))
    assertInvariant(last_activity_at.epochMilliseconds === newest, `conversation ${id} has another last activity`)
    const texts = own.filter((message) => message.created_at.epochMilliseconds === newest).map(({ text }) => text)
    assertInvariant(
      own.length === 0 || texts.includes(last_activity_preview),
      `conversation ${id} shows ${last_activity_preview}`
    )
    const inbound = own.filter(({ direction }) => direction === "inbound")
    assertInvariant(
      (last_inbound_at === null) === (inbound.length === 0),
      `conversation ${id} has another last inbound message`
    )
  }
}

/** Checks that every object exists that a response reported as created. */
const assertCreated = ({ completed, organization_id, rows }: End) => {
  const has = {
    "/contacts": (id: string) => WorldInspection.has(rows.tables, ContactRows, organization_id, id),
    "/webhooks": (id: string) => WorldInspection.has(rows.tables, WebhookRows, organization_id, id),
    "/conversations": (id: string) => WorldInspection.has(rows.tables, SendRows, organization_id, id)
  }
  for (const { request, response } of completed) {
    if (response.status >= 300) continue
    const entry = Object.entries(has).find(([path]) => path === request.path)
    if (entry === undefined) continue
    const { id } = JSON.parse(response.text).data
    assertInvariant(entry[1](id), `${request.path} responded with ${id}, which does not exist`)
  }
}

export const check = (end: End): void => {
  assertSendsOnce(end)
  assertMessages(end)
  assertDeliveries(end)
  assertEvents(end)
  assertActivity(end)
  assertCreated(end)
}
