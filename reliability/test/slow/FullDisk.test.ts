/** A database in which every write fails. `npm run disk-test` fills a real file system, which only root can mount. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Cluster from "../../../packages/server/testing/processes/Cluster.ts"
import { drill, rejecting } from "../../drills/disk/FullDisk.ts"
import * as Writes from "../../drills/harness/Writes.ts"

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
