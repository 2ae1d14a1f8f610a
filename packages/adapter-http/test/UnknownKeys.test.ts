/** Tests of the limit for keys that a process does not recognize. */
import { assert, it } from "@effect/vitest"
import { Data, Deferred, Effect, Exit, Fiber } from "effect"
import * as UnknownKeys from "../src/middleware/UnknownKeys.ts"

class Unauthorized extends Data.TaggedError("Unauthorized") {}
class RateLimited extends Data.TaggedError("RateLimited") {}

it.live("are looked up a few at a time for each address; the others wait, but an accepted key does not", () =>
  Effect.gen(function*() {
    const lookUp = UnknownKeys.make(2)
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

/** Returns whether a key waits for its turn while two lookups of its address are at work. */
const scene = Effect.fnUntraced(function*(address: string | null) {
  const lookUp = UnknownKeys.make(2)
  const of = (digest: string, from = address) => ({ address: Effect.succeed(from), digest })
  const waits = (digest: string, from = address) =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(lookUp(of(digest, from), Effect.void), { startImmediately: true })
      const isDone = fiber.pollUnsafe() !== undefined
      yield* Fiber.interrupt(fiber)
      return !isDone
    })
  const guess = (digest: string) => Effect.forkChild(lookUp(of(digest), Effect.never), { startImmediately: true })
  const busy = Effect.map(Effect.forEach(["a", "b"], guess), (fibers) => Effect.forEach(fibers, Fiber.interrupt))
  return { lookUp, of, waits, busy }
})

it.live("the 10,000 most recent valid keys do not wait", () =>
  Effect.gen(function*() {
    const { busy, lookUp, of, waits } = yield* scene("192.0.2.1")
    for (let number = 0; number < 10_000; number++) yield* lookUp(of(`key ${number}`), Effect.void)
    const end = yield* busy
    assert.deepStrictEqual([yield* waits("key 0"), yield* waits("key 9999"), yield* waits("key")], [false, false, true])
    yield* end
    yield* lookUp(of("key 10000"), Effect.void)
    yield* busy
    assert.deepStrictEqual([yield* waits("key 0"), yield* waits("key 1")], [true, false])
  }))

it.live("a key at its limit is known from its first lookup, and without addresses none waits", () =>
  Effect.gen(function*() {
    const limited = yield* scene("192.0.2.1")
    yield* Effect.exit(limited.lookUp(limited.of("limited"), Effect.fail(new RateLimited())))
    yield* limited.busy
    assert.isFalse(yield* limited.waits("limited"))
    const addressless = yield* scene(null)
    yield* addressless.busy
    assert.isFalse(yield* addressless.waits("new"))
  }))

it.live("a client with a whole IPv6 network has the slots of one address", () =>
  Effect.gen(function*() {
    const { busy, waits } = yield* scene("2001:db8:0:1::1")
    yield* busy
    assert.isTrue(yield* waits("new", "2001:db8:0:1:ffff::2"))
    assert.isFalse(yield* waits("new", "2001:db8:0:2::1"))
  }))
