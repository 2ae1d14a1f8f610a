/** How often a provider's templates are loaded. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Endpoints from "@messaging-crm/conformance/Endpoints"
import { greeting } from "@messaging-crm/conformance/Provider"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { MessagingProvider, ProviderUnavailable } from "@messaging-crm/core/MessagingProvider"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Templates } from "@messaging-crm/core/Templates"
import { type Duration, Effect, Fiber, Layer, Ref } from "effect"
import { TestClock } from "effect/testing"

/** A provider that responds, or fails, after one second. It responds to an account named `slow` after 15 seconds. */
const begin = Effect.gen(function*() {
  const loads = yield* Ref.make(0)
  const is_down = yield* Ref.make(false)
  const provider = Layer.succeed(MessagingProvider, {
    dedup: "callback_ref",
    deliver: () => Effect.die("Nobody sends."),
    templates: Effect.fnUntraced(function*(account) {
      yield* Ref.update(loads, (count) => count + 1)
      yield* Effect.sleep(account === "slow" ? "15 seconds" : "1 seconds")
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

/** Returns how a new organization lists the templates of these business accounts. */
const listing = Effect.fnUntraced(function*(accounts: ReadonlyArray<string>) {
  const { organization } = yield* Organizations.use((all) =>
    all.create(CreateOrganization.make({ name: "Acme", owner_name: "Ada", owner_email: "ada@acme.example" }))
  )
  const as = Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: null })
  for (const account of accounts) {
    const address = `${account} of ${organization.id}`
    const phone_messaging_business_account_id = account
    yield* Channels.use((all) =>
      all.connect(
        ConnectChannel.make({ type: "phone_messaging", name: account, address, phone_messaging_business_account_id })
      )
    ).pipe(as)
  }
  return as(Templates.use(({ list }) => Effect.catch(list, ({ _tag }) => Effect.succeed(_tag))))
})

/** Runs an effect while this time passes. */
const within = <A, E, R>(effect: Effect.Effect<A, E, R>, time: Duration.Input) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect)
    yield* TestClock.adjust(time)
    return yield* Fiber.join(fiber)
  })

it.effect("a list is read from the provider each time, once for concurrent calls, and fails when the read fails", () =>
  Effect.gen(function*() {
    const { crm, loads, setDown } = yield* begin
    yield* Effect.gen(function*() {
      const list = yield* listing(["one", "two"])
      const first = yield* within(list, "1 seconds")
      assert.deepStrictEqual(first, [greeting("one"), greeting("two")])
      yield* within(list, "1 seconds")
      assert.strictEqual(yield* loads, 4)
      yield* within(Effect.replicateEffect(list, 20, { concurrency: "unbounded" }), "1 seconds")
      assert.strictEqual(yield* loads, 6)
      yield* setDown(true)
      assert.deepStrictEqual(yield* within(list, "1 seconds"), "ProviderUnavailable")
      // The check of a send still has the copy.
      const found = within(Templates.use(({ find }) => find("one", "greeting")), "1 seconds")
      assert.deepStrictEqual(yield* found, greeting("one"))
      assert.deepStrictEqual(yield* within(list, "1 seconds"), "ProviderUnavailable")
    }).pipe(Effect.provide(crm))
  }))

it.effect("a list of which one account is slow fails after 6 seconds, and delays no other organization's", () =>
  Effect.gen(function*() {
    const { crm } = yield* begin
    yield* Effect.gen(function*() {
      const slow = yield* listing(["one", "slow"])
      const fast = yield* listing(["one", "two"])
      const many = yield* Effect.forkChild(slow)
      yield* Effect.yieldNow
      assert.lengthOf(yield* within(fast, "1 seconds"), 2)
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(many.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* Fiber.join(many), "ProviderUnavailable")
    }).pipe(Effect.provide(crm))
  }))
