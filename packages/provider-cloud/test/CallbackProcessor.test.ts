/** Accounts of callbacks: each is found once, and the files of none hold back those of another. */
import { assert, it } from "@effect/vitest"
import { ChannelId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { DateTime, Deferred, Effect, Exit, Fiber, Layer, Option, Redacted, Ref, Stream } from "effect"
import { TestClock } from "effect/testing"
import { CallbackProcessor } from "../src/CallbackProcessor.ts"
import { CloudAccounts } from "../src/CloudAccounts.ts"
import { bodyOf, messagePart } from "../src/fake/CallbackBodies.ts"
import { MediaLoader } from "../src/MediaLoader.ts"
import { Profiles } from "../src/Profiles.ts"

const account = (phone_number_id: string, digit: number) => ({
  type: "phone_messaging" as const,
  channel_id: ChannelId.make(`00000000-0000-7000-8000-00000000000${digit}`),
  app_id: "app",
  token: Redacted.make("token"),
  phone_number_id,
  business_account_id: "acme"
})

const apps = [{ id: "app", secret: Redacted.make("secret"), verify_token: Redacted.make("verify") }]

const image = (phone_number_id: string, number: number) =>
  new TextEncoder().encode(bodyOf([
    messagePart(phone_number_id, { wa_id: `49151123456${10 + number}` }, {
      id: `wamid.${phone_number_id}.${number}`,
      timestamp: "1767225600",
      type: "image",
      image: { id: `file-${number}`, mime_type: "image/png" }
    })
  ]))

it.effect("files of one account that do not come keep those of another waiting for no moment", () =>
  Effect.gen(function*() {
    const [begun, stored] = [yield* Ref.make(0), yield* Deferred.make<void>()]
    const slow = Stream.unwrap(Effect.as(Ref.update(begun, (count) => count + 1), Stream.never))
    const loader = Layer.succeed(MediaLoader, {
      load: (of) =>
        of.type === "phone_messaging" && of.phone_number_id === "slow" ? slow : Stream.make(new Uint8Array([1]))
    })
    const inbound = Layer.mock(Inbound, {
      receive: (event) =>
        "media" in event && event.media !== null && event.media.bytes !== null &&
          !(event.media.bytes instanceof Uint8Array)
          ? Effect.orDie(Stream.runDrain(event.media.bytes))
          : Effect.void
    })
    const layer = CallbackProcessor.layer.pipe(
      Layer.provide(Layer.mergeAll(
        CloudAccounts.layer({ apps, channels: [account("slow", 1), account("fast", 2)] }),
        loader,
        inbound,
        Layer.mock(Profiles, { lookUp: () => Effect.void })
      ))
    )
    yield* Effect.gen(function*() {
      const { receive } = yield* CallbackProcessor
      const now = yield* DateTime.now
      const fibers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, number) => image("slow", number)),
        (body) => Effect.forkChild(receive("app", body, now))
      )
      while ((yield* Ref.get(begun)) < 4) yield* Effect.yieldNow
      yield* Effect.forEach(
        [0, 1, 2, 3, 4, 5],
        (number) => receive("app", image("fast", number), now),
        { concurrency: "unbounded" }
      )
      yield* Deferred.succeed(stored, undefined)
      assert.strictEqual(yield* Ref.get(begun), 4)
      yield* Fiber.interruptAll(fibers)
    }).pipe(Effect.provide(layer))
    yield* Deferred.await(stored)
    yield* TestClock.adjust("1 second")
  }))

it.effect("the account of a callback is found once, and one that cannot be found holds back no other", () =>
  Effect.gen(function*() {
    const [located, received] = [yield* Ref.make<ReadonlyArray<string>>([]), yield* Ref.make(0)]
    const add = (id: string) => Ref.update(located, (all) => [...all, id])
    const channels = [account("one", 1), account("two", 2)]
    const accounts = Layer.mock(CloudAccounts, {
      locate: (_app, { id }) =>
        Effect.andThen(
          add(id),
          id === "none"
            ? Effect.die("The store is away.")
            : Effect.succeed(Option.fromUndefinedOr(channels.find(({ phone_number_id }) => phone_number_id === id)))
        )
    })
    const layer = CallbackProcessor.layer.pipe(Layer.provide([
      accounts,
      Layer.mock(MediaLoader, {}),
      Layer.mock(Inbound, { receive: () => Ref.update(received, (count) => count + 1) }),
      Layer.mock(Profiles, { lookUp: () => Effect.void })
    ]))
    const parts = ["one", "none", "two", "one", "one"].map((number, index) =>
      messagePart(number, { wa_id: `4915112345${index}` }, { id: `wamid.${index}`, type: "text", text: { body: "Hi" } })
    )
    const now = yield* DateTime.now
    const body = new TextEncoder().encode(bodyOf(parts))
    const exit = yield* CallbackProcessor.use(({ receive }) => Effect.exit(receive("app", body, now))).pipe(
      Effect.provide(layer)
    )
    assert.isTrue(Exit.isFailure(exit))
    assert.deepStrictEqual(yield* Ref.get(located), ["one", "none", "two"])
    assert.strictEqual(yield* Ref.get(received), 4)
  }))
