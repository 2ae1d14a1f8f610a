/** Raised events: the stored form of an event, before a worker adds its deliveries. */
import { Duration } from "effect"
import type { ContactId, EventId, MessageId, WebhookDeliveryId, WebhookId } from "../kernel/Ids.ts"
import { type Timestamp, withTextTimes } from "../kernel/Timestamps.ts"

/** The resource that an event is about, as the change leaves it. It is encoded and stored only if a webhook asks for it. */
export interface EventResource {
  /** The name of its field in the event's `data`. */
  readonly name: string
  /** The resource as callers see it. Its times become text as `Timestamp` encodes them. */
  readonly value: object
  readonly contact_id: ContactId
  /** Null if the resource is not a message. */
  readonly message_id: MessageId | null
}

/** An event with its exact bytes. If an active webhook subscribes to it, it is stored with work that adds its deliveries. */
export interface RaisedEvent {
  readonly id: EventId
  readonly type: string
  readonly body: string
  readonly created_at: Timestamp
  /** Null where the event is about no message, conversation, or contact. */
  readonly resource: EventResource | null
}

/** Returns the exact bytes of an event with its resource in `data`; null without a resource. */
export const fullBodyOf = ({ body, resource }: Pick<RaisedEvent, "body" | "resource">): string | null =>
  resource === null
    ? null
    // The bytes of an event end with `data`.
    : `${body.slice(0, -"}}".length)},"${resource.name}":${JSON.stringify(withTextTimes(resource.value))}}}`

/** How long events are kept, with their deliveries. */
export const event_age_max = Duration.days(30)

/** Returns the ID of an event's delivery to a webhook. It is derived from both, because a store must not generate IDs. */
export const deliveryIdOf = (event_id: EventId, webhook_id: WebhookId): WebhookDeliveryId => {
  const tail = BigInt(`0x${event_id.slice(24)}`) ^ BigInt(`0x${webhook_id.slice(24)}`)
  // Replacing the last digits of a UUID gives a UUID.
  return `${event_id.slice(0, 24)}${tail.toString(16).padStart(12, "0")}` as WebhookDeliveryId
}
