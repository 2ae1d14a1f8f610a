import { SendStore } from "@messaging-crm/core/Sends"
import { Effect, Layer, Option } from "effect"
import * as Table from "./Table.ts"
import { World } from "./World.ts"

/** Layer that keeps sends in the in-memory world. */
export const layer = Layer.effect(
  SendStore,
  Effect.gen(function*() {
    const world = yield* World

    return SendStore.of({
      insert: (organization_id, row) =>
        world.modify((rows) => [undefined, {
          ...rows,
          sends: Table.set(rows.sends, organization_id, row.send.id, row)
        }]),
      find: (organization_id, id) => world.read((rows) => Table.get(rows.sends, organization_id, id)),
      // A unit of work has the turn to itself, so reading is locking.
      lock: (organization_id, id) => world.read((rows) => Table.get(rows.sends, organization_id, id)),
      update: (organization_id, { first_attempt_at, send }) =>
        world.modify((rows) => {
          const found = Table.get(rows.sends, organization_id, send.id)
          if (Option.isNone(found)) return [undefined, rows]
          const { failure_reason, message_id, status } = send
          const row = {
            ...found.value,
            send: { ...found.value.send, failure_reason, message_id, status },
            first_attempt_at
          }
          return [undefined, { ...rows, sends: Table.set(rows.sends, organization_id, send.id, row) }]
        })
    })
  })
)
