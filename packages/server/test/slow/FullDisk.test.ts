/** A database that takes no writes; `npm run disk-test` fills a real file system, which only root can mount. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { drill, environment, rejecting } from "../../testing/FullDisk.ts"
import * as Processes from "../../testing/Processes.ts"

it.live(
  "with a full disk reads go on and it is not ready; with space again everything continues and nothing is lost",
  () =>
    Effect.gen(function*() {
      const cluster = yield* Processes.cluster({ servers: 1, environment })
      const { live, reads, ready, sent, violations } = yield* drill(cluster, rejecting(cluster.database_url), {
        clients: 3,
        reads: 100
      })
      assert.deepStrictEqual({ live, ready, reads, violations }, {
        live: 200,
        ready: 503,
        reads: { 200: 100 },
        violations: []
      })
      assert.isAbove(sent, 0)
    })
)
