import { it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { race } from "@messaging-crm/conformance/FollowedOrder"
import * as Provider from "@messaging-crm/conformance/Provider"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { Effect, Layer } from "effect"

const crm = Crm.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Memory.layer, Provider.layer("callback_ref"), Ids.layer))
)

it.layer(crm)("Followers of events", (it) => {
  for (let seed = 1; seed <= 5; seed++) {
    it.effect(`read the same order while writers stall: seed ${seed}`, () =>
      race({
        seed,
        writers: 8,
        commits: 20,
        followers: 3,
        run: ({ commit, isRolledBack, stalls }) =>
          Effect.andThen(Effect.replicateEffect(Effect.yieldNow, stalls), isRolledBack ? Effect.void : commit)
      }))
  }
})
