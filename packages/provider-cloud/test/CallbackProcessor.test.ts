/** Accounts of callbacks: each is looked up once, and the files of one do not delay those of another. */
import { assert, it } from "@effect/vitest"
import { ChannelId, OrganizationId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { type FileStream, FileUnavailable } from "@messaging-crm/core/Media"
import { callbacks_ignored } from "@messaging-crm/core/Metrics"
import { DateTime, Deferred, Effect, Exit, Fiber, Layer, Metric, Option, Redacted, Ref, Stream } from "effect"
import { TestClock } from "effect/testing"
import { CallbackProcessor } from "../src/CallbackProcessor.ts"
import { CloudAccounts } from "../src/CloudAccounts.ts"
import { bodyOf, messageEntry } from "../src/fake/CallbackBodies.ts"
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

const organization = (digit: number) => OrganizationId.make(`00000000-0000-7000-8000-00000000000${digit}`)

const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")

const image = (phone_number_id: string, number: number, sent_at = noon) =>
  new TextEncoder().encode(bodyOf([
    messageEntry(phone_number_id, { wa_id: `49151123456${10 + number}` }, {
      id: `wamid.${phone_number_id}.${number}`,
      timestamp: String(sent_at.epochMilliseconds / 1000),
      type: "image",
      image: { id: `file-${number}`, mime_type: "image/png" }
    })
  ]))

const callback = (body: Uint8Array, received_at: DateTime.Utc) => ({
  id: null,
  source: "app",
  attempt: 1,
  body,
  is_ordered: true,
  received_at
})

/** Layer for a processor without profiles. A load of a file is a defect, unless `load` is given. */
const processor = (
  accounts: Layer.Layer<CloudAccounts>,
  receive: Inbound["Service"]["receive"],
  load: MediaLoader["Service"]["load"] = () => Stream.die("There is no such file."),
  organizationOf: Inbound["Service"]["organizationOf"] = () => Effect.succeed(null)
) =>
  CallbackProcessor.layer.pipe(Layer.provide([
    accounts,
    Layer.succeed(MediaLoader, { load }),
    Layer.mock(Inbound, { receive, organizationOf }),
    Layer.mock(Profiles, { lookUp: () => Effect.void })
  ]))

const accountsOf = (...channels: ReadonlyArray<ReturnType<typeof account>>) => CloudAccounts.layer({ apps, channels })

/** A file that never arrives, the number of its readers, and an effect that waits for the first four of them. */
const endlessFile = Effect.gen(function*() {
  const [readers, areFour] = [yield* Ref.make(0), yield* Deferred.make<void>()]
  const file: FileStream = Stream.unwrap(Effect.gen(function*() {
    if ((yield* Ref.updateAndGet(readers, (count) => count + 1)) === 4) yield* Deferred.succeed(areFour, undefined)
    return Stream.never
  }))
  return { file, readers: Ref.get(readers), fourReaders: Deferred.await(areFour) }
})

it.effect("files of one organization that do not arrive do not delay those of another", () =>
  Effect.gen(function*() {
    const { file, fourReaders, readers } = yield* endlessFile
    // More channels than there are places.
    const slow = ["a", "b", "c", "d", "e", "f", "g", "h"]
    const layer = processor(
      accountsOf(...slow.map((id, number) => account(id, number + 2)), account("fast", 1)),
      (event) =>
        "media" in event && event.media !== null && event.media.bytes !== null &&
          !(event.media.bytes instanceof Uint8Array)
          ? Effect.orDie(Stream.runDrain(event.media.bytes))
          : Effect.void,
      (of) => of.type === "phone_messaging" && of.phone_number_id !== "fast" ? file : Stream.make(new Uint8Array([1])),
      (channel_id) => Effect.succeed(organization(channel_id === account("fast", 1).channel_id ? 1 : 2))
    )
    yield* Effect.gen(function*() {
      const { process } = yield* CallbackProcessor
      const now = yield* DateTime.now
      const fibers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, number) => image(slow[number % 8] ?? "", number)),
        (body) => Effect.forkChild(process(callback(body, now)))
      )
      yield* fourReaders
      // Those that get no place wait.
      yield* Effect.replicateEffect(Effect.yieldNow, 1000, { discard: true })
      assert.strictEqual(yield* readers, 4)
      yield* Effect.forEach(
        [0, 1, 2, 3, 4, 5],
        (number) => process(callback(image("fast", number), now)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(yield* readers, 4)
      yield* Fiber.interruptAll(fibers)
    }).pipe(Effect.provide(layer))
    yield* TestClock.adjust("1 second")
  }))

