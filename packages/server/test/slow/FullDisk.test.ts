/** A database in which every write fails. `npm run disk-test` fills a real file system, which only root can mount. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { drill, rejecting } from "../../testing/drills/FullDisk.ts"
import * as Writes from "../../testing/drills/Writes.ts"
import * as Cluster from "../../testing/processes/Cluster.ts"

it.live(
  "reads continue while the disk is full, and writes resume without a loss when it has space",
  () =>
    Effect.gen(function*() {
      const cluster = yield* Cluster.make({ servers: 1, environment: Writes.environment })
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
