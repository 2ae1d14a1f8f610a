/** Messages of a page: which of its echoes are sends, and which of its messages a watermark covers. */
import { assert, describe } from "@effect/vitest"
import { Sends } from "@messaging-crm/core/Sends"
import { DateTime, Duration, Effect, Struct } from "effect"
import { always } from "../src/fake/Behaviors.ts"
import { messengerEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { Acme, allMessages, messages, noon, reply, testAtAcme } from "./Acme.ts"

/** Posts an event between the page and a person, at a time of the network. */
const post = Effect.fnUntraced(function*(event: object, at = noon) {
  const fake = yield* FakeGraph
  const { page_messaging } = yield* Acme
  yield* fake.enqueue(messengerEntry("page", {
    account: page_messaging,
    person: "24601",
    timestamp: at.epochMilliseconds,
    event
  }))
  assert.deepStrictEqual(yield* fake.post(), [200])
})

/** Posts an echo of the page's message to the person. */
const postEcho = Effect.fnUntraced(function*(message: object) {
  const { page_messaging } = yield* Acme
  yield* post({
    sender: { id: page_messaging },
    recipient: { id: "24601" },
    message: { is_echo: true, ...message }
  })
})

/** Queues a reply to the person's message, and leaves the callbacks of its acceptance out. */
const replyWithoutCallbacks = Effect.fnUntraced(function*(text: string) {
  const fake = yield* FakeGraph
  const id = yield* reply(text)
  yield* fake.dropWaiting
  return id
})

const shown = Effect.map(allMessages, (all) => all.map(({ sender, text }) => `${sender.type}: ${text}`).toSorted())
const sendOf = (id: Parameters<Sends["Service"]["get"]>[0]) => Sends.use(({ get }) => get(id))

describe("an echo", () => {
  const foreign = "01990000-0000-7000-8000-00000000abcd"
  for (const app_id of [undefined, 7, "app"]) {
    testAtAcme(
      `of app ${app_id} is a message of the business, if no send has the id in its metadata`,
      () =>
        Effect.gen(function*() {
          yield* postEcho({ mid: "m_1", text: "Ours?", metadata: foreign, app_id })
          yield* postEcho({ mid: "m_1", text: "Ours?", metadata: foreign, app_id })
          assert.deepStrictEqual(yield* shown, ["business_app: Ours?"])
        })
    )
  }

  testAtAcme(
    "with the id of a send that has another message is a message of the business",
    () =>
      Effect.gen(function*() {
        yield* post({ message: { mid: "m_0", text: "Hi" } })
        const metadata = yield* replyWithoutCallbacks("Hello")
        yield* postEcho({ mid: "m_other", text: "Copied", metadata })
        assert.deepStrictEqual(yield* shown, ["business_app: Copied", "contact: Hi", "member: Hello"])
      })
  )

  testAtAcme(
    "with the id of a send that the network rejected is a message of the business",
    () =>
      Effect.gen(function*() {
        const fake = yield* FakeGraph
        yield* post({ message: { mid: "m_0", text: "Hi" } })
        yield* fake.scriptNext(always({ response: "reject", code: 100 }))
        const metadata = yield* reply("Hello")
        yield* postEcho({ mid: "m_other", text: "Hello", metadata })
        assert.deepStrictEqual(yield* shown, ["business_app: Hello", "contact: Hi"])
        assert.strictEqual((yield* sendOf(metadata)).status, "failed")
      })
  )

  for (const app_id of [undefined, 7]) {
    testAtAcme(
      `with the id of a send whose response was lost is its message, whatever its app (${app_id})`,
      () =>
        Effect.gen(function*() {
          const fake = yield* FakeGraph
          yield* post({ message: { mid: "m_0", text: "Hi" } })
          yield* fake.scriptNext(always({ response: "hang_up" }))
          const metadata = yield* reply("Hello")
          assert.strictEqual((yield* sendOf(metadata)).status, "unknown")
          for (const _ of [1, 2]) yield* postEcho({ mid: "m_1", text: "Hello", metadata, app_id })
          assert.strictEqual((yield* sendOf(metadata)).status, "sent")
          assert.deepStrictEqual(yield* shown, ["contact: Hi", "member: Hello"])
        })
    )
  }
})

describe("a watermark", () => {
  /** By how much the network's clock differs from that of the service. */
  for (const difference of [-3_600_000, -5000, -300, 0, 300, 5000, 3_600_000].map(Duration.millis)) {
    testAtAcme(
      `covers the messages up to it, if the network's clock differs by ${Duration.toMillis(difference)} ms`,
      () =>
        Effect.gen(function*() {
          const fake = yield* FakeGraph
          yield* fake.setClockDifference(difference)
          const network = DateTime.addDuration(noon, difference)
          yield* post({ message: { mid: "m_0", text: "Hi" } }, DateTime.subtract(network, { seconds: 9 }))
          yield* replyWithoutCallbacks("Hello")
          const statusOf = (all: Effect.Success<typeof messages>) => all.map(Struct.get("status"))
          // The person read what came before, and then this message.
          yield* post({ read: { watermark: network.epochMilliseconds - 2000 } }, network)
          assert.deepStrictEqual(statusOf(yield* messages), ["sent", "received"])
          yield* post({ delivery: { watermark: network.epochMilliseconds } }, network)
          assert.deepStrictEqual(statusOf(yield* messages), ["delivered", "received"])
          yield* post({ read: { watermark: network.epochMilliseconds } }, network)
          assert.deepStrictEqual(statusOf(yield* messages), ["read", "received"])
        })
    )
  }
})