it.effect("an ignored item is counted once, however often its callback is retried", () =>
  Effect.gen(function*() {
    let failures = 2
    const layer = processor(
      accountsOf(account("one", 1)),
      () => Effect.suspend(() => failures-- > 0 ? Effect.die("unavailable") : Effect.void)
    )
    const person = { wa_id: "4915112345678" }
    const entries = [
      messageEntry("one", person, { id: "wamid.1", type: "text", text: { body: "Hi" } }),
      messageEntry("one", person, { id: "wamid.2", type: "request_welcome" })
    ]
    const counted = Effect.map(
      Metric.value(callbacks_ignored.of({ reason: "nothing" })),
      ({ count }) => Number(count)
    )
    const now = yield* DateTime.now
    const body = new TextEncoder().encode(bodyOf(entries))
    const received = (attempt: number) =>
      CallbackProcessor.use(({ process }) => Effect.exit(process({ ...callback(body, now), attempt }))).pipe(
        Effect.provide(layer)
      )
    const before = yield* counted
    // A process that stops does not count an attempt.
    for (const attempt of [1, 1, 2]) assert.strictEqual(Exit.isFailure(yield* received(attempt)), failures >= 0)
    assert.strictEqual(yield* counted, before + 1)
  }))

it.effect("the account of a callback is looked up once, and a failed lookup does not delay others", () =>
  Effect.gen(function*() {
    const [located, received] = [yield* Ref.make<ReadonlyArray<string>>([]), yield* Ref.make(0)]
    const add = (id: string) => Ref.update(located, (all) => [...all, id])
    const channels = [account("one", 1), account("two", 2)]
    const accounts = Layer.mock(CloudAccounts, {
      accountOfKey: (_app, { id }) =>
        Effect.andThen(
          add(id),
          id === "none"
            ? Effect.die("The store is unavailable.")
            : Effect.succeed(Option.fromUndefinedOr(channels.find(({ phone_number_id }) => phone_number_id === id)))
        )
    })
    const layer = processor(accounts, () => Ref.update(received, (count) => count + 1))
    const entries = ["one", "none", "two", "one", "one"].map((number, index) =>
      messageEntry(number, { wa_id: `4915112345${index}` }, {
        id: `wamid.${index}`,
        type: "text",
        text: { body: "Hi" }
      })
    )
    const now = yield* DateTime.now
    const body = new TextEncoder().encode(bodyOf(entries))
    const exit = yield* CallbackProcessor.use(({ process }) => Effect.exit(process(callback(body, now)))).pipe(
      Effect.provide(layer)
    )
    assert.isTrue(Exit.isFailure(exit))
    assert.deepStrictEqual(yield* Ref.get(located), ["one", "none", "two"])
    assert.strictEqual(yield* Ref.get(received), 4)
  }))

/** A processor of one channel whose files are `files`, and the messages that it stored: `"file"`, or `null` without their file. */
const withFiles = <E>(
  files: Readonly<Record<string, FileStream>>,
  test: (
    process: (number: number, sent_at: DateTime.Utc, received_at: DateTime.Utc) => Effect.Effect<void>,
    stored: Effect.Effect<ReadonlyArray<"file" | null>>
  ) => Effect.Effect<void, E>
) =>
  Effect.gen(function*() {
    yield* TestClock.setTime(noon.epochMilliseconds)
    const stored = yield* Ref.make<ReadonlyArray<"file" | null>>([])
    const store = Effect.fnUntraced(function*(event: ProviderEvent) {
      if (!("media" in event) || event.media === null) return
      const { bytes } = event.media
      if (Stream.isStream(bytes)) yield* Effect.catchTag(Stream.runDrain(bytes), "FileAbsent", Effect.die)
      yield* Ref.update(stored, (all) => [...all, bytes === null ? null : "file" as const])
    })
    const layer = processor(
      accountsOf(account("one", 1)),
      store,
      (_, file) => ("media_id" in file ? files[file.media_id] : undefined) ?? Stream.die("There is no such file.")
    )
    yield* CallbackProcessor.use(({ process }) =>
      test(
        (number, sent_at, received_at) => process(callback(image("one", number, sent_at), received_at)),
        Ref.get(stored)
      )
    ).pipe(Effect.provide(layer))
  })

const unavailable: FileStream = Stream.fail(new FileUnavailable())

