/** The mock provider and its test numbers. */
import { assert, it } from "@effect/vitest"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { type FailureReason, MessagingProvider, type OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { type Behavior, layer, MockProvider, picture } from "@messaging-crm/provider-mock"
import { DateTime, Effect, Queue, Random, Result } from "effect"
import { TestClock } from "effect/testing"
import { crc32, inflateSync } from "node:zlib"
import { channel, deliver, delivery, kindOf, outcomeOf } from "./Deliveries.ts"

/** The chunks of a PNG by their names, each with the right checksum. */
const chunksOf = (png: Buffer) => {
  const chunks = new Map<string, Buffer>()
  for (let offset = 8; offset < png.length;) {
    const length = png.readUInt32BE(offset)
    const body = png.subarray(offset + 4, offset + 8 + length)
    assert.strictEqual(crc32(body), png.readUInt32BE(offset + 8 + length))
    chunks.set(body.toString("latin1", 0, 4), body.subarray(4))
    offset += length + 12
  }
  return chunks
}

it("the picture is one of 64 by 64 pixels", () => {
  const png = Buffer.from(picture)
  assert.strictEqual(png.toString("latin1", 0, 8), "\x89PNG\r\n\x1a\n")
  const chunks = chunksOf(png)
  assert.deepStrictEqual(Array.from(chunks.keys()), ["IHDR", "PLTE", "IDAT", "IEND"])
  assert.deepStrictEqual(Array.from(chunks.get("IHDR") ?? []), [0, 0, 0, 64, 0, 0, 0, 64, 2, 3, 0, 0, 0])
  // Two bits per pixel, and a byte before each line.
  assert.strictEqual(inflateSync(chunks.get("IDAT") ?? Buffer.of()).length, 64 * (64 / 4 + 1))
})

const acceptedOf = ({ reference }: OutboundMessage) =>
  Effect.map(MockProvider.use((mock) => mock.acceptedOf({ reference })), (accepted) => accepted.length)

const emittedEvents = Effect.gen(function*() {
  yield* TestClock.adjust("1 seconds")
  return yield* Effect.flatMap(MockProvider, ({ callbacks }) => Queue.clear(callbacks))
})

it.effect("each test number has its outcome, and its reports and reply", () =>
  Effect.gen(function*() {
    const expected = {
      "0001": ["accepted", "delivered", "sent"],
      "0002": ["rejected: recipient_unreachable"],
      "0003": ["accepted", "failed", "sent"],
      "0004": ["busy: provider_unavailable, null"],
      "0005": ["unknown", "delivered", "read", "sent"],
      "0006": ["unknown"],
      "0007": ["accepted", "delivered", "read", "sent", "text"],
      "0008": ["accepted", "delivered", "image", "read", "sent"],
      "0009": ["busy: rate_limited, 2"],
      "5678": ["accepted", "delivered", "read", "sent"]
    }
    for (const [digits, results] of Object.entries(expected)) {
      const outcome = yield* outcomeOf(delivery(`+4915112${digits}`))
      const kinds = new Set((yield* emittedEvents).map(kindOf))
      assert.deepStrictEqual([outcome, ...Array.from(kinds).toSorted()], results, digits)
    }
  }).pipe(Effect.provide(layer)))

it.effect("0004 is busy twice and then accepts the message, 0009 throttles once", () =>
  Effect.gen(function*() {
    const busy = { "0004": Array(2).fill("busy: provider_unavailable, null"), "0009": ["busy: rate_limited, 2"] }
    for (const [digits, rejections] of Object.entries(busy)) {
      const to = delivery(`+4915112${digits}`)
      for (const rejection of rejections) assert.strictEqual(yield* outcomeOf(to), rejection)
      assert.strictEqual(yield* outcomeOf(to), "accepted")
      assert.strictEqual(yield* acceptedOf(to), 1)
    }
  }).pipe(Effect.provide(layer)))

it.effect("reports every message with its reference, some of them twice, within 200 ms", () =>
  Effect.gen(function*() {
    const sent = yield* Effect.forEach(Array.from({ length: 50 }), () => {
      const to = delivery("+49151125678")
      return Effect.as(deliver(to), to.reference)
    })
    yield* TestClock.adjust("200 millis")
    const events = yield* Effect.flatMap(MockProvider, ({ callbacks }) => Queue.clear(callbacks))
    const references = events.flatMap((event) =>
      event.event === "message_status_reported" ? [event.reference ?? ""] : []
    )
    assert.deepStrictEqual(Array.from(new Set(references)).toSorted(), sent.toSorted())
    // Each message has three reports.
    assert.isAbove(events.length, 3 * sent.length)
  }).pipe(Random.withSeed("some reports twice"), Effect.provide(layer)))

it.effect("follows the script of a number", () =>
  Effect.gen(function*() {
    const mock = yield* MockProvider
    const number = "+4915112345678"
    yield* mock.script({ recipient: number }, {
      responses: [{ response: "reject", reason: "recipient_opted_out" }],
      reports: [],
      reply: null
    })
    assert.strictEqual(yield* outcomeOf(delivery(number)), "rejected: recipient_opted_out")
    assert.deepStrictEqual(yield* mock.accepted, [])
  }).pipe(Effect.provide(layer)))

it.effect("accepts nothing and has no templates while it is down", () =>
  Effect.gen(function*() {
    const mock = yield* MockProvider
    const templates = MessagingProvider.use((provider) => provider.templates("acme"))
    yield* mock.setDown(true)
    assert.strictEqual(yield* outcomeOf(delivery("+49151125679")), "busy: provider_unavailable, null")
    assert.isTrue(Result.isFailure(yield* Effect.result(templates)))
    assert.deepStrictEqual(yield* mock.accepted, [])
    yield* mock.setDown(false)
    assert.isNotEmpty(yield* templates)
    assert.strictEqual(yield* outcomeOf(delivery("+49151125679")), "accepted")
  }).pipe(Effect.provide(layer)))

it.effect("has templates of each status and format for each account", () =>
  Effect.gen(function*() {
    const templates = yield* MessagingProvider.use((provider) => provider.templates("acme"))
    assert.deepStrictEqual(templates.map(({ status }) => status), [
      "APPROVED",
      "APPROVED",
      "APPROVED",
      "PENDING",
      "PAUSED",
      "APPROVED"
    ])
    assert.include(templates.map(({ parameter_format }) => parameter_format), "NAMED")
    assert.isTrue(templates.every((template) => template.phone_messaging_business_account_id === "acme"))
  }).pipe(Effect.provide(layer)))

it.effect("prefers the script of the next calls, then of a message, then of a number", () =>
  Effect.gen(function*() {
    const mock = yield* MockProvider
    const rejects = (reason: FailureReason): Behavior => ({
      responses: [{ response: "reject", reason }],
      reports: [],
      reply: null
    })
    const recipient = "+4915112345678"
    const [first, second, third] = [delivery(recipient), delivery(recipient), delivery(recipient)] as const
    yield* mock.script({ recipient }, rejects("recipient_opted_out"))
    yield* mock.script({ reference: second.reference }, rejects("template_invalid"))
    yield* mock.script({ next_calls: 2 }, rejects("channel_blocked"))
    const other = delivery("+4915112345679")
    const calls = [other, second, first, second, third, other]
    assert.deepStrictEqual(yield* Effect.forEach(calls, outcomeOf), [
      "rejected: channel_blocked",
      "rejected: channel_blocked",
      "rejected: recipient_opted_out",
      "rejected: template_invalid",
      "rejected: recipient_opted_out",
      "accepted"
    ])
    assert.lengthOf(yield* mock.acceptedOf({ recipient }), 0)
    assert.lengthOf(yield* mock.acceptedOf({ recipient: other.recipient }), 1)
  }).pipe(Effect.provide(layer)))

it.effect("does not deduplicate: delivering a reference twice sends two messages", () =>
  Effect.gen(function*() {
    const to = delivery("+4915112345678")
    const outcomes = yield* Effect.forEach([to, to], (message) =>
      MessagingProvider.use(({ deliver }) => deliver(message)))
    assert.strictEqual(
      new Set(outcomes.map(({ provider_message_id }) =>
        provider_message_id
      )).size,
      2
    )
    assert.strictEqual(yield* acceptedOf(to), 2)
  }).pipe(Effect.provide(layer)))

it.effect("emits the same callbacks for the same seed, and others for another", () =>
  Effect.gen(function*() {
    const to = delivery("+4915112345678")
    const callbacks = Effect.gen(function*() {
      yield* deliver(to)
      yield* TestClock.adjust("1 seconds")
      const events = yield* Effect.flatMap(MockProvider, ({ callbacks }) => Queue.clear(callbacks))
      return events.map(kindOf).join()
    })
    const kindsWith = (seed: string) => callbacks.pipe(Random.withSeed(seed), Effect.provide(layer))
    const seeds = Array.from({ length: 20 }, (_, index) => `seed ${index}`)
    const kinds = yield* Effect.forEach(seeds, kindsWith)
    assert.deepStrictEqual(yield* Effect.forEach(seeds, kindsWith), kinds)
    assert.isAbove(new Set(kinds).size, 1)
  }))

it.effect("queues an emitted event, and keeps it until it is consumed", () =>
  Effect.gen(function*() {
    const mock = yield* MockProvider
    const event: ProviderEvent = {
      event: "message_received",
      channel_id: channel.id,
      provider_message_id: "p1",
      from: { external_id: "+4915112345678", display_name: null, username: null },
      type: "text",
      text: "Hello?",
      media: null,
      sent_at: DateTime.makeUnsafe(0)
    }
    yield* mock.emit(event)
    yield* TestClock.adjust("1 days")
    assert.deepStrictEqual(yield* Queue.clear(mock.callbacks), [event])
  }).pipe(Effect.provide(layer)))
