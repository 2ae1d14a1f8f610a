import type { MediaId } from "@messaging-crm/core/Ids"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import * as Table from "../world/Table.ts"

export interface StoredBytes {
  readonly id: MediaId
  readonly begun_at: Timestamp
  readonly slices: ReadonlyArray<{ readonly start: number; readonly bytes: Uint8Array }>
}

/** The bytes of files, whether their row is committed or not. */
export const BytesRows = Table.own<StoredBytes>("media_bytes")("id")
