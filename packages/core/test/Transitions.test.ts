import { assert, describe, it } from "@effect/vitest"
import { attemptsOf, nextAttempt } from "@messaging-crm/core/Dispatch"
import { canonicalJson } from "@messaging-crm/core/Idempotency"
import { ChannelId, ConversationId, MessageId, SendId } from "@messaging-crm/core/Ids"
import { type SendRow, SendState } from "@messaging-crm/core/Sends"
import { render, type Template, type TemplateParameter, type TemplateValues } from "@messaging-crm/core/Templates"
import { DateTime, Option, Result } from "effect"
import { checksum } from "../src/accounts/KeyChecksum.ts"

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

describe("an idempotency key", () => {
  it("gives requests that differ only in JSON formatting the same fingerprint", () => {
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

  const rendered = (one: Template, values: ReadonlyArray<TemplateValues>) => Result.getOrThrow(render(one, values))
  const rejection = (one: Template, values: ReadonlyArray<TemplateValues>) =>
    Result.match(render(one, values), { onFailure: ({ _tag }) => _tag, onSuccess: (text) => text })

  it("fills placeholders by number, in one pass", () => {
    assert.strictEqual(rendered(template({}), body("{{2}}", "b$&")), "b$& before {{2}}, {{2}} again")
    const tenth = Array.from({ length: 10 }, (_, index) => `{{${index + 1}}}`).join(" ")
    const many = template({ components: [{ type: "BODY", text: tenth, format: null, buttons: null }] })
    assert.strictEqual(rendered(many, body(..."abcdefghij")), "a b c d e f g h i j")
  })

  const rich = (buttons = "QUICK_REPLY", format = "IMAGE") =>
    template({
      components: [
        { type: "HEADER", text: null, format, buttons: null },
        { type: "BODY", text: "{{1}} on {{2}}", format: null, buttons: null },
        { type: "BUTTONS", text: null, format: null, buttons: [{ type: buttons, text: "Not me", url: null }] }
      ]
    })
  const link = { link: "https://shop.example/file" }
  const files = {
    IMAGE: { type: "image", image: link },
    VIDEO: { type: "video", video: link },
    DOCUMENT: { type: "document", document: { ...link, filename: "invoice.pdf" } }
  } as const
  const currency = {
    type: "currency",
    currency: { fallback_value: "12.50 €", code: "EUR", amount_1000: 12_500 }
  } as const
  const date_time = { type: "date_time", date_time: { fallback_value: "20 November" } } as const
  const payload = { type: "payload", payload: "DISPUTE" } as const
  const header = (...parameters: ReadonlyArray<TemplateParameter>) => ({ type: "header", parameters }) as const
  const amounts = { type: "body", parameters: [currency, date_time] } as const
  const button = (...parameters: ReadonlyArray<TemplateParameter>) =>
    ({ type: "button", sub_type: "quick_reply", index: 0, parameters }) as const

  it("accepts a file for the header of its format, amounts and times for a body, and a payload for a quick reply", () => {
    for (const [format, file] of Object.entries(files)) {
      for (const more of [[], [button()], [button(payload)], [button({ type: "text", text: "DISPUTE" })]]) {
        const values = [header(file), amounts, ...more]
        assert.strictEqual(rendered(rich("QUICK_REPLY", format), values), "12.50 € on 20 November")
      }
    }
    const named = template({
      parameter_format: "NAMED",
      components: [{ type: "BODY", text: "{{sum}} on {{day}}", format: null, buttons: null }]
    })
    const values = {
      type: "body",
      parameters: [{ ...date_time, parameter_name: "day" }, { ...currency, parameter_name: "sum" }]
    }
    assert.strictEqual(rendered(named, [values as TemplateValues]), "12.50 € on 20 November")
    assert.strictEqual(rejection(named, [amounts]), "TemplateValuesMismatch")
  })

  it("rejects a parameter where its type does not fit, and one too few or too many", () => {
    const { DOCUMENT, IMAGE, VIDEO } = files
    for (
      const values of [
        [amounts],
        [header(), amounts],
        [header(IMAGE, IMAGE), amounts],
        [header(VIDEO), amounts],
        [header(DOCUMENT), amounts],
        [header({ type: "text", text: "a" }), amounts],
        [header(IMAGE), { type: "body" as const, parameters: [currency, IMAGE] }],
        [header(IMAGE), { type: "body" as const, parameters: [currency, payload] }],
        [header(IMAGE), amounts, button(payload, payload)],
        [header(IMAGE), amounts, button(currency)]
      ]
    ) {
      assert.strictEqual(rejection(rich(), values), "TemplateValuesMismatch", JSON.stringify(values))
    }
    assert.strictEqual(rejection(rich("URL"), [header(IMAGE), amounts, button(payload)]), "TemplateValuesMismatch")
  })

  it("rejects a status that may not be sent, and values that do not fit", () => {
    for (const status of ["PENDING", "REJECTED", "PAUSED", "DISABLED", "SOMETHING_NEW"]) {
      assert.strictEqual(rejection(template({ status }), body("a", "b")), "TemplateNotApproved")
    }
    for (
      const values of [[], body("a"), body("a", "b", "c"), [...body("a", "b"), ...body("a", "b")], [
        ...body("a", "b"),
        { type: "header" as const, parameters: [] }
      ]]
    ) {
      assert.strictEqual(rejection(template({}), values), "TemplateValuesMismatch")
    }
  })
})
