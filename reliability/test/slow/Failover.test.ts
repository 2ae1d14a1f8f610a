/** One failover of the database under load; `npm run failover-test` runs 20 and measures their times. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { folder } from "../../../packages/server/testing/Folder.ts"
import { drill } from "../../drills/failover/Failover.ts"

it.live(
  "the service continues after a failover of its database, without a restart and without a loss",
  () =>
    Effect.gen(function*() {
      const directory = yield* folder
      const { failovers, sent, violations } = yield* drill({ directory, failovers: 1, clients: 3 })
      assert.deepStrictEqual(violations, [])
      assert.lengthOf(failovers, 1)
      assert.isAbove(sent, 0)
    })
)
