import { type IdempotencyKey, IdempotencyStore, RequestProcessing } from "@messaging-crm/core/Idempotency"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Layer, MutableHashSet } from "effect"
import * as Table from "./Table.ts"
import { World } from "./World.ts"

/** Layer that keeps used idempotency keys in the in-memory world. */
export const layer = Layer.effect(
  IdempotencyStore,
  Effect.gen(function*() {
    const world = yield* World
    const running = MutableHashSet.empty<string>()

    return IdempotencyStore.of({
      // The key is taken before the turn, so that a second caller is told at once instead of waiting.
      exclusively: <A, E, R>(organization_id: OrganizationId, key: IdempotencyKey, effect: Effect.Effect<A, E, R>) =>
        Effect.suspend((): Effect.Effect<A, E | RequestProcessing, R> => {
          const name = `${organization_id}|${key}`
          if (MutableHashSet.has(running, name)) return Effect.fail(new RequestProcessing())
          MutableHashSet.add(running, name)
          return Effect.ensuring(world.transact(effect), Effect.sync(() => MutableHashSet.remove(running, name)))
        }),
      find: (organization_id, key) => world.read((rows) => Table.get(rows.idempotency, organization_id, key)),
      insert: (organization_id, key, record, created_at) =>
        world.modify((rows) => [undefined, {
          ...rows,
          idempotency: Table.set(rows.idempotency, organization_id, key, { ...record, created_at })
        }]),
      purge: (before, limit) =>
        world.modify((rows) => {
          let { idempotency } = rows
          let removed = 0
          for (const [organization_id, shelf] of rows.idempotency) {
            for (const [key, { created_at }] of shelf) {
              if (removed === limit) return [removed, { ...rows, idempotency }]
              if (!DateTime.isLessThan(created_at, before)) continue
              idempotency = Table.remove(idempotency, organization_id, key)
              removed += 1
            }
          }
          return [removed, { ...rows, idempotency }]
        })
    })
  })
)