for (
  const [kind, received_at] of [
    ["sent", noon],
    ["received", DateTime.subtract(noon, { hours: 2 })]
  ] as const
) {
  it.effect(`a message that was ${kind} hours ago is not stored without its file while others of its channel load`, () =>
    Effect.gen(function*() {
      const { file: slow, fourReaders } = yield* endlessFile
      const good: FileStream = Stream.make(new Uint8Array([1]))
      yield* withFiles(
        { "file-0": slow, "file-1": slow, "file-2": slow, "file-3": slow, "file-4": good },
        (process, stored) =>
          Effect.gen(function*() {
            const sent_at = DateTime.subtract(noon, { hours: 2 })
            const slowOnes = yield* Effect.forEach(
              [0, 1, 2, 3],
              (number) => Effect.forkChild(process(number, sent_at, received_at))
            )
            yield* fourReaders
            const fifth = yield* Effect.forkChild(Effect.exit(process(4, sent_at, received_at)))
            yield* TestClock.adjust("1 second")
            assert.isTrue(Exit.isFailure(yield* Fiber.join(fifth)))
            assert.deepStrictEqual(yield* stored, [])
            yield* Fiber.interruptAll(slowOnes)
            yield* process(4, sent_at, received_at)
            assert.deepStrictEqual(yield* stored, ["file"])
          })
      )
    }))
}

for (
  const [when, sent_at] of [
    ["two hours ago", DateTime.subtract(noon, { hours: 2 })],
    ["in ten years, by a wrong clock,", DateTime.add(noon, { years: 10 })]
  ] as const
) {
  it.effect(`a message sent ${when} waits for its file for an hour from its receipt, then is stored without it`, () =>
    withFiles({ "file-0": unavailable }, (process, stored) =>
      Effect.gen(function*() {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(process(0, sent_at, noon))))
        yield* TestClock.adjust("1 hour")
        assert.isTrue(Exit.isFailure(yield* Effect.exit(process(0, sent_at, noon))))
        assert.deepStrictEqual(yield* stored, [])
        yield* TestClock.adjust("1 second")
        yield* process(0, sent_at, noon)
        assert.deepStrictEqual(yield* stored, [null])
      })))
}

it.effect("a person's next messages wait for the change of their number", () =>
  Effect.gen(function*() {
    const former = { wa_id: "4915112345610" }
    const now = { wa_id: "4915112345611" }
    const entry = (of: typeof former, message: object) =>
      messageEntry("acme", of, { id: "wamid", timestamp: "1795176000", ...message })
    const change = entry(former, { type: "system", system: { type: "user_changed_number", wa_id: now.wa_id } })
    const [before, after] = [former, now].map((of) => entry(of, { type: "text", text: { body: "Hello" } }))
    const received = yield* Ref.make<ReadonlyArray<string>>([])
    const layer = processor(accountsOf(account("acme", 1)), ({ event }) =>
      Effect.andThen(
        event === "identity_changed" ? Effect.sleep("1 second") : Effect.void,
        Ref.update(received, (all) => [...all, event])
      ))
    const body = new TextEncoder().encode(bodyOf([before, change, after].flatMap((each) => each ?? [])))
    const processing = yield* CallbackProcessor.use(({ process }) => process(callback(body, noon))).pipe(
      Effect.provide(layer),
      Effect.forkChild
    )
    yield* TestClock.adjust("2 seconds")
    yield* Fiber.join(processing)
    assert.deepStrictEqual(yield* Ref.get(received), ["message_received", "identity_changed", "message_received"])
  }))

for (const is_ordered of [true, false]) {
  it.effect(`the events after one that fails are ${is_ordered ? "left to the retry" : "stored after a minute"}`, () =>
    Effect.gen(function*() {
      const entries = ["bad", "edit", "next"].map((id) =>
        messageEntry("one", { wa_id: "4915112345678" }, { id, type: "text", text: { body: "Hi" } })
      )
      const received = yield* Ref.make<ReadonlyArray<string>>([])
      const layer = processor(accountsOf(account("one", 1)), (event) => {
        const id = "provider_message_id" in event ? event.provider_message_id : ""
        return id === "bad" ? Effect.die("broken") : Ref.update(received, (all) => [...all, id])
      })
      const body = new TextEncoder().encode(bodyOf(entries))
      const exit = yield* CallbackProcessor.use(({ process }) =>
        Effect.exit(process({ ...callback(body, noon), is_ordered }))
      ).pipe(Effect.provide(layer))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(yield* Ref.get(received), is_ordered ? [] : ["edit", "next"])
    }))
}
