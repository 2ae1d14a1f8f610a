/** Sends of channels that their network rejects or throttles. */
import { assert, it } from "@effect/vitest"
import { ChannelAccounts } from "@messaging-crm/core/ChannelAccounts"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import type { ChannelId, SendId } from "@messaging-crm/core/Ids"
import { ProviderBusy, ProviderRejected } from "@messaging-crm/core/MessagingProvider"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { DateTime, Duration, Effect, Latch, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { accept, greetingWith, ScriptedProvider } from "../Provider.ts"
import { crm, type It, makeScene, type Storage, work, workFor } from "./JourneyScene.ts"

/** A channel, and sends to other numbers on it. */
const makeHoldScene = Effect.gen(function*() {
  const { as, channel, get, messageOf, provider, receiveStatus, start } = yield* makeScene
  const startWith = (digits: string) =>
    Sends.use((sends) =>
      sends.start(StartConversation.make({
        channel_id: channel.id,
        phone: Phone.make(`+49151123456${digits}`),
        template: greetingWith()
      }))
    ).pipe(as, Effect.orDie)
  const stateOf = (id: SendId) =>
    Effect.map(get(id), ({ failure_reason, status }) => status === "failed" ? failure_reason : status)
  return { as, channel, messageOf, provider, receiveStatus, start, startWith, stateOf }
})

const attemptsOn = Effect.fnUntraced(function*(channel_id: ChannelId) {
  const messages = yield* ScriptedProvider.use((provider) => provider.received)
  return messages.filter(({ channel }) => channel.id === channel_id).length
})

const rejected = new ProviderRejected({ reason: "provider_auth", pauses_channel: true })

const newTokens = (it: It) => {
  it.effect("a channel is not paused by an attempt that began before its new token", () =>
    Effect.gen(function*() {
      const { as, channel, provider, start, stateOf } = yield* makeHoldScene
      const accounts = yield* ChannelAccounts
      const setToken = (token: string) =>
        as(Effect.orDie(accounts.setToken(
          channel.id,
          Redacted.make(token),
          Option.some({ app_id: "app", account_id: channel.id, page_id: null })
        )))
      yield* setToken("old")
      yield* TestClock.adjust("1 second")
      yield* provider.respond(() =>
        TestClock.adjust("1 second").pipe(Effect.andThen(setToken("new")), Effect.andThen(Effect.fail(rejected)))
      )
      const rejectedSend = yield* start()
      yield* work
      assert.strictEqual(yield* stateOf(rejectedSend.id), "provider_auth")
      assert.deepStrictEqual(yield* ChannelHolds.use(({ list }) => list).pipe(as), [])
      yield* provider.respond(() => Effect.fail(rejected))
      yield* start("a")
      yield* work
      assert.lengthOf(yield* ChannelHolds.use(({ list }) => list).pipe(as), 1)
    }))
}

const pausing = (it: It) => {
  it.effect("a channel is paused when its network rejects it: the rejected send fails, and the others wait until it is resumed", () =>
    Effect.gen(function*() {
      const { as, channel, provider, start, startWith, stateOf } = yield* makeHoldScene
      const other = yield* makeHoldScene
      yield* provider.respond((message) => message.channel.id === channel.id ? rejected : accept(message))
      const rejectedSend = yield* start()
      yield* work
      const waiting = [yield* start("b"), yield* startWith("01"), yield* startWith("02")]
      const elsewhere = yield* other.start()
      yield* workFor("600 seconds", "60 seconds")
      assert.strictEqual(yield* stateOf(rejectedSend.id), "provider_auth")
      for (const { id } of waiting) assert.strictEqual(yield* stateOf(id), "queued")
      assert.strictEqual(yield* attemptsOn(channel.id), 1)
      assert.strictEqual(yield* other.stateOf(elsewhere.id), "sent")
      const [hold] = yield* ChannelHolds.use(({ list }) => list).pipe(as)
      assert.deepInclude(hold, { channel_id: channel.id, reason: "provider_auth", until: null })
      yield* provider.respond(accept)
      assert.isTrue(yield* ChannelHolds.use(({ resume }) => resume(channel.id)).pipe(as))
      assert.isFalse(yield* ChannelHolds.use(({ resume }) => resume(channel.id)).pipe(as))
      yield* workFor("120 seconds", "30 seconds")
      for (const { id } of waiting) assert.strictEqual(yield* stateOf(id), "sent")
      assert.deepStrictEqual(yield* ChannelHolds.use(({ list }) => list).pipe(as), [])
    }))

  it.effect("a channel is paused by the status of a message, and not again by a repeat after it was resumed", () =>
    Effect.gen(function*() {
      const { as, channel, messageOf, receiveStatus, start, stateOf } = yield* makeHoldScene
      const { id } = yield* start()
      yield* work
      const failure = { code: 131042, title: "Payment issue", description: null }
      const report = { status: "failed", at: yield* DateTime.now, failure } as const
      const pauses = { pauses_channel: "channel_blocked" } as const
      yield* receiveStatus(id, report, pauses)
      assert.deepStrictEqual((yield* messageOf(id)).details, { failure })
      const holds = ChannelHolds.use(({ list }) => list).pipe(as)
      const [hold] = yield* holds
      assert.deepInclude(hold, { channel_id: channel.id, reason: "channel_blocked", until: null })
      const waiting = yield* start("b")
      yield* workFor("60 seconds", "30 seconds")
      assert.strictEqual(yield* stateOf(waiting.id), "queued")
      assert.isTrue(yield* ChannelHolds.use(({ resume }) => resume(channel.id)).pipe(as))
      yield* receiveStatus(id, report, pauses)
      assert.deepStrictEqual(yield* holds, [])
      yield* workFor("120 seconds", "30 seconds")
      assert.strictEqual(yield* stateOf(waiting.id), "sent")
    }))
}

const waiting = (it: It) => {
  it.effect("a channel counts as paused once, even if many sends are rejected concurrently", () =>
    Effect.gen(function*() {
      const { as, channel, provider, startWith, stateOf } = yield* makeHoldScene
      const together = yield* Latch.make()
      let attempt_count = 0
      yield* provider.respond(() =>
        Effect.suspend(() => ++attempt_count === 4 ? together.open : together.await).pipe(Effect.andThen(rejected))
      )
      const before = yield* ChannelHolds.use(({ countPaused }) => countPaused)
      const sends = yield* Effect.forEach(["01", "02", "03", "04"], startWith)
      yield* work
      for (const { id } of sends) assert.strictEqual(yield* stateOf(id), "provider_auth")
      assert.strictEqual(yield* ChannelHolds.use(({ countPaused }) => countPaused), before + 1)
      yield* ChannelHolds.use(({ resume }) => resume(channel.id)).pipe(as)
    }))

  it.effect("a paused channel fails its sends after a day and not before, with the reason", () =>
    Effect.gen(function*() {
      const { as, channel, provider, startWith, stateOf } = yield* makeHoldScene
      yield* provider.respond(() => rejected)
      yield* startWith("01")
      yield* work
      const early = yield* startWith("02")
      yield* workFor("1 second")
      const late = yield* startWith("03")
      yield* workFor(Duration.seconds(86_400 - 301), "10 minutes")
      yield* workFor("299 seconds", "30 seconds")
      assert.strictEqual(yield* stateOf(early.id), "queued")
      yield* workFor("1 second")
      assert.strictEqual(yield* stateOf(early.id), "provider_auth")
      yield* provider.respond(accept)
      yield* ChannelHolds.use(({ resume }) => resume(channel.id)).pipe(as)
      yield* workFor("1 second")
      assert.strictEqual(yield* stateOf(late.id), "sent")
      assert.strictEqual(yield* attemptsOn(channel.id), 2)
    }))

  it.effect("a channel is not paused by a rejection of one message", () =>
    Effect.gen(function*() {
      const { as, provider, startWith, stateOf } = yield* makeHoldScene
      yield* provider.respond(() => Effect.fail(new ProviderRejected({ reason: "recipient_unreachable" })))
      const { id } = yield* startWith("01")
      yield* work
      assert.strictEqual(yield* stateOf(id), "recipient_unreachable")
      assert.deepStrictEqual(yield* ChannelHolds.use(({ list }) => list).pipe(as), [])
    }))
}

const throttledTargets = (it: It) => {
  it.effect("a throttled channel delays its sends for the time that the network requests, and others continue", () =>
    Effect.gen(function*() {
      const { channel, provider, startWith, stateOf } = yield* makeHoldScene
      const other = yield* makeHoldScene
      const busy = new ProviderBusy({ reason: "rate_limited", retry_after_seconds: 30, throttles: "channel" })
      yield* provider.respond((message) => message.channel.id === channel.id ? busy : accept(message))
      const throttledSend = yield* startWith("01")
      yield* work
      const waiting = yield* Effect.forEach(["02", "03", "04"], startWith)
      const elsewhere = yield* other.start()
      yield* provider.respond(accept)
      yield* workFor("29 seconds")
      assert.strictEqual(yield* attemptsOn(channel.id), 1)
      assert.strictEqual(yield* other.stateOf(elsewhere.id), "sent")
      yield* workFor("1 second")
      assert.strictEqual(yield* stateOf(throttledSend.id), "sent")
      // The others are spread over the four seconds that follow.
      yield* workFor("4 seconds", "1 second")
      for (const { id } of waiting) assert.strictEqual(yield* stateOf(id), "sent")
    }))

  it.effect("a throttled recipient waits 1, 4, 16 and 64 seconds, and other recipients of the channel continue", () =>
    Effect.gen(function*() {
      const { channel, provider, start, startWith, stateOf } = yield* makeHoldScene
      const busy = new ProviderBusy({ reason: "rate_limited", retry_after_seconds: null, throttles: "recipient" })
      const { id } = yield* start()
      yield* provider.respond((message) => message.reference === id ? busy : accept(message))
      yield* work
      const elsewhere = yield* startWith("02")
      yield* work
      assert.strictEqual(yield* stateOf(elsewhere.id), "sent")
      for (const [index, seconds] of [1, 4, 16, 64].entries()) {
        yield* workFor(Duration.seconds(seconds - 1), "63 seconds")
        assert.strictEqual(yield* attemptsOn(channel.id), index + 2)
        yield* workFor("1 second")
        assert.strictEqual(yield* attemptsOn(channel.id), index + 3)
      }
      assert.strictEqual(yield* stateOf(id), "rate_limited")
    }))
}

const timeLimits = (it: It) => {
  it.effect("a throttled send fails two minutes after its first attempt, and a send without an attempt is sent later", () =>
    Effect.gen(function*() {
      const { provider, startWith, stateOf } = yield* makeHoldScene
      const busy = new ProviderBusy({ reason: "rate_limited", retry_after_seconds: 300, throttles: "channel" })
      yield* provider.respond(() => busy)
      const throttledSend = yield* startWith("01")
      yield* work
      const waiting = yield* startWith("02")
      yield* provider.respond(accept)
      yield* workFor("299 seconds", "60 seconds")
      assert.strictEqual(yield* stateOf(throttledSend.id), "rate_limited")
      assert.strictEqual(yield* stateOf(waiting.id), "queued")
      yield* workFor("5 seconds", "1 second")
      assert.strictEqual(yield* stateOf(waiting.id), "sent")
    }))

  it.effect("a send waits for a throttle that was a day long when it was accepted", () =>
    Effect.gen(function*() {
      const { provider, startWith, stateOf } = yield* makeHoldScene
      yield* provider.respond(() =>
        new ProviderBusy({ reason: "rate_limited", retry_after_seconds: 86_400, throttles: "channel" })
      )
      yield* startWith("01")
      yield* work
      const { id } = yield* startWith("02")
      yield* work
      assert.strictEqual(yield* stateOf(id), "queued")
      yield* provider.respond(accept)
      yield* workFor("1 day", "12 hours")
      assert.strictEqual(yield* stateOf(id), "sent")
    }))

  it.effect("a send that was attempted waits for its paused channel until its two minutes are over", () =>
    Effect.gen(function*() {
      const [resumed, paused] = [yield* makeHoldScene, yield* makeHoldScene]
      const { provider } = resumed
      const busy = new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })
      yield* provider.respond(() => busy)
      const [first, second] = [yield* resumed.startWith("01"), yield* paused.startWith("01")]
      yield* work
      yield* provider.respond(() => rejected)
      yield* resumed.startWith("02")
      yield* paused.startWith("02")
      yield* work
      yield* workFor("119 seconds", "1 second")
      assert.strictEqual(yield* resumed.stateOf(first.id), "queued")
      assert.strictEqual(yield* paused.stateOf(second.id), "queued")
      yield* provider.respond(accept)
      yield* ChannelHolds.use(({ resume }) => resume(resumed.channel.id)).pipe(resumed.as)
      yield* workFor("1 second")
      assert.strictEqual(yield* resumed.stateOf(first.id), "sent")
      assert.strictEqual(yield* paused.stateOf(second.id), "provider_auth")
    }))
}

export const journeyTests = (storage: Storage) => {
  it.layer(crm(storage), { timeout: "5 minutes" })("pauses of channels", (it) => {
    newTokens(it)
    pausing(it)
    waiting(it)
  })
  it.layer(crm(storage), { timeout: "5 minutes" })("throttled sends", (it) => {
    throttledTargets(it)
    timeLimits(it)
  })
}
