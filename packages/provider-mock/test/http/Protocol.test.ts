/** The signature of the mock network's callbacks, and the events of one callback. */
import { assert, describe, it } from "@effect/vitest"
import { ChannelId } from "@messaging-crm/core/Ids"
import type { ProviderEvent, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Secrets } from "@messaging-crm/core/Secrets"
import { picture } from "@messaging-crm/provider-mock"
import { batches } from "@messaging-crm/provider-mock/http/CallbackSender"
import { sign, signedDigest } from "@messaging-crm/provider-mock/http/Protocol"
import { DateTime, Effect, Option } from "effect"

describe("the signature of a callback", () => {
  it.effect("contains the digest of the body", () =>
    Effect.gen(function*() {
      const header = yield* sign("body")
      assert.deepStrictEqual(yield* signedDigest(header), Option.some(yield* Secrets.use((it) => it.sha256("body"))))
    }).pipe(Effect.provide(Secrets.layer)))

  it.effect("is rejected with another digest, for another purpose, or with more parts", () =>
    Effect.gen(function*() {
      const secrets = yield* Secrets
      const header = yield* sign("body")
      const [digest = "", signature = ""] = header.split(".")
      const headers = [
        `${yield* secrets.sha256("other body")}.${signature}`,
        `${digest}.${yield* secrets.sign("another purpose", digest)}`,
        `${header}.${signature}`,
        digest,
        ""
      ]
      for (const each of headers) assert.deepStrictEqual(yield* signedDigest(each), Option.none(), each)
    }).pipe(Effect.provide(Secrets.layer)))
})

describe("the events of one callback", () => {
  const received = (id: string, hasFile: boolean): ProviderMessageReceived => ({
    event: "message_received",
    channel_id: ChannelId.make("01990000-0000-7000-8000-000000000001"),
    provider_message_id: id,
    from: { external_id: "+4915112345678", display_name: null, username: null },
    type: hasFile ? "image" : "text",
    text: null,
    media: hasFile
      ? { kind: "image", mime_type: "image/png", filename: null, transcript: null, bytes: picture }
      : null,
    sent_at: DateTime.makeUnsafe(0)
  })

  it("are all events without a file, or one with a file", () => {
    const [a, b, c, d] = [received("a", false), received("b", true), received("c", false), received("d", true)]
    assert.deepStrictEqual(batches([a, b, c, d]), [[a, c], [b], [d]])
    assert.deepStrictEqual(batches([b]), [[b]])
    assert.deepStrictEqual(batches([]), [])
    const { from, ...message } = received("e", true)
    const sentByApp: ProviderEvent = { ...message, event: "message_sent", to: from }
    assert.deepStrictEqual(batches([a, sentByApp, b]), [[a], [sentByApp], [b]])
  })
})
