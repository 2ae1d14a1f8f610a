/** Signatures of webhooks, held against the standard's own library. */
import { assert, describe, it, vi } from "@effect/vitest"
import { signWebhook, verifyWebhook, WebhookVerificationError } from "@messaging-crm/client"
import { bytes, hardText } from "@messaging-crm/conformance/Arbitraries"
import { Arbitrary, Effect, Schema } from "effect"
import { runInNewContext } from "node:vm"
import { Webhook } from "standardwebhooks"
import { Headers as UndiciHeaders } from "undici"

const secretOf = (fill: number) => `whsec_${Buffer.alloc(32, fill).toString("base64")}`
const secret = secretOf(7)
const payload = "{\"id\":\"e1\",\"type\":\"conversation.closed\",\"data\":{\"conversation_id\":\"c1\"}}"

const typeOf = (value: unknown): string => Object.prototype.toString.call(value).slice(8, -1)

const rejected = async (request: Partial<Parameters<typeof verifyWebhook>[0]>): Promise<string> => {
  const headers = await signWebhook({ payload, secret })
  const error = await verifyWebhook({ payload, headers, secret, ...request }).then(() => undefined, (error) => error)
  assert.instanceOf(error, WebhookVerificationError)
  assert.notInclude(error.message, secret)
  assert.strictEqual(error.name, "WebhookVerificationError")
  assert.match(error.message, /^[A-Z].*\.$/)
  return error.reason
}

describe("a signature", () => {
  it.effect.prop(
    "of the standard's library is accepted, for any text",
    { text: hardText({ min: 0, max: 100 }) },
    ({ text }) =>
      Effect.promise(async () => {
        const payload = JSON.stringify({ type: "message.received", data: { text } })
        const now = new Date()
        const headers = {
          "webhook-id": "e1",
          "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
          "webhook-signature": new Webhook(secret).sign("e1", now, payload)
        }
        assert.deepStrictEqual<unknown>(await verifyWebhook({ payload, headers, secret }), JSON.parse(payload))
      })
  )

  it.effect.prop("of this client is accepted by the standard's library, for any text", {
    text: hardText({ min: 0, max: 100 })
  }, ({ text }) =>
    Effect.promise(async () => {
      const payload = JSON.stringify({ text })
      const headers = await signWebhook({ payload, secret })
      assert.deepStrictEqual(new Webhook(secret).verify(payload, headers), JSON.parse(payload))
    }))

  it("is found among several, and matches any of several secrets", async () => {
    const headers = await signWebhook({ payload, secret })
    const several = `v1,${btoa("x")} v1a,ed25519 v1,% ${headers["webhook-signature"]}`
    const event = await verifyWebhook({ payload, headers: { ...headers, "webhook-signature": several }, secret })
    assert.strictEqual(event.type, "conversation.closed")
    assert.strictEqual((await verifyWebhook({ payload, headers, secret: [secretOf(1), secret] })).id, "e1")
  })

  it("is read from any kind of headers and from bytes", async () => {
    const headers = await signWebhook({ payload, secret })
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
    const arrays = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))
    const get = (name: string) => new Headers(headers).get(name)
    const kinds = [
      new Headers(headers),
      new UndiciHeaders(headers),
      new Map(Object.entries(headers)),
      { get },
      upper,
      arrays
    ]
    for (const each of kinds) {
      assert.strictEqual((await verifyWebhook({ payload: Buffer.from(payload), headers: each, secret })).id, "e1")
    }
    const foreign: Uint8Array = runInNewContext("Uint8Array.from(bytes)", { bytes: Buffer.from(payload) })
    assert.isFalse(foreign instanceof Uint8Array)
    assert.strictEqual((await verifyWebhook({ payload: foreign, headers, secret })).id, "e1")
    assert.deepStrictEqual(
      await signWebhook({ payload: Buffer.from(payload), secret, id: "e1", timestamp: new Date(0) }),
      await signWebhook({ payload, secret, id: "e1", timestamp: new Date(0) })
    )
  })
})

it("tells that the payload must be the raw body", async () => {
  const headers = await signWebhook({ payload, secret })
  const buffer = new ArrayBuffer(8)
  for (const parsed of [JSON.parse(payload), [1], 1, true, null, undefined, buffer, new Blob([payload])]) {
    const error = await verifyWebhook({ payload: parsed, headers, secret }).catch((error: unknown) => error)
    assert.instanceOf(error, TypeError)
    assert.match(error.message, /^payload must be the raw body as a string or Uint8Array/)
  }
})

