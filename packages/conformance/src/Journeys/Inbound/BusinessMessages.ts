/** Messages that the business writes in the network's own app, and reports of a time. */
import { assert } from "@effect/vitest"
import { Conversations } from "@messaging-crm/core/Conversations"
import { type ConversationId, type OrganizationId, SendId } from "@messaging-crm/core/Ids"
import type { Inbound } from "@messaging-crm/core/Inbound"
import { MessageStore } from "@messaging-crm/core/Messages"
import { ProviderOutcomeUnknown } from "@messaging-crm/core/MessagingProvider"
import type { Position } from "@messaging-crm/core/Page"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../../Fixtures.ts"
import { type It, makeScene, work, workFor } from "../JourneyScene.ts"

type Journey = Effect.Success<typeof makeScene>

/** The business writes to the person of a journey in the network's own app, or with a program that uses a reference. */
const writeInApp = Effect.fnUntraced(
  function*({ channel, number, receive }: Journey, provider_message_id: string, reference: SendId | null = null) {
    yield* receive({
      event: "message_sent",
      channel_id: channel.id,
      provider_message_id,
      reference,
      to: { external_id: number, display_name: null, username: null },
      type: "text",
      text: "By hand",
      media: null,
      sent_at: yield* DateTime.now
    })
  }
)

const sentMessages = (it: It) => {
  it.effect("shows a send's message once, with its sender, when the network reports it before it responds", () =>
    Effect.gen(function*() {
      const scene = yield* makeScene
      const { get, messageOf, provider, start } = scene
      const inApp = Effect.provide(yield* Effect.context<Inbound>())
      yield* provider.respond(({ reference }) => {
        const provider_message_id = `p.${reference}`
        return inApp(Effect.as(writeInApp(scene, provider_message_id), { provider_message_id }))
      })
      const { id } = yield* start()
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
      assert.strictEqual((yield* messageOf(id)).sender.type, "member")
    }))

  it.effect("proves by a status with its reference that a send whose response was lost is the message in its app", () =>
    Effect.gen(function*() {
      const scene = yield* makeScene
      const { get, messageOf, provider, receiveStatus, start } = scene
      yield* provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
      const { id } = yield* start()
      yield* work
      yield* writeInApp(scene, `p.${id}`)
      assert.strictEqual((yield* get(id)).status, "unknown")
      const at = yield* DateTime.now
      for (const status of ["delivered", "read", "read"] as const) yield* receiveStatus(id, { status, at })
      assert.strictEqual((yield* get(id)).status, "sent")
      const message = yield* messageOf(id)
      assert.deepStrictEqual([message.status, message.sender.type], ["read", "member"])
      yield* TestClock.adjust("20 minutes")
      yield* work
      assert.strictEqual((yield* get(id)).status, "sent")
    }))
}

/** The ways in which the network proves that it accepted a send, in every order. */
const proofs = ["echo", "echo with the reference", "status"] as const
const orders = proofs.flatMap((first) =>
  proofs.flatMap((second) =>
    first === second
      ? [[first]]
      : [[first, second], [first, second, ...proofs.filter((one) => one !== first && one !== second)]]
  )
)

