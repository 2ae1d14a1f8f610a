/** How often a provider's templates are loaded. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Endpoints from "@messaging-crm/conformance/Endpoints"
import { greeting } from "@messaging-crm/conformance/Provider"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { MessagingProvider, ProviderUnavailable } from "@messaging-crm/core/MessagingProvider"
import { Templates } from "@messaging-crm/core/Templates"
import { Effect, Layer, Ref } from "effect"
import { TestClock } from "effect/testing"

/** A provider that responds, or fails, after one second. */
const begin = Effect.gen(function*() {
  const loads = yield* Ref.make(0)
  const is_down = yield* Ref.make(false)
  const provider = Layer.succeed(MessagingProvider, {
    dedup: "callback_ref",
    deliver: () => Effect.die("Nobody sends."),
    templates: Effect.fnUntraced(function*(account) {
      yield* Ref.update(loads, (count) => count + 1)
      yield* Effect.sleep("1 seconds")
      return (yield* Ref.get(is_down)) ? yield* new ProviderUnavailable() : [greeting(account)]
    })
  })
  const crm = Crm.layer.pipe(Layer.provideMerge(Layer.mergeAll(Memory.layer, provider, Endpoints.layer, Ids.layer)))
  return { loads: Ref.get(loads), crm, setDown: (down: boolean) => Ref.set(is_down, down) }
})

it.effect("templates are loaded once for concurrent sends, again after 30 seconds, and one second after a failure", () =>
  Effect.gen(function*() {
    const { loads, crm, setDown } = yield* begin
    yield* Effect.gen(function*() {
      const templates = yield* Templates
      const many = Effect.replicateEffect(templates.find("account", "greeting"), 20, {
        concurrency: "unbounded",
        discard: true
      })
      const refreshed = Effect.gen(function*() {
        yield* Effect.forkChild(many)
        yield* TestClock.adjust("1 seconds")
      })
      yield* refreshed
      yield* refreshed
      assert.strictEqual(yield* loads, 1)
      yield* setDown(true)
      yield* TestClock.adjust("30 seconds")
      yield* refreshed
      assert.strictEqual(yield* loads, 2)
      yield* many
      assert.strictEqual(yield* loads, 2)
      yield* TestClock.adjust("1 seconds")
      yield* refreshed
      assert.strictEqual(yield* loads, 3)
    }).pipe(Effect.provide(crm))
  }))
