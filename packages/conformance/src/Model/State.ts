/**
 * The state of the model: plain lists that commands change in place, without storage or concurrency, so that a reader can
 * compare the model with the contract.
 *
 * IDs that the service chooses are `Name`s here. `undefined` instead of a row
 * means that the organization has no such row.
 */
import type { Channel, ChannelType } from "@messaging-crm/core/Channels"
import type { ContactField } from "@messaging-crm/core/ContactFields"
import type { AnyEventType, EventType } from "@messaging-crm/core/Events"
import type { Member } from "@messaging-crm/core/Members"
import type { TagColor } from "@messaging-crm/core/Tags"
import type { DateTime } from "effect"
import type { Name } from "./Names.ts"

export interface Tag {
  readonly id: Name
  readonly name: string
  readonly color: TagColor
}

export interface Identity {
  readonly id: Name
  readonly channel_type: ChannelType
  external_id: string
  display_name: string | null
  marketing_opt_out_at: DateTime.Utc | null
  marketing_opt_in_at: DateTime.Utc | null
}

export interface Contact {
  readonly id: Name
  plain: Readonly<Record<string, string | null>>
  custom_values: Readonly<Record<string, string>>
  tags: ReadonlyArray<Tag>
  readonly identities: Array<Identity>
  last: { readonly at: DateTime.Utc; readonly preview: string; readonly conversation: Conversation } | null
  updated_at: DateTime.Utc
}

export interface Conversation {
  readonly id: Name
  readonly channel: Channel
  readonly contact: Contact
  readonly identity: Identity
  readonly created_at: DateTime.Utc
  status: "open" | "closed"
  close_category: string | null
  assigned_user_id: string | null
  opened_at: DateTime.Utc
  closed_at: DateTime.Utc | null
  last_activity_at: DateTime.Utc
  preview: string | null
  last_inbound_at: DateTime.Utc | null
  /** The sends whose last attempt is still to come, in order. */
  lane: ReadonlyArray<Send>
}

export interface Message {
  readonly id: Name
  readonly conversation: Conversation
  readonly type: string
  readonly text: string | null
  /** The details with which it was received. */
  readonly details: object | null
  sender: { readonly type: string; readonly name: string | null }
  /** Null once the person is erased. */
  provider_message_id: Name | string | null
  readonly created_at: DateTime.Utc
  readonly sent_at: DateTime.Utc
  /** The status updates of an outbound message; null for an inbound one. */
  readonly reports: Array<Report> | null
  readonly revisions: ReadonlyArray<Revision>
}

/** An edit or a deletion by the author of a message. */
export type Revision =
  | { readonly status: "edited"; readonly text: string | null; readonly at: DateTime.Utc }
  | { readonly status: "deleted"; readonly at: DateTime.Utc }

export interface Report {
  readonly status: "sent" | "delivered" | "read" | "failed"
  readonly at: DateTime.Utc
  /** The code of a failure, if the provider reported one. */
  readonly code: number | null
}

export interface Send {
  readonly id: Name
  readonly conversation: Conversation
  /** Null once the person is erased. */
  recipient: string | null
  readonly content: { readonly type: "text" | "template"; readonly text: string }
  readonly created_at: DateTime.Utc
  readonly reports: Array<Report>
  status: "queued" | "sent" | "failed" | "unknown"
  /** Set even for a send that failed with an unknown outcome, and turned out to be sent. */
  message: Message | null
  failure_reason: string | null
  attempts: number
  first_attempt_at: DateTime.Utc | null
  /** When it is tried again or, with an unknown outcome, when it fails. */
  due_at: DateTime.Utc
}

export interface Event {
  readonly type: AnyEventType
  readonly data: Readonly<Record<string, Name | string | null | ReadonlyArray<string>>>
  readonly created_at: DateTime.Utc
  /** Whether it is stored with the message, conversation, or contact. */
  has_resource: boolean
}

/** An event that was posted to a webhook, with or without its message, conversation, or contact. */
export type Post = Omit<Event, "created_at">

export interface Webhook {
  readonly id: Name
  url: string
  /** The URLs that it had before. */
  readonly former_urls: Array<string>
  event_types: ReadonlyArray<EventType>
  include_resource: boolean
  readonly created_at: DateTime.Utc
  disabled_at: DateTime.Utc | null
  /** When its secret was replaced. */
  readonly rotations: Array<DateTime.Utc>
  readonly posted: Array<Post>
  pending: Array<Event>
  readonly abandoned: Array<Event>
  /** The events that are to be posted again: of these times. */
  replay: { readonly since: DateTime.Utc; readonly until: DateTime.Utc } | null
  readonly replayed: Array<Post>
}

export interface Organization {
  readonly id: string
  /** The time of the current command. */
  now: DateTime.Utc
  /** Returns the name of a row that a command creates. */
  readonly newName: () => Name
  readonly channels: ReadonlyArray<Channel>
  readonly members: ReadonlyArray<Member>
  readonly fields: ReadonlyArray<ContactField>
  readonly tags: Array<Tag>
  readonly contacts: Array<Contact>
  readonly conversations: Array<Conversation>
  readonly messages: Array<Message>
  readonly sends: Array<Send>
  /** Keyed by channel and provider message ID. */
  readonly revisions: Map<string, Array<Revision>>
  /** The same keys of erased messages: what the network repeats about them changes nothing. */
  readonly erased_messages: Set<string>
  readonly webhooks: Array<Webhook>
  /** Every event that was raised. */
  readonly events: Array<Event>
  /** The events to which a webhook subscribed, and whose deliveries a worker has not added. */
  unexpanded: Array<Event>
  behavior: "accepts" | "rejects" | "is busy" | "is unresponsive"
}