const references = (it: It) => {
  for (const order of orders) {
    for (const outcome of ["response before", "response after", "lost response", "late proof"] as const) {
      // An echo without the reference proves nothing.
      const isProven = outcome.startsWith("response") || order.some((proof) => proof !== "echo")
      if (!isProven) continue
      it.effect(`has a send's message once, by ${order.join(", ")}, with a ${outcome}`, () =>
        Effect.gen(function*() {
          const scene = yield* makeScene
          const { get, messageOf, messagesIn, provider, receiveStatus, start } = scene
          const inScene = Effect.provide(yield* Effect.context<Inbound>())
          const prove = Effect.fnUntraced(function*(id: SendId) {
            for (const proof of order) {
              if (proof === "status") yield* receiveStatus(id, { status: "delivered", at: yield* DateTime.now })
              else yield* writeInApp(scene, `p.${id}`, proof === "echo" ? null : id)
            }
          })
          const isBefore = outcome === "response before"
          if (outcome === "lost response" || outcome === "late proof") {
            yield* provider.respond(() => Effect.fail(new ProviderOutcomeUnknown()))
          } else {
            yield* provider.respond(({ reference }) =>
              Effect.as(isBefore ? Effect.void : inScene(prove(reference)), { provider_message_id: `p.${reference}` })
            )
          }
          const { conversation_id, id } = yield* start()
          yield* work
          if (outcome === "late proof") yield* workFor("16 minutes", "4 minutes")
          if (outcome !== "response after") yield* prove(id)
          assert.strictEqual((yield* get(id)).status, "sent")
          const { sender, status } = yield* messageOf(id)
          assert.deepStrictEqual([sender.type, status], ["member", order.includes("status") ? "delivered" : "sent"])
          assert.lengthOf(yield* messagesIn(conversation_id), 1)
          yield* workFor("20 minutes", "4 minutes")
          assert.strictEqual((yield* get(id)).status, "sent")
        }))
    }
  }

  it.effect("is of the business if the reference is not that of a send on this channel that can have it", () =>
    Effect.gen(function*() {
      const scene = yield* makeScene
      const { as, get, messagesIn, organization_id, start } = scene
      const other = yield* Fixtures.channel(organization_id)
      const { conversation_id, id } = yield* start()
      const sendersOf = Effect.map(messagesIn(conversation_id), (all) => all.map(({ sender }) => sender.type))
      yield* writeInApp({ ...scene, channel: other }, "elsewhere", id)
      yield* scene.receiveStatus(id, { status: "read", at: yield* DateTime.now }, { channel_id: other.id })
      assert.deepStrictEqual([(yield* get(id)).status, yield* sendersOf], ["queued", []])
      const stranger = yield* makeScene
      yield* writeInApp(stranger, "strange", id)
      yield* writeInApp(scene, "unknown", SendId.make(yield* Fixtures.uuid))
      assert.deepStrictEqual([(yield* get(id)).status, yield* sendersOf], ["queued", ["business_app"]])
      yield* work
      yield* writeInApp(scene, "another", id)
      assert.deepStrictEqual(yield* sendersOf, ["business_app", "member", "business_app"])
      const { data } = yield* Conversations.use(({ list }) => list({ cursor: null, page_size: 5 })).pipe(as)
      assert.lengthOf(data, 2)
    }))
}

/** Counts the messages of a conversation by status. */
const countStatuses = Effect.fnUntraced(function*(organization_id: OrganizationId, conversation_id: ConversationId) {
  const store = yield* MessageStore
  const count = { sent: 0, delivered: 0, read: 0, failed: 0, received: 0 }
  const messages = yield* Fixtures.readAllPages(
    100,
    (after: Position | null) =>
      Effect.map(store.list(organization_id, conversation_id, { after, size: 100 }), ({ rows }) => rows),
    ({ created_at, id }) => ({ at: created_at, id })
  )
  for (const { status } of messages) count[status] += 1
  return count
})

const reportsOfTime = (it: It) => {
  it.effect("moves every message that a report of a time covers, in a conversation of any length", () =>
    Effect.gen(function*() {
      const scene = yield* makeScene
      const { as, channel, number, organization_id, receive, receiveText } = scene
      const start = yield* DateTime.now
      const report = (status: "delivered" | "read", minutes: number) =>
        receive({
          event: "messages_reported",
          channel_id: channel.id,
          external_id: number,
          status,
          until: DateTime.add(start, { minutes }),
          at: DateTime.add(start, { minutes, seconds: 1 })
        })
      // No contact has this address yet.
      yield* report("read", 0)
      for (let minute = 0; minute < 230; minute++) {
        yield* writeInApp(scene, `b${minute}`)
        if (minute % 7 === 0) yield* receiveText(`m${minute}`, "Yes?")
        yield* TestClock.adjust("1 minutes")
      }
      const { data } = yield* Conversations.use((conversations) => conversations.list({ cursor: null, page_size: 1 }))
        .pipe(as)
      const [conversation = assert.fail("There is no conversation.")] = data
      const counts = countStatuses(organization_id, conversation.id)
      yield* report("delivered", 219)
      assert.deepInclude(yield* counts, { sent: 10, delivered: 220, read: 0 })
      yield* report("read", 199)
      yield* report("read", 199)
      yield* report("delivered", 229)
      assert.deepInclude(yield* counts, { sent: 0, delivered: 30, read: 200 })
    }))
}

export const businessMessages = (it: It) => {
  sentMessages(it)
  references(it)
  reportsOfTime(it)
}
