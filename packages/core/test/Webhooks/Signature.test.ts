import { assert, describe, it } from "@effect/vitest"
import { hardText, moment } from "@messaging-crm/conformance/Arbitraries"
import { headersOf, newSecret, sign, type Signed, verify } from "@messaging-crm/core/WebhookSignature"
import { Arbitrary, DateTime, Effect, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as StandardWebhooks from "standardwebhooks"
import * as Svix from "svix"

type Verify = (secret: string, headers: Record<string, string>, body: string) => Effect.Effect<boolean>

const accepts = (verify: () => unknown) => Effect.isSuccess(Effect.try(verify))

/** The public libraries that an integrator would use, and ours. */
const libraries: Readonly<Record<string, Verify>> = {
  standardwebhooks: (secret, headers, body) =>
    accepts(() => new StandardWebhooks.Webhook(secret).verify(body, headers)),
  svix: (secret, headers, body) => accepts(() => new Svix.Webhook(secret).verify(body, headers)),
  core: (secret, headers, body) => TestClock.withLive(verify(Redacted.make(secret), headers, body))
}

const id = "01990000-0000-7000-8000-000000000001"

const bodies = hardText({ min: 0, max: 200 }).pipe(Arbitrary.map((text) => JSON.stringify({ text })))

/** The verifiers look at the machine's clock. */
const now = DateTime.now.pipe(TestClock.withLive)

describe("a signature", () => {
  it.effect("is equal to the standard's example", () =>
    Effect.gen(function*() {
      const signed: Signed = {
        id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp: DateTime.makeUnsafe(1_614_265_330_999),
        body: "{\"test\": 2432232314}"
      }
      const secret = Redacted.make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
      assert.strictEqual(yield* sign(secret, signed), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }))

  for (const [library, isAccepted] of Object.entries(libraries)) {
    it.effect.prop(`is accepted by ${library}, and with another body, id or time it is not`, {
      body: bodies,
      other: bodies
    }, ({ body, other }) =>
      Effect.gen(function*() {
        const redacted = yield* newSecret
        const secret = Redacted.value(redacted)
        const at = yield* now
        const headers = yield* headersOf([redacted], { id, timestamp: at, body })
        assert.isTrue(yield* isAccepted(secret, headers, body))
        assert.strictEqual(yield* isAccepted(secret, headers, other), other === body)
        assert.isFalse(yield* isAccepted(secret, headers, `${body} `))
        assert.isFalse(yield* isAccepted(secret, { ...headers, "webhook-id": id.replace("1", "2") }, body))
        assert.isFalse(yield* isAccepted(Redacted.value(yield* newSecret), headers, body))
        for (const minutes of [-6, 6]) {
          const stale = yield* headersOf([redacted], { id, timestamp: DateTime.add(at, { minutes }), body })
          assert.isFalse(yield* isAccepted(secret, stale, body))
          const forged = { ...headers, "webhook-timestamp": stale["webhook-timestamp"] ?? "" }
          assert.isFalse(yield* isAccepted(secret, forged, body))
        }
        const { "webhook-signature": signature = "" } = headers
        const rotated = { ...headers, "webhook-signature": `v1,${"A".repeat(43)}= ${signature}` }
        assert.isTrue(yield* isAccepted(secret, rotated, body))
        for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
          const { [name]: _, ...others } = headers
          assert.isFalse(yield* isAccepted(secret, others, body))
          assert.isFalse(yield* isAccepted(secret, { ...headers, [name]: "1e9" }, body))
        }
        const both = yield* headersOf([redacted, yield* newSecret], { id, timestamp: at, body })
        assert.isTrue(yield* isAccepted(secret, both, body))
      }), { arbitrary: { runs: 50 } })
  }

  it.effect("with anything but a number as its time is invalid", () =>
    Effect.gen(function*() {
      const secret = yield* newSecret
      const at = yield* DateTime.now
      const headers = yield* headersOf([secret], { id, timestamp: at, body: "{}" })
      const { "webhook-timestamp": time = "" } = headers
      assert.isTrue(yield* verify(secret, headers, "{}"))
      for (const other of ["", "now", ` ${time}`, `${time} `, `+${time}`, `${time}.0`, "9".repeat(13)]) {
        assert.isFalse(yield* verify(secret, { ...headers, "webhook-timestamp": other }, "{}"), other)
      }
    }))

  it.effect.prop("depends on the time in whole seconds", { at: moment }, ({ at }) =>
    Effect.gen(function*() {
      const secret = yield* newSecret
      const signed = (timestamp: DateTime.Utc) => sign(secret, { id, timestamp, body: "{}" })
      const second = DateTime.makeUnsafe(Math.floor(DateTime.toEpochMillis(at) / 1000) * 1000)
      assert.strictEqual(yield* signed(at), yield* signed(second))
      assert.notStrictEqual(yield* signed(at), yield* signed(DateTime.add(second, { seconds: 1 })))
    }))

  it.effect("is sent with the content type and user agent", () =>
    Effect.gen(function*() {
      const signed = { id, timestamp: DateTime.makeUnsafe(1_000), body: "{}" }
      const secret = yield* newSecret
      assert.deepStrictEqual(yield* headersOf([secret], signed), {
        "content-type": "application/json",
        "user-agent": "messaging-crm-webhooks/1",
        "webhook-id": id,
        "webhook-timestamp": "1",
        "webhook-signature": yield* sign(secret, signed)
      })
    }))
})

it.effect("a secret is 32 random bytes, and is redacted", () =>
  Effect.gen(function*() {
    const secrets = yield* Effect.replicateEffect(newSecret, 100)
    const texts = secrets.map(Redacted.value)
    assert.strictEqual(new Set(texts).size, texts.length)
    for (const text of texts) {
      assert.match(text, /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.strictEqual(Schema.decodeSync(Schema.Uint8ArrayFromBase64)(text.slice("whsec_".length)).byteLength, 32)
    }
    assert.notInclude(String(secrets), "whsec_")
  }))
