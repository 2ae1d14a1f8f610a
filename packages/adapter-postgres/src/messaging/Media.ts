import { MediaId } from "@messaging-crm/core/Ids"
import { MediaStore } from "@messaging-crm/core/Media"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { first } from "../database/Rows.ts"

const file = first(Schema.Struct({
  id: MediaId,
  mime_type: Schema.NullOr(Schema.String),
  filename: Schema.NullOr(Schema.String),
  bytes: Schema.Uint8Array
}))

/** Layer that reads the files of messages in PostgreSQL. */
export const layer = Layer.effect(
  MediaStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    return MediaStore.of({
      find: (organization_id, id) =>
        file(sql`
          SELECT id, mime_type, filename, bytes
          FROM media
          WHERE organization_id = ${organization_id} AND id = ${id}
        `)
    })
  })
)
