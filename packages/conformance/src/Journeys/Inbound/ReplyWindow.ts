/** The reply window of a conversation, which opens with what the contact writes. */
import { assert } from "@effect/vitest"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../../Fixtures.ts"
import { type It, makeScene } from "../JourneyScene.ts"

/** Returns the only conversation of a journey, as the API shows it. */
const conversationOf = ({ as }: Effect.Success<typeof makeScene>) =>
  Effect.map(
    Conversations.use((conversations) => conversations.list({ cursor: null, page_size: 2 })),
    ({ data: [conversation = assert.fail("There is no conversation.")] }) => conversation
  ).pipe(as)

export const replyWindow = (it: It) => {
  it.effect("opens with what the contact wrote, and not with a notice of the network", () =>
    Effect.gen(function*() {
      const scene = yield* makeScene
      const conversation = conversationOf(scene)
      const notice = (id: string) =>
        scene.receiveMessage(id, { type: "unsupported", text: null, media: null, is_written_by_person: false })
      yield* notice("m1")
      assert.isNull((yield* conversation).reply_window_expires_at)
      const written_at = yield* DateTime.now
      yield* scene.receiveText("m2", "Hello")
      const end = DateTime.add(written_at, { hours: 24 })
      assert.deepStrictEqual((yield* conversation).reply_window_expires_at, end)
      yield* TestClock.adjust("1 hour")
      const { id } = yield* conversation
      yield* Conversations.use(({ close }) => close(id, CloseConversation.make({}))).pipe(scene.as)
      yield* notice("m3")
      // Like every message, it reopens the conversation and is its last activity.
      const { last_activity_at, reply_window_expires_at, status } = yield* conversation
      assert.deepStrictEqual([status, last_activity_at], ["open", yield* DateTime.now])
      assert.deepStrictEqual(reply_window_expires_at, end)
    }))

  it.effect("does not begin in the future, whatever the network's clock", () =>
    Effect.gen(function*() {
      const scene = yield* makeScene
      const now = yield* DateTime.now
      yield* scene.receive(Fixtures.messageReceived({
        channel_id: scene.channel.id,
        provider_message_id: "m1",
        from: { external_id: scene.number, display_name: null, username: null },
        sent_at: DateTime.add(now, { years: 1 })
      }))
      const { reply_window_expires_at } = yield* conversationOf(scene)
      assert.deepStrictEqual(reply_window_expires_at, DateTime.add(now, { hours: 24 }))
    }))
}
