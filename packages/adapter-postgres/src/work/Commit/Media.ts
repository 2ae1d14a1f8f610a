import { MediaRows } from "@messaging-crm/core/Media"
import type { Owned, Part, Values } from "./Part.ts"
import { sortedByKey } from "./Rows.ts"

/** Completes files whose bytes are already stored: from then on, they are visible. */
export const completeFiles = ({ json }: Values, rows: ReadonlyArray<Owned<object>>): Part => ({
  name: "media_completed",
  body: `
    UPDATE media stored
    SET mime_type = given.mime_type, filename = given.filename, byte_size = given.byte_size
    FROM jsonb_to_recordset(${json(sortedByKey(MediaRows.table, rows))}) AS given (
      organization_id uuid, id uuid, mime_type text, filename text, byte_size integer
    )
    WHERE stored.organization_id = given.organization_id AND stored.id = given.id AND stored.byte_size IS NULL
    RETURNING 1`,
  rows: rows.length
})
