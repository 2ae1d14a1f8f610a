import { OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { Tag, TagNameTaken, TagStore } from "@messaging-crm/core/Tags"
import { Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"

/** Layer that keeps tags in PostgreSQL. */
export const layer = Layer.effect(
  TagStore,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const list = SqlSchema.findAll({
      Request: OrganizationId,
      Result: Tag,
      execute: (organization_id) =>
        sql`
          SELECT id, name, color
          FROM tags
          WHERE organization_id = ${organization_id}
          ORDER BY name_key
        `
    })

    const findMany = SqlSchema.findAll({
      Request: Schema.Struct({ organization_id: OrganizationId, ids: Schema.Array(TagId) }),
      Result: Tag,
      execute: ({ ids, organization_id }) =>
        sql`
          SELECT id, name, color
          FROM tags
          WHERE organization_id = ${organization_id} AND id = ANY(${ids}::uuid[])
          ORDER BY name_key
        `
    })

    return TagStore.of({
      // `ON CONFLICT` and not the unique violation: an error would abort the caller's transaction.
      insert: (organization_id, { color, id, name }, name_key) =>
        sql`
          INSERT INTO tags ${sql.insert({ organization_id, id, name, name_key, color })}
          ON CONFLICT ON CONSTRAINT tags_name_key_unique DO NOTHING
          RETURNING id
        `.pipe(
          Effect.orDie,
          Effect.flatMap((inserted) => inserted.length === 1 ? Effect.void : new TagNameTaken({ name }))
        ),
      findMany: (organization_id, ids) => Effect.orDie(findMany({ organization_id, ids })),
      list: (organization_id) => Effect.orDie(list(organization_id))
    })
  })
)