describe("a request is rejected", () => {
  it("if its payload or headers were changed", async () => {
    assert.strictEqual(await rejected({ payload: payload.replace("c1", "c2") }), "wrong_signature")
    assert.strictEqual(await rejected({ payload: `${payload} ` }), "wrong_signature")
    const headers = await signWebhook({ payload, secret })
    assert.strictEqual(await rejected({ headers: { ...headers, "webhook-id": "e2" } }), "wrong_signature")
    assert.strictEqual(await rejected({ headers: { ...headers, "webhook-signature": "v1," } }), "wrong_signature")
  })

  it("if another secret signed it", async () => {
    assert.strictEqual(await rejected({ secret: secretOf(8) }), "wrong_signature")
    assert.strictEqual(await rejected({ secret: [] }), "wrong_signature")
    assert.strictEqual(await rejected({ secret: "whsec_%" }), "wrong_secret_format")
    assert.strictEqual(await rejected({ secret: "" }), "wrong_secret_format")
  })

  it("if it is too old, too new, or has no time", async () => {
    const at = async (seconds: number) => ({
      headers: await signWebhook({ payload, secret, timestamp: new Date(Date.now() + seconds * 1000) })
    })
    assert.strictEqual(await rejected(await at(-400)), "too_old")
    assert.strictEqual(await rejected(await at(400)), "too_new")
    assert.strictEqual(await rejected({ ...await at(-40), tolerance: 20 }), "too_old")
    const headers = await signWebhook({ payload, secret })
    const { "webhook-timestamp": time } = headers
    for (const other of ["now", ` ${time}`, `${time} `, `+${time}`, `${time}.0`]) {
      assert.strictEqual(
        await rejected({ headers: { ...headers, "webhook-timestamp": other } }),
        "malformed_timestamp",
        other
      )
    }
  })

  it("if it is one second too old or too new, and not at the limit", async () => {
    vi.useFakeTimers({ toFake: ["Date"] })
    try {
      for (const [seconds, reason] of [[300, "too_old"], [-300, "too_new"]] as const) {
        const beyond = Date.now() - (seconds + Math.sign(seconds)) * 1000
        const timestamp = new Date(Date.now() - seconds * 1000)
        const headers = await signWebhook({ payload, secret, timestamp })
        assert.strictEqual((await verifyWebhook({ payload, headers, secret })).id, "e1")
        const late = await signWebhook({ payload, secret, timestamp: new Date(beyond) })
        assert.strictEqual(await rejected({ headers: late }), reason)
      }
      const now = await signWebhook({ payload, secret })
      vi.setSystemTime(Date.now() + 1000)
      assert.strictEqual(await rejected({ headers: now, tolerance: 0 }), "too_old")
    } finally {
      vi.useRealTimers()
    }
  })

  it("if its signed body is no event", async () => {
    for (const other of ["no", "null", "1", "[]", "\"e1\""]) {
      const headers = await signWebhook({ payload: other, secret })
      assert.strictEqual(await rejected({ payload: other, headers }), "not_json")
    }
  })

  it.effect.prop("with a `WebhookVerificationError` or not at all, whatever it contains", {
    body: bytes,
    json: Arbitrary.schema(Schema.Json),
    text: hardText({ min: 0, max: 40 })
  }, ({ body, json, text }) =>
    Effect.promise(async () => {
      for (const payload of [body, text, JSON.stringify(json)]) {
        const signed = await signWebhook({ payload, secret })
        for (const header of ["none", ...Object.keys(signed)]) {
          for (const value of [text, `v1,${text}`, `v1,${text} ${signed["webhook-signature"]}`]) {
            const headers = { ...signed, [header]: value }
            const outcome: unknown = await verifyWebhook({ payload, headers, secret }).catch((error: unknown) => error)
            if (!(outcome instanceof WebhookVerificationError)) assert.strictEqual(typeOf(outcome), "Object")
          }
        }
      }
    }))

  it("if it lacks a header", async () => {
    const headers = await signWebhook({ payload, secret })
    for (const name of Object.keys(headers)) {
      const others = Object.entries(headers).filter(([key]) => key !== name)
      assert.strictEqual(await rejected({ headers: Object.fromEntries(others) }), "missing_header")
      assert.strictEqual(await rejected({ headers: { ...headers, [name]: "" } }), "missing_header")
      assert.strictEqual(await rejected({ headers: { ...headers, [name]: undefined } }), "missing_header")
      assert.strictEqual(await rejected({ headers: { ...headers, [name]: [] } }), "missing_header")
      assert.strictEqual(await rejected({ headers: { get: () => null } }), "missing_header")
    }
  })
})
