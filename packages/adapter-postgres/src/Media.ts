import { MediaId, OrganizationId } from "@messaging-crm/core/Ids"
import { MediaStore } from "@messaging-crm/core/Media"
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"

const Row = Schema.Struct({
  id: MediaId,
  mime_type: Schema.NullOr(Schema.String),
  filename: Schema.NullOr(Schema.String),
  bytes: Schema.Uint8Array
})

/** Layer that keeps the files of messages in PostgreSQL. */
export const layer = Layer.effect(
  MediaStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const find = SqlSchema.findOneOption({
      Request: Schema.Struct({ organization_id: OrganizationId, id: MediaId }),
      Result: Row,
      execute: ({ id, organization_id }) =>
        sql`
          SELECT id, mime_type, filename, bytes
          FROM media
          WHERE organization_id = ${organization_id} AND id = ${id}
        `
    })

    return MediaStore.of({
      keep: (organization_id, { bytes, filename, id, mime_type }) =>
        sql`
          INSERT INTO media ${sql.insert({ organization_id, id, mime_type, filename, bytes })}
        `.pipe(Effect.orDie, Effect.asVoid),
      find: (organization_id, id) => Effect.orDie(find({ organization_id, id })),
      remove: (organization_id, id) =>
        sql`
          DELETE FROM media
          WHERE organization_id = ${organization_id} AND id = ${id}
        `.pipe(Effect.orDie, Effect.asVoid)
    })
  })
)
