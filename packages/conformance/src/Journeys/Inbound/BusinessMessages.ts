/** Messages that the business writes in the network's own app, and reports of a time. */
import { assert } from "@effect/vitest"
import { Conversations } from "@messaging-crm/core/Conversations"
import type { ConversationId, OrganizationId } from "@messaging-crm/core/Ids"
import type { Inbound } from "@messaging-crm/core/Inbound"
import { MessageStore } from "@messaging-crm/core/Messages"
import { ProviderOutcomeUnknown } from "@messaging-crm/core/MessagingProvider"
import type { Position } from "@messaging-crm/core/Page"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../../Fixtures.ts"
import { type It, makeScene, work } from "../JourneyScene.ts"

type Journey = Effect.Success<typeof makeScene>

/** The business writes to the person of a journey in the network's own app. */
const writeInApp = Effect.fnUntraced(
  function*({ channel, number, receive }: Journey, provider_message_id: string) {
    yield* receive({
      event: "message_sent",
      channel_id: channel.id,
      provider_message_id,
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

/** Counts the messages of a conversation by status. */
const countStatuses = Effect.fnUntraced(function*(organization_id: OrganizationId, conversation_id: ConversationId) {
  const store = yield* MessageStore
  const count = { sent: 0, delivered: 0, read: 0, failed: 0, received: 0 }
  const messages = yield* Fixtures.readAllPages(
    100,
    (after: Position | null) => store.list(organization_id, conversation_id, { after, size: 100 }),
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
  reportsOfTime(it)
}
