import { TagNameTaken, TagStore } from "@messaging-crm/core/Tags"
import { byCodePoint } from "@messaging-crm/core/Text"
import { Effect, Layer, Option } from "effect"
import * as Table from "./Table.ts"
import { type Rows, World } from "./World.ts"

type Row = Rows["tags"] extends Table.Table<infer Row> ? Row : never

const inOrder = (found: ReadonlyArray<Row>) =>
  found.toSorted((a, b) => byCodePoint(a.name_key, b.name_key)).map((row) => row.tag)

/** Layer that keeps tags in the in-memory world. */
export const layer = Layer.effect(
  TagStore,
  Effect.gen(function*() {
    const world = yield* World

    return TagStore.of({
      insert: (organization_id, tag, name_key) =>
        world.modify((rows) => {
          if (Table.has(rows.tag_names, organization_id, name_key)) return [false, rows]
          return [true, {
            ...rows,
            tags: Table.set(rows.tags, organization_id, tag.id, { tag, name_key }),
            tag_names: Table.set(rows.tag_names, organization_id, name_key, tag.id)
          }]
        }).pipe(Effect.flatMap((inserted) => inserted ? Effect.void : new TagNameTaken({ name: tag.name }))),
      findMany: (organization_id, ids) =>
        world.read((rows) =>
          inOrder(Array.from(new Set(ids)).flatMap((id) => Option.toArray(Table.get(rows.tags, organization_id, id))))
        ),
      list: (organization_id) => world.read((rows) => inOrder(Table.all(rows.tags, organization_id)))
    })
  })
)
