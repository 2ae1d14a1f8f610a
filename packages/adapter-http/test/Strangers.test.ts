/** What keys cost that a process has not seen at work. */
import { assert, it } from "@effect/vitest"
import { Data, Deferred, Duration, Effect, Fiber } from "effect"
import * as Strangers from "../src/middleware/Strangers.ts"
import { TurnWait } from "../src/middleware/Turns.ts"

class Unauthorized extends Data.TaggedError("Unauthorized") {}
class RateLimited extends Data.TaggedError("RateLimited") {}

const otherwise = Effect.succeed("refused")

it.live("are looked up so many at once for each address, and one that works does not wait", () =>
  Effect.gen(function*() {
    const lookUp = Strangers.make(2)
    const gate = yield* Deferred.make<void>()
    const unknown = Effect.andThen(Deferred.await(gate), new Unauthorized())
    const here = { address: "192.0.2.1", digest: "works" }
    assert.strictEqual(yield* lookUp(here, Effect.succeed("found"), otherwise), "found")
    const guesses = yield* Effect.forEach(
      ["a", "b"],
      (digest) =>
        Effect.forkChild(Effect.exit(lookUp({ ...here, digest }, unknown, otherwise)), { startImmediately: true })
    )
    assert.strictEqual(yield* lookUp({ ...here, digest: "c" }, Effect.succeed("found"), otherwise), "refused")
    assert.strictEqual(yield* lookUp(here, Effect.succeed("found"), otherwise), "found")
    for (const address of ["192.0.2.2", null]) {
      assert.strictEqual(yield* lookUp({ address, digest: "c" }, Effect.succeed("found"), otherwise), "found")
    }
    // A key at its limit works, one that was revoked does not.
    yield* Effect.exit(lookUp({ ...here, address: "192.0.2.3" }, Effect.fail(new RateLimited()), otherwise))
    assert.strictEqual(yield* lookUp(here, Effect.succeed("found"), otherwise), "found")
    yield* Effect.exit(lookUp(here, Effect.fail(new Unauthorized()), otherwise))
    assert.strictEqual(yield* lookUp(here, Effect.succeed("found"), otherwise), "refused")
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.forEach(guesses, Fiber.join)
    assert.strictEqual(yield* lookUp(here, Effect.succeed("found"), otherwise), "found")
  }).pipe(Effect.provideService(TurnWait, Duration.millis(1))))
