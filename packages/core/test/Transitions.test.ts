import { assert, describe, it } from "@effect/vitest"
import { nextAttempt } from "@messaging-crm/core/Dispatch"
import { canonicalJson, parseKey } from "@messaging-crm/core/Idempotency"
import { ConversationId, MessageId, SendId } from "@messaging-crm/core/Ids"
import { checksum } from "@messaging-crm/core/Secrets"
import { accept, begin, doubt, fail, queue, requeue, type Send } from "@messaging-crm/core/Sends"
import { render, type Template, type TemplateValues } from "@messaging-crm/core/Templates"
import { DateTime, Effect, Option } from "effect"

const id = "01990000-0000-7000-8000-000000000001"
const at = DateTime.makeUnsafe(0)
const message_id = MessageId.make(id)

describe("a send", () => {
  const queued = queue(SendId.make(id), ConversationId.make(id), at)
  const states: Readonly<Record<string, Send>> = {
    queued,
    sending: begin(queued),
    unknown: doubt(begin(queued)),
    sent: accept(begin(queued), message_id),
    failed: fail(queued, "outcome_unknown")
  }

  it("moves only as its table says", () => {
    const events = {
      begin,
      requeue,
      doubt,
      accept: (send: Send) => accept(send, message_id),
      fail: (send: Send) => fail(send, "provider_rejected")
    }
    const table = Object.fromEntries(
      Object.entries(states).map(([state, send]) => [
        state,
        Object.fromEntries(Object.entries(events).map(([event, move]) => [event, move(send).status]))
      ])
    )
    assert.deepStrictEqual(table, {
      queued: { begin: "sending", requeue: "queued", doubt: "queued", accept: "sent", fail: "failed" },
      sending: { begin: "sending", requeue: "queued", doubt: "unknown", accept: "sent", fail: "failed" },
      unknown: { begin: "unknown", requeue: "unknown", doubt: "unknown", accept: "sent", fail: "failed" },
      sent: { begin: "sent", requeue: "sent", doubt: "sent", accept: "sent", fail: "sent" },
      failed: { begin: "failed", requeue: "failed", doubt: "failed", accept: "failed", fail: "failed" }
    })
  })

  it("has a message exactly when it is sent, and a reason exactly when it failed", () => {
    for (const { failure_reason, message_id, status } of Object.values(states)) {
      assert.strictEqual(message_id !== null, status === "sent")
      assert.strictEqual(failure_reason !== null, status === "failed")
    }
  })

  it("is tried again after 1, 5, 15, 30 and 60 seconds, for two minutes", () => {
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
})

describe("an idempotency key", () => {
  it("has 8 to 200 printable characters, trimmed and unquoted", () => {
    for (
      const [header, key] of [
        ["12345678", "12345678"],
        [" 12345678\t", "12345678"],
        ["\"12345678\"", "12345678"],
        ["x".repeat(200), "x".repeat(200)]
      ] as const
    ) {
      assert.strictEqual(Option.getOrNull(parseKey(header)), key)
    }
    for (const header of ["", "1234567", "\"1234567\"", "x".repeat(201), "1234 5678", "1234567é", "\"12345678"]) {
      const isQuoteAlone = header === "\"12345678"
      assert.strictEqual(Option.isSome(parseKey(header)), isQuoteAlone, header)
    }
  })

  it("counts requests as the same when only spelling differs", () => {
    assert.strictEqual(
      canonicalJson({ b: [1, { d: null, c: "x" }], a: true }),
      "{\"a\":true,\"b\":[1,{\"c\":\"x\",\"d\":null}]}"
    )
    assert.notStrictEqual(canonicalJson({ a: null }), canonicalJson({}))
    assert.notStrictEqual(canonicalJson([1, 2]), canonicalJson([2, 1]))
    assert.strictEqual(canonicalJson(JSON.parse("{\"__proto__\":1}")), "{\"__proto__\":1}")
  })
})

it("a key's checksum is the CRC32 in base62, padded", () => {
  // CRC-32 of "123456789" is 0xCBF43926 (3421780262), of "" it is 0.
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  const value = Array.from(checksum("123456789")).reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
  assert.strictEqual(value, 0xcbf43926)
  assert.strictEqual(checksum(""), "000000")
})

describe("a template", () => {
  const template = (fields: Partial<Template>): Template => ({
    id: "t",
    name: "t",
    language: "en",
    category: "UTILITY",
    status: "APPROVED",
    phone_messaging_business_account_id: "a",
    parameter_format: "POSITIONAL",
    components: [{ type: "BODY", text: "{{2}} before {{1}}, {{1}} again", format: null, buttons: null }],
    ...fields
  })
  const body = (...texts: ReadonlyArray<string>): ReadonlyArray<TemplateValues> => [
    { type: "body", parameters: texts.map((text) => ({ type: "text", text })) }
  ]

  it.effect("fills placeholders by number, in one pass", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* render(template({}), body("{{2}}", "b$&")), "b$& before {{2}}, {{2}} again")
      const tenth = Array.from({ length: 10 }, (_, index) => `{{${index + 1}}}`).join(" ")
      const many = template({ components: [{ type: "BODY", text: tenth, format: null, buttons: null }] })
      assert.strictEqual(yield* render(many, body(..."abcdefghij")), "a b c d e f g h i j")
    }))

  it.effect("refuses a status that may not be sent, and values that do not fit", () =>
    Effect.gen(function*() {
      for (const status of ["PENDING", "REJECTED", "PAUSED", "DISABLED", "SOMETHING_NEW"]) {
        assert.strictEqual(
          (yield* Effect.flip(render(template({ status }), body("a", "b"))))._tag,
          "TemplateNotApproved"
        )
      }
      for (
        const values of [[], body("a"), body("a", "b", "c"), [...body("a", "b"), ...body("a", "b")], [
          ...body("a", "b"),
          { type: "header" as const, parameters: [] }
        ]]
      ) {
        assert.strictEqual((yield* Effect.flip(render(template({}), values)))._tag, "TemplateValuesMismatch")
      }
    }))
})
