import { MediaFile, MediaStore } from "@messaging-crm/core/Media"
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { count, date, first, run } from "../database/RowCodecs.ts"

const file = first(MediaFile)

const slice = first(Schema.Struct({ bytes: Schema.Uint8Array }))

/** Layer that stores the files of messages in PostgreSQL. A file is incomplete while its row has no size. */
export const layer = Layer.effect(
  MediaStore,
  SqlClient.SqlClient.useSync((sql) =>
    MediaStore.of({
      find: (organization_id, id) =>
        file(sql`
          SELECT id, mime_type, filename, byte_size
          FROM media
          WHERE organization_id = ${organization_id} AND id = ${id} AND byte_size IS NOT NULL
        `),
      // The bytes are stored without compression, so PostgreSQL reads only what `substring` needs.
      read: (organization_id, id, { length, start }) =>
        slice(sql`
          SELECT substring(bytes FROM ${start}::integer - start + 1 FOR ${length}::integer) AS bytes
          FROM media_slices
          WHERE organization_id = ${organization_id} AND media_id = ${id} AND start <= ${start}::integer
          ORDER BY start DESC
          LIMIT 1
        `).pipe(
          Effect.map(Option.map(({ bytes }) => bytes)),
          Effect.map(Option.filter(({ byteLength }) => byteLength > 0))
        ),
      begin: (organization_id, id, begun_at) =>
        run(sql`
          INSERT INTO media (organization_id, id, begun_at) VALUES (${organization_id}, ${id}, ${date(begun_at)})
        `),
      append: (organization_id, id, { bytes, start }) =>
        run(sql`
          INSERT INTO media_slices (organization_id, media_id, start, bytes)
          VALUES (${organization_id}, ${id}, ${start}, ${bytes})
        `),
      discard: (organization_id, id) =>
        run(sql`
          DELETE FROM media
          WHERE organization_id = ${organization_id} AND id = ${id} AND byte_size IS NULL
        `),
      purgeUnfinished: (before, limit) =>
        count(sql`
          DELETE FROM media
          WHERE byte_size IS NULL AND (organization_id, id) IN (
            SELECT organization_id, id
            FROM media
            WHERE byte_size IS NULL AND begun_at < ${date(before)}
            LIMIT ${limit}
            FOR UPDATE SKIP LOCKED
          )
          RETURNING 1
        `)
    })
  )
)
