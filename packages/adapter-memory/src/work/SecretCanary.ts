import { SecretCanaryStore } from "@messaging-crm/core/SecretCanary"
import { Layer, Option } from "effect"
import { World } from "../world/World.ts"

/** Layer that keeps the canary in the in-memory world. */
export const layer = Layer.effect(
  SecretCanaryStore,
  World.useSync(({ modify, read }) =>
    SecretCanaryStore.of({
      find: read(({ secret_canary }) => Option.fromNullOr(secret_canary)),
      insert: (sealed) => modify((state) => [undefined, { ...state, secret_canary: state.secret_canary ?? sealed }]),
      replace: (before, after) =>
        modify((state) => [undefined, state.secret_canary === before ? { ...state, secret_canary: after } : state])
    })
  )
)
