import { SecretCanaryStore } from "@messaging-crm/core/SecretCanary"
import { Layer, Option } from "effect"
import { World } from "../world/World.ts"

/** Layer that keeps the canary in the in-memory world. */
export const layer = Layer.effect(
  SecretCanaryStore,
  World.useSync(({ modify, read }) =>
    SecretCanaryStore.of({
      find: read(({ secret_canary }) => Option.fromNullOr(secret_canary)),
      insert: (sealed) => modify((rows) => [undefined, { ...rows, secret_canary: rows.secret_canary ?? sealed }]),
      replace: (before, after) =>
        modify((rows) => [undefined, rows.secret_canary === before ? { ...rows, secret_canary: after } : rows])
    })
  )
)
