/** What keys cost that a process has not seen at work. */
import { assert, it } from "@effect/vitest"
import { Data, Deferred, Effect, Exit, Fiber } from "effect"
import * as UnknownKeyLimiter from "../src/middleware/UnknownKeyLimiter.ts"

class Unauthorized extends Data.TaggedError("Unauthorized") {}
class RateLimited extends Data.TaggedError("RateLimited") {}

it.live("are looked up so many at once for each address; the others wait, but not one that works", () =>
  Effect.gen(function*() {
    const lookUp = UnknownKeyLimiter.make(2)
    const gate = yield* Deferred.make<void>()
    const unknown = Effect.andThen(Deferred.await(gate), new Unauthorized())
    const found = Effect.succeed("found")
    const here = { address: Effect.succeed("192.0.2.1"), digest: "works" }
    assert.strictEqual(yield* lookUp(here, found), "found")
    const guesses = yield* Effect.forEach(
      ["a", "b", "c", "d"],
      (digest) => Effect.forkChild(Effect.exit(lookUp({ ...here, digest }, unknown)), { startImmediately: true })
    )
    const waiting = yield* Effect.forkChild(lookUp({ ...here, digest: "new" }, found), { startImmediately: true })
    assert.strictEqual(yield* lookUp(here, found), "found")
    for (const address of ["192.0.2.2", null]) {
      assert.strictEqual(yield* lookUp({ address: Effect.succeed(address), digest: "new" }, found), "found")
    }
    // A key at its limit works, one that was revoked does not.
    yield* Effect.exit(lookUp({ ...here, address: Effect.succeed("192.0.2.3") }, Effect.fail(new RateLimited())))
    assert.strictEqual(yield* lookUp(here, found), "found")
    yield* Effect.exit(lookUp(here, Effect.fail(new Unauthorized())))
    const revoked = yield* Effect.forkChild(lookUp(here, found), { startImmediately: true })
    assert.isUndefined(revoked.pollUnsafe())
    assert.isUndefined(waiting.pollUnsafe())
    yield* Deferred.succeed(gate, undefined)
    for (const guess of guesses) assert.isTrue(Exit.isFailure(yield* Fiber.join(guess)))
    assert.deepStrictEqual([yield* Fiber.join(waiting), yield* Fiber.join(revoked)], ["found", "found"])
  }))
