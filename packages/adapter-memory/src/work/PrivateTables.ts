/** Tables that core does not declare. */
import type { AuditRecord } from "@messaging-crm/core/Audit"
import type { EventResource, RecordedResponse } from "@messaging-crm/core/Changes"
import type { StoredEvent } from "@messaging-crm/core/Events"
import type { MediaId, OrganizationId } from "@messaging-crm/core/Ids"
import { MediaRows } from "@messaging-crm/core/Media"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import * as Table from "../world/Table.ts"

export const AuditRows = Table.privateTable<AuditRecord>("audit_records")("id")

export const IdempotencyRows = Table.privateTable<RecordedResponse>("idempotency")("key")

/** An event, with the contact and the message of its resource if that is stored. */
export interface EventColumns extends StoredEvent {
  readonly contact_id: EventResource["contact_id"] | null
  readonly message_id: EventResource["message_id"]
  /** The number of the commit that stored it. */
  readonly committed_in: number
}

/** The columns of an event without a resource. */
export const withoutResource = { full_body: null, contact_id: null, message_id: null }

export const EventRows = Table.privateTable<EventColumns>("events")("id")

export interface StoredBytes {
  readonly id: MediaId
  readonly begun_at: Timestamp
  readonly slices: ReadonlyArray<{ readonly start: number; readonly bytes: Uint8Array }>
}

/** The bytes of files, whether their row is committed or not. */
export const BytesRows = Table.privateTable<StoredBytes>("media_bytes")("id")

/** Removes a file: its row and its bytes. */
export const removeFile = (tables: Table.Tables, owner: OrganizationId, id: string): Table.Tables =>
  Table.remove(Table.remove(tables, MediaRows, owner, id), BytesRows, owner, id)
