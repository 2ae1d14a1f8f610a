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
  /** A business account, and the ids of all its templates. */
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

const templates = (account: string) => MessagingProvider.use((provider) => provider.templates(account))

/** Registers the tests for one adapter. Each test has a new provider. */
export const suite = <R>(
  adapter: string,
  layer: Layer.Layer<MessagingProvider | R, unknown>,
  { accepted, account, breakCatalog, dedup, recipients, reported }: Options<R>
): void => {
  const guarantees = <E>(name: string, test: () => Effect.Effect<void, E, MessagingProvider | R | Ids>) =>
    it.effect(name, () => Effect.provide(test(), Layer.merge(layer, Ids.layer)))

  describe(adapter, () => {
    guarantees("succeeds only for an accepted message, and returns its id", () =>
      Effect.gen(function*() {
        const delivery = yield* newDelivery(account.id, recipients.accepted)
        const result = Result.getOrThrow(yield* deliver(delivery))
        assert.isNotEmpty(result.provider_message_id)
        assert.deepStrictEqual(
          (yield* accepted(delivery.reference)).map(({ provider_message_id }) => provider_message_id),
          [result.provider_message_id]
        )
      }))

    guarantees("returns another ID for every message", () =>
      Effect.gen(function*() {
        const deliveries = yield* Effect.replicateEffect(newDelivery(account.id, recipients.accepted), 10)
        const results = yield* Effect.all(deliveries.map(deliver), { concurrency: "unbounded" })
        const names = results.map((result) => Result.getOrThrow(result).provider_message_id)
        assert.strictEqual(new Set(names).size, deliveries.length)
      }))

    for (const outcome of ["ProviderBusy", "ProviderRejected"] as const) {
      guarantees(`accepted nothing when the outcome is ${outcome}`, () =>
        Effect.gen(function*() {
          const delivery = yield* newDelivery(account.id, recipients[outcome])
          const result = yield* deliver(delivery)
          assert.strictEqual(Result.isFailure(result) ? result.failure._tag : "accepted", outcome)
          assert.deepStrictEqual(yield* accepted(delivery.reference), [])
        }))
    }

    guarantees(
      "fails with `ProviderOutcomeUnknown` when the response is lost, and has accepted at most one message",
      () =>
        Effect.gen(function*() {
          const delivery = yield* newDelivery(account.id, recipients.ProviderOutcomeUnknown)
          const result = yield* deliver(delivery)
          assert.strictEqual(Result.isFailure(result) ? result.failure._tag : "accepted", "ProviderOutcomeUnknown")
          assert.isAtMost((yield* accepted(delivery.reference)).length, 1)
        })
    )

    guarantees(`declares how it deduplicates: ${dedup}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* MessagingProvider.use((provider) => Effect.succeed(provider.dedup)), dedup)
      }))

    if (dedup === "client_ref") {
      guarantees("makes one message of any number of calls with one reference", () =>
        Effect.gen(function*() {
          const delivery = yield* newDelivery(account.id, recipients.accepted)
          const calls = Array.from({ length: 5 }, () => deliver(delivery))
          const results = [...yield* Effect.all(calls, { concurrency: "unbounded" }), yield* deliver(delivery)]
          const [message, ...more] = yield* accepted(delivery.reference)
          assert.deepStrictEqual(more, [])
          const names = results.flatMap((result) => Result.isSuccess(result) ? result.success.provider_message_id : [])
          assert.deepStrictEqual(Array.from(new Set(names)), [message?.provider_message_id])
        }))
    }

    if (dedup === "callback_ref") {
      guarantees("sends callbacks with the reference, even when the response was lost", () =>
        Effect.gen(function*() {
          for (const recipient of [recipients.accepted, recipients.ProviderOutcomeUnknown]) {
            const delivery = yield* newDelivery(account.id, recipient)
            yield* deliver(delivery)
            const names = (yield* accepted(delivery.reference)).map(({ provider_message_id }) => provider_message_id)
            const reports = (yield* reported).filter((event) => event.event === "message_status_reported")
            assert.deepStrictEqual(Array.from(new Set(reports.map((report) => report.provider_message_id))), names)
            for (const { channel_id, reference } of reports) {
              assert.strictEqual(reference, delivery.reference)
              assert.strictEqual(channel_id, delivery.channel.id)
            }
          }
        }))
    }

    guarantees("returns the whole catalog of a business account", () =>
      Effect.gen(function*() {
        const catalog = yield* templates(account.id)
        assert.isTrue(Schema.is(Schema.Array(Template))(catalog))
        assert.deepStrictEqual(catalog.map(({ id }) => id).toSorted(), account.template_ids.toSorted())
        for (const template of catalog) {
          assert.strictEqual(template.phone_messaging_business_account_id, account.id)
        }
      }))

    guarantees("fails instead of returning a part of the catalog", () =>
      Effect.gen(function*() {
        yield* breakCatalog
        assert.strictEqual((yield* Effect.flip(templates(account.id)))._tag, "ProviderUnavailable")
      }))
  })
}
