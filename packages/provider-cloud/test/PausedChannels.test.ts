/** Tests of the effect that rejections and throttles of the network have on other messages, over a whole core in memory. */
import { assert } from "@effect/vitest"
import { ChannelHolds } from "@messaging-crm/core/ChannelHolds"
import type { ChannelType } from "@messaging-crm/core/Channels"
import { ChannelId } from "@messaging-crm/core/Ids"
import { SendMessage, Sends } from "@messaging-crm/core/Sends"
import { Worker } from "@messaging-crm/core/Worker"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { always, defaultBehavior } from "../src/fake/Behaviors.ts"
import { messageEntry, messengerEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { Acme, conversations, noon, seconds, testAtAcme } from "./Acme.ts"

const people = ["4915112345601", "4915112345602", "4915112345603"]

/** Posts messages of three people to the number, and of one to the page. Returns a function that finds a person's conversation. */
const writeAll = Effect.gen(function*() {
  const fake = yield* FakeGraph
  const { page_messaging, phone_messaging } = yield* Acme
  const text = (id: string) => ({ id, timestamp: String(seconds), type: "text", text: { body: "Hi" } })
  yield* fake.enqueue(
    ...people.map((wa_id) => messageEntry(phone_messaging, { wa_id }, text(`wamid.${wa_id}`))),
    messengerEntry("page", {
      account: page_messaging,
      person: "24601",
      timestamp: noon.epochMilliseconds,
      event: { message: { mid: "m_1", text: "Hi" } }
    })
  )
  yield* fake.post({ batch: 10 })
  const all = yield* conversations
  return (person: string) =>
    Effect.fromNullishOr(
      all.find(({ contact }) => contact.external_id === person || contact.external_id === `+${person}`)
    )
})

/** Queues a reply to a person, and returns an effect that reads its state. */
const reply = Effect.fnUntraced(function*(conversationOf: Effect.Success<typeof writeAll>, person: string) {
  const { id: conversation_id } = yield* conversationOf(person)
  const { id } = yield* Sends.use(({ send }) =>
    send(conversation_id, SendMessage.make({ type: "text", text: `To ${person}` }))
  )
  return Effect.map(
    Sends.use(({ get }) => get(id)),
    ({ failure_reason, status }) => failure_reason ?? status
  )
})

const work = Effect.gen(function*() {
  const worker = yield* Worker
  while ((yield* worker.runOnce) > 0) continue
})

/** Advances the clock by seconds, one by one, and runs the worker after each. */
const pass = (count: number) =>
  Effect.repeat(Effect.andThen(TestClock.adjust(Duration.seconds(1)), work), { times: count - 1 })

const accepted = Effect.map(FakeGraph.use((fake) => fake.accepted), (all) => all.map(({ recipient }) => recipient))

const channelOf = (type: ChannelType) => Effect.map(Acme, (acme) => ChannelId.make(acme[type]))

testAtAcme(
  "a token that has expired pauses only its channel, and no send of the channel reaches the network until it is resumed",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const conversationOf = yield* writeAll
      const [first = "", second = "", third = ""] = people
      yield* fake.scriptNext(always({ response: "reject", code: 190, status: 401 }))
      const met = yield* reply(conversationOf, first)
      yield* work
      assert.strictEqual(yield* met, "provider_auth")
      const waiting = [yield* reply(conversationOf, second), yield* reply(conversationOf, third)]
      const elsewhere = yield* reply(conversationOf, "24601")
      yield* pass(60)
      assert.deepStrictEqual(yield* Effect.all(waiting), ["queued", "queued"])
      assert.strictEqual(yield* elsewhere, "sent")
      assert.deepStrictEqual(yield* accepted, ["24601"])
      const id = yield* channelOf("phone_messaging")
      const [hold, ...others] = yield* ChannelHolds.use(({ list }) => list)
      assert.deepInclude(hold, { channel_id: id, reason: "provider_auth" })
      assert.deepStrictEqual(others, [])
      yield* ChannelHolds.use(({ resume }) => resume(id))
      yield* pass(30)
      assert.deepStrictEqual(yield* Effect.all(waiting), ["sent", "sent"])
      assert.sameMembers(yield* accepted, ["24601", second, third])
    })
)

testAtAcme(
  "a throttled number waits for the time that the network requires, and the page continues",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const conversationOf = yield* writeAll
      const [first = "", second = "", third = ""] = people
      yield* fake.scriptNext(always({ response: "reject", code: 130429, status: 429, retry_after_seconds: 30 }))
      const met = yield* reply(conversationOf, first)
      yield* work
      const waiting = [yield* reply(conversationOf, second), yield* reply(conversationOf, third)]
      const elsewhere = yield* reply(conversationOf, "24601")
      yield* pass(29)
      assert.strictEqual(yield* elsewhere, "sent")
      assert.deepStrictEqual(yield* accepted, ["24601"])
      assert.deepStrictEqual(yield* Effect.all([met, ...waiting]), ["queued", "queued", "queued"])
      yield* pass(6)
      assert.deepStrictEqual(yield* Effect.all([met, ...waiting]), ["sent", "sent", "sent"])
    })
)

testAtAcme(
  "a throttled recipient waits 1, 4 and 16 seconds, and other recipients of the number continue",
  () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const conversationOf = yield* writeAll
      const [first = "", second = ""] = people
      const pairRate = { response: "reject", code: 131056 } as const
      yield* fake.script(first, {
        ...defaultBehavior,
        responses: [pairRate, pairRate, pairRate, { response: "accept" }]
      })
      const met = yield* reply(conversationOf, first)
      yield* work
      const elsewhere = yield* reply(conversationOf, second)
      yield* work
      assert.strictEqual(yield* elsewhere, "sent")
      yield* pass(20)
      assert.strictEqual(yield* met, "queued")
      yield* pass(1)
      assert.strictEqual(yield* met, "sent")
      assert.deepStrictEqual(yield* accepted, [second, first])
    })
)
