import { assert, describe, it } from "@effect/vitest"
import { attemptsOf, nextAttempt } from "@messaging-crm/core/Dispatch"
import { ChannelId, ConversationId, MessageId, SendId } from "@messaging-crm/core/Ids"
import { type SendRow, SendState } from "@messaging-crm/core/Sends"
import { DateTime, Option } from "effect"

const id = "01990000-0000-7000-8000-000000000001"
const at = DateTime.makeUnsafe(0)
const message_id = MessageId.make(id)

describe("a send", () => {
  const queued: SendRow = {
    id: SendId.make(id),
    conversation_id: ConversationId.make(id),
    status: "queued",
    message_id: null,
    failure_reason: null,
    created_at: at,
    channel_id: ChannelId.make(id),
    recipient: "+4915112345678",
    member_id: null,
    content: { type: "text", text: "Hello" },
    first_attempt_at: null,
    may_be_sent: false,
    version: 1
  }
  const events: Readonly<Record<string, (send: SendRow) => SendRow>> = {
    begin: (send) => ({ ...send, ...SendState.begin(send, at) }),
    requeue: (send) => ({ ...send, ...SendState.requeue(send) }),
    markUnknown: (send) => ({ ...send, ...SendState.markUnknown(send) }),
    accept: (send) => ({ ...send, ...SendState.accept(send, message_id) }),
    fail: (send) => ({ ...send, ...SendState.fail(send, "provider_rejected") })
  }
  const sending: SendRow = { ...queued, ...SendState.begin(queued, at) }
  const states: Readonly<Record<string, SendRow>> = {
    queued,
    sending,
    unknown: { ...sending, ...SendState.markUnknown(sending) },
    sent: { ...sending, ...SendState.accept(sending, message_id) },
    failed: { ...queued, ...SendState.fail(queued, "provider_rejected") },
    in_doubt: { ...queued, ...SendState.fail(queued, "outcome_unknown") }
  }

  it("makes only the transitions of its table", () => {
    const table = Object.fromEntries(
      Object.entries(states).map(([state, send]) => [
        state,
        Object.fromEntries(Object.entries(events).map(([event, move]) => [event, move(send).status]))
      ])
    )
    assert.deepStrictEqual(table, {
      queued: { begin: "sending", requeue: "queued", markUnknown: "queued", accept: "sent", fail: "failed" },
      sending: { begin: "sending", requeue: "queued", markUnknown: "unknown", accept: "sent", fail: "failed" },
      unknown: { begin: "unknown", requeue: "unknown", markUnknown: "unknown", accept: "sent", fail: "failed" },
      sent: { begin: "sent", requeue: "sent", markUnknown: "sent", accept: "sent", fail: "sent" },
      failed: { begin: "failed", requeue: "failed", markUnknown: "failed", accept: "failed", fail: "failed" },
      in_doubt: { begin: "failed", requeue: "failed", markUnknown: "failed", accept: "sent", fail: "failed" }
    })
  })

  it("has a message exactly when it is sent, and a reason exactly when it failed", () => {
    const proven = Object.values(states).map((send) => ({ ...send, ...SendState.accept(send, message_id) }))
    for (const { failure_reason, message_id, status } of [...Object.values(states), ...proven]) {
      assert.strictEqual(message_id !== null, status === "sent")
      assert.strictEqual(failure_reason !== null, status === "failed")
    }
  })

  it("may be sent once the outcome of an attempt was unknown, whatever follows", () => {
    assert.isFalse(sending.may_be_sent)
    // Found begun, so its worker is gone.
    assert.isTrue(SendState.begin(sending, at).may_be_sent)
    const unknown = { ...sending, ...SendState.markUnknown(sending) }
    assert.isTrue(unknown.may_be_sent)
    assert.isTrue(SendState.begin(unknown, at).may_be_sent)
    const first_attempt_at = DateTime.makeUnsafe(-5)
    assert.strictEqual(SendState.begin({ ...queued, first_attempt_at }, at).first_attempt_at, first_attempt_at)
  })

  it("is retried after 1, 5, 15, 30 and 60 seconds, for two minutes", () => {
    const after = (attempt: number, seconds: number, wait: number | null = null) =>
      Option.map(
        nextAttempt(attempt, at, DateTime.add(at, { seconds }), wait),
        (next) => next.epochMilliseconds / 1000 - seconds
      )
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 6].map((attempt) => after(attempt, 0)),
      [1, 5, 15, 30, 60, 60].map(Option.some)
    )
    assert.deepStrictEqual(after(1, 0, 20), Option.some(20))
    assert.deepStrictEqual(after(5, 60), Option.some(60))
    assert.deepStrictEqual(after(5, 61), Option.none())
    assert.deepStrictEqual(after(1, 0, 121), Option.none())
  })

  it("waits for a throttled recipient for 1, 4, 16 and 64 seconds", () => {
    const waits = [1, 2, 3, 4, 5].map((attempt) => nextAttempt(attempt, at, at, null, "recipient"))
    assert.deepStrictEqual(waits, [
      ...[1, 4, 16, 64].map((seconds) => Option.some(DateTime.add(at, { seconds }))),
      Option.none()
    ])
  })

  it("has made no more attempts than fit into the time since the first, however often it was claimed", () => {
    const attempts = (claims: number, seconds: number, pauses?: "recipient") =>
      attemptsOf(claims, at, DateTime.add(at, { seconds }), pauses)
    const usual = [0, 0.9, 1, 5.9, 6, 20, 21, 51, 111].map((seconds) => attempts(99, seconds))
    assert.deepStrictEqual(usual, [1, 1, 2, 2, 3, 3, 4, 5, 99])
    assert.deepStrictEqual([0, 1, 5, 21, 85].map((seconds) => attempts(99, seconds, "recipient")), [1, 2, 3, 4, 5])
    // A slow network makes fewer.
    assert.deepStrictEqual([0, 20, 100].map((seconds) => attempts(2, seconds)), [1, 2, 2])
  })
})
