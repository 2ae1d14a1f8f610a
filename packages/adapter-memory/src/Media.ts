import { MediaStore } from "@messaging-crm/core/Media"
import { Effect, Layer } from "effect"
import * as Table from "./Table.ts"
import { World } from "./World.ts"

/** Layer that keeps the files of messages in the in-memory world. */
export const layer = Layer.effect(
  MediaStore,
  Effect.gen(function*() {
    const world = yield* World

    return MediaStore.of({
      keep: (organization_id, file) =>
        world.modify((rows) => [undefined, {
          ...rows,
          media: Table.set(rows.media, organization_id, file.id, file)
        }]),
      find: (organization_id, id) => world.read((rows) => Table.get(rows.media, organization_id, id)),
      remove: (organization_id, id) =>
        world.modify((rows) => [undefined, { ...rows, media: Table.remove(rows.media, organization_id, id) }])
    })
  })
)
