/** Files of several accounts: none holds back those of another. */
import { assert, it } from "@effect/vitest"
import { ChannelId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { DateTime, Deferred, Effect, Fiber, Layer, Redacted, Ref, Stream } from "effect"
import { TestClock } from "effect/testing"
import { CallbackProcessor } from "../src/CallbackProcessor.ts"
import { CloudAccounts } from "../src/CloudAccounts.ts"
import { bodyOf, messagePart } from "../src/fake/Bodies.ts"
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
