/** Tests of the guarantees of `MessagingProvider`, for the adapter of any provider. */
import { assert, describe, it } from "@effect/vitest"
import type { Channel } from "@messaging-crm/core/Channels"
import { ChannelId, Ids, SendId } from "@messaging-crm/core/Ids"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { type Accepted, MessagingProvider, type OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { Template } from "@messaging-crm/core/Templates"
import { Effect, Layer, Result, Schema } from "effect"
import * as Fixtures from "./Fixtures.ts"

/** The provider under test, as the suite requires it. */
export interface Options<R> {
  readonly dedup: MessagingProvider["Service"]["dedup"]
  /** A business account, and the IDs of all its templates. */
  readonly account: { readonly id: string; readonly template_ids: ReadonlyArray<string> }
  /** A recipient for each outcome of an attempt. */
  readonly recipients: Readonly<
    Record<"accepted" | "ProviderBusy" | "ProviderRejected" | "ProviderOutcomeUnknown", string>
  >
  /** The messages that the provider accepted under a reference. One that was accepted twice is listed twice. */
  readonly accepted: (reference: SendId) => Effect.Effect<ReadonlyArray<Accepted>, never, R>
  /** Waits for all pending callbacks and returns the events since the last call. */
  readonly reported: Effect.Effect<ReadonlyArray<ProviderEvent>, never, R>
  /** Makes the provider's catalog unreadable. */
  readonly breakCatalog: Effect.Effect<void, never, R>
}

const newDelivery = Effect.fnUntraced(function*(account: string, recipient: string) {
  const channel: Channel = {
    id: ChannelId.make(yield* Fixtures.uuid),
    type: "phone_messaging",
    name: "Support",
    address: "+493012345678",
    phone_messaging_business_account_id: account,
    connected_at: Fixtures.noon
  }
  const reference = SendId.make(yield* Fixtures.uuid)
  return { channel, reference, recipient, content: { type: "text", text: "Hello" } } satisfies OutboundMessage
})

const deliver = (delivery: OutboundMessage) =>
  MessagingProvider.use((provider) => Effect.result(provider.deliver(delivery)))

/** Returns the tag of a failure, or `accepted`. */
const outcomeOf = Result.match({
  onFailure: ({ _tag }: { readonly _tag: string }) => _tag,
  onSuccess: () => "accepted"
})

const templates = (account: string) => MessagingProvider.use((provider) => provider.templates(account))

/** Declares a test, which has a new provider. */
type Test<R> = <E>(name: string, body: () => Effect.Effect<void, E, MessagingProvider | R | Ids>) => void

const acceptedMessages = <R>(test: Test<R>, { accepted, account, recipients }: Options<R>) => {
  test("succeeds only for an accepted message, and returns its id", () =>
    Effect.gen(function*() {
      const delivery = yield* newDelivery(account.id, recipients.accepted)
      const result = Result.getOrThrow(yield* deliver(delivery))
      assert.isNotEmpty(result.provider_message_id)
      assert.deepStrictEqual(
        (yield* accepted(delivery.reference)).map(({ provider_message_id }) => provider_message_id),
        [result.provider_message_id]
      )
    }))

  test("returns another ID for every message", () =>
    Effect.gen(function*() {
      const deliveries = yield* Effect.replicateEffect(newDelivery(account.id, recipients.accepted), 10)
      const results = yield* Effect.all(deliveries.map(deliver), { concurrency: "unbounded" })
      const ids = results.map((result) => Result.getOrThrow(result).provider_message_id)
      assert.strictEqual(new Set(ids).size, deliveries.length)
    }))
}

const failures = <R>(test: Test<R>, { accepted, account, recipients }: Options<R>) => {
  for (const outcome of ["ProviderBusy", "ProviderRejected"] as const) {
    test(`accepted nothing when the outcome is ${outcome}`, () =>
      Effect.gen(function*() {
        const delivery = yield* newDelivery(account.id, recipients[outcome])
        const result = yield* deliver(delivery)
        assert.strictEqual(outcomeOf(result), outcome)
        assert.deepStrictEqual(yield* accepted(delivery.reference), [])
      }))
  }

  test(
    "fails with `ProviderOutcomeUnknown` when the response is lost, and has accepted at most one message",
    () =>
      Effect.gen(function*() {
        const delivery = yield* newDelivery(account.id, recipients.ProviderOutcomeUnknown)
        const result = yield* deliver(delivery)
        assert.strictEqual(outcomeOf(result), "ProviderOutcomeUnknown")
        assert.isAtMost((yield* accepted(delivery.reference)).length, 1)
      })
  )
}

const deduplication = <R>(
  test: Test<R>,
  { accepted, account, dedup, recipients, reported }: Options<R>
) => {
  test(`declares how it deduplicates: ${dedup}`, () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* MessagingProvider.use((provider) => Effect.succeed(provider.dedup)), dedup)
    }))

  if (dedup === "client_ref") {
    test("sends one message for any number of calls with one reference", () =>
      Effect.gen(function*() {
        const delivery = yield* newDelivery(account.id, recipients.accepted)
        const calls = Array.from({ length: 5 }, () => deliver(delivery))
        const results = [...yield* Effect.all(calls, { concurrency: "unbounded" }), yield* deliver(delivery)]
        const [message, ...more] = yield* accepted(delivery.reference)
        assert.deepStrictEqual(more, [])
        const ids = results.flatMap((result) => Result.isSuccess(result) ? result.success.provider_message_id : [])
        assert.deepStrictEqual(Array.from(new Set(ids)), [message?.provider_message_id])
      }))
  }

  if (dedup === "callback_ref") {
    test("sends callbacks with the reference, even when the response was lost", () =>
      Effect.gen(function*() {
        for (const recipient of [recipients.accepted, recipients.ProviderOutcomeUnknown]) {
          const delivery = yield* newDelivery(account.id, recipient)
          yield* deliver(delivery)
          const ids = (yield* accepted(delivery.reference)).map(({ provider_message_id }) => provider_message_id)
          const reports = (yield* reported).filter((event) => event.event === "message_status_reported")
          assert.deepStrictEqual(Array.from(new Set(reports.map((report) => report.provider_message_id))), ids)
          for (const { channel_id, reference } of reports) {
            assert.strictEqual(reference, delivery.reference)
            assert.strictEqual(channel_id, delivery.channel.id)
          }
        }
      }))
  }
}

const catalogs = <R>(test: Test<R>, { account, breakCatalog }: Options<R>) => {
  test("returns the whole catalog of a business account", () =>
    Effect.gen(function*() {
      const catalog = yield* templates(account.id)
      assert.isTrue(Schema.is(Schema.Array(Template))(catalog))
      assert.deepStrictEqual(catalog.map(({ id }) => id).toSorted(), account.template_ids.toSorted())
      for (const template of catalog) {
        assert.strictEqual(template.phone_messaging_business_account_id, account.id)
      }
    }))

  test("fails instead of returning a part of the catalog", () =>
    Effect.gen(function*() {
      yield* breakCatalog
      assert.strictEqual((yield* Effect.flip(templates(account.id)))._tag, "ProviderUnavailable")
    }))
}

/** Registers the tests for one adapter. */
export const suite = <R>(
  adapter: string,
  layer: Layer.Layer<MessagingProvider | R, unknown>,
  options: Options<R>
): void => {
  const test: Test<R> = (name, body) => it.effect(name, () => Effect.provide(body(), Layer.merge(layer, Ids.layer)))

  describe(adapter, () => {
    acceptedMessages(test, options)
    failures(test, options)
    deduplication(test, options)
    catalogs(test, options)
  })
}
