import { it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { race } from "@messaging-crm/conformance/FollowedOrder"
import * as Provider from "@messaging-crm/conformance/Provider"
import { Effect } from "effect"

const crm = Provider.crm(Memory.layer)

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
