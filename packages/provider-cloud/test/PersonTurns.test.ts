/** Callbacks about several people, whose turns they wait for. */
import { assert, it } from "@effect/vitest"
import { literal } from "@messaging-crm/conformance/Arbitraries"
import { Arbitrary, Deferred, Duration, Effect, Exit } from "effect"
import * as PersonTurns from "../src/PersonTurns.ts"

const notRun = Exit.fail("not run")

/** Lists of people, of which several have one in common. */
const anyCallbacks = Arbitrary.array(
  Arbitrary.array(literal("a", "b", "c", "d"), { minLength: 1, maxLength: 4 }),
  { minLength: 2, maxLength: 6 }
)

it.effect.prop(
  "callbacks about the same people in any order never wait for each other",
  { callbacks: anyCallbacks },
  ({ callbacks }) =>
    Effect.gen(function*() {
      const inTurn = yield* PersonTurns.make(Duration.minutes(1))
      const may_end = yield* Deferred.make<void>()
      // One callback about each person makes the others wait.
      const first = ["a", "b", "c", "d"].map((person) =>
        inTurn([person], Effect.as(Deferred.await(may_end), Exit.void), notRun)
      )
      const later = callbacks.map((people) => inTurn(Array.from(new Set(people)), Effect.succeed(Exit.void), notRun))
      const running = yield* Effect.forkChild(Effect.all([...first, ...later], { concurrency: "unbounded" }))
      yield* Effect.yieldNow
      yield* Deferred.succeed(may_end, undefined)
      // The clock stands still, so none of them gives up its turn.
      yield* Effect.repeat(Effect.yieldNow, { times: 200 })
      const exit = running.pollUnsafe()
      assert.isTrue(exit !== undefined && Exit.isSuccess(exit) && exit.value.every(Exit.isSuccess))
    }).pipe(Effect.scoped)
)
