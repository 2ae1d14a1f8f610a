import type { Owned, Part, Values } from "./Part.ts"

/** Completes files whose bytes are already stored: from then on, they are visible. */
export const insertFiles = ({ json }: Values, rows: ReadonlyArray<Owned<object>>): Part => ({
  name: "media_inserted",
  body: `
    UPDATE media r
    SET mime_type = n.mime_type, filename = n.filename, byte_size = n.byte_size
    FROM jsonb_to_recordset(${json(rows)}) AS n (
      organization_id uuid, id uuid, mime_type text, filename text, byte_size integer
    )
    WHERE r.organization_id = n.organization_id AND r.id = n.id AND r.byte_size IS NULL
    RETURNING 1`,
  rows: rows.length
})
