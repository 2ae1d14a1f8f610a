import type { EventResource } from "@messaging-crm/core/Changes"
import type { StoredEvent } from "@messaging-crm/core/Events"
import * as Table from "../world/Table.ts"

/** An event, with the contact and the message of its resource if that is stored. */
export interface EventColumns extends StoredEvent {
  readonly contact_id: EventResource["contact_id"] | null
  readonly message_id: EventResource["message_id"]
}

/** The columns of an event without a resource. */
export const withoutResource = { full_body: null, contact_id: null, message_id: null }

/** The table of events. */
export const EventRows = Table.own<EventColumns>("events")("id")
