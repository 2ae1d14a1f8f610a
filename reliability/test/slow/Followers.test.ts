/** Followers of 1,000 events on each store; `npm run follow-test` follows 100,000 and measures their delay. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { drill } from "../../drills/follow/Follow.ts"
import * as Targets from "../../drills/follow/Targets.ts"

const options = { events: 1000, writers: 32, followers: 3, seed: 4711 }

it.live("receive each event once and in one order while writers stall and roll back, in memory", () =>
  Effect.gen(function*() {
    const { events, violations } = yield* drill(yield* Targets.memory, options)
    assert.deepStrictEqual(violations, [])
    assert.isAbove(events, 0)
  }))

it.live("receive each event once and in one order while writers stall and roll back, in PostgreSQL during replays", () =>
  Effect.gen(function*() {
    const { events, replayed, violations } = yield* drill(yield* Targets.postgres(500), options)
    assert.deepStrictEqual(violations, [])
    assert.isAbove(events, 0)
    assert.isAbove(replayed, 0)
  }))
