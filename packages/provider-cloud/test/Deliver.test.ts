/** Tests of the outcome that is certain after each end of a call. */
import { assert, describe, it } from "@effect/vitest"
import type { Channel, ChannelType } from "@messaging-crm/core/Channels"
import { ChannelId, SendId } from "@messaging-crm/core/Ids"
import { MessagingProvider, type OutboundMessage } from "@messaging-crm/core/MessagingProvider"
import { SecretUnreadable } from "@messaging-crm/core/Secrets"
import * as Cloud from "@messaging-crm/provider-cloud"
import { AccountsUnreadable, CloudAccounts } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as CloudSettings from "@messaging-crm/provider-cloud/CloudSettings"
import { DateTime, Effect, Layer, Redacted, Result } from "effect"
import { FetchHttpClient } from "effect/http"
import { always, behaviorOf } from "../src/fake/Behaviors.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { accounts, over, recorder } from "./Network.ts"

let last = 0

const delivery = (recipient: string, type: ChannelType = "phone_messaging"): OutboundMessage => {
  const channel: Channel = {
    id: ChannelId.make("01990000-0000-7000-8000-000000000001"),
    type,
    name: "Support",
    address: "+493012345678",
    phone_messaging_business_account_id: type === "phone_messaging" ? "acme" : null,
    connected_at: DateTime.makeUnsafe(0)
  }
  const reference = SendId.make(`01990000-0000-7000-8000-${String(++last).padStart(12, "0")}`)
  return { channel, reference, recipient, content: { type: "text", text: "Hello" } }
}

/** Delivers a message, and returns the outcome in one word. */
const outcomeOfCall = (message: OutboundMessage) =>
  MessagingProvider.use((provider) => Effect.result(provider.deliver(message))).pipe(
    Effect.map((result) => {
      if (Result.isSuccess(result)) return "accepted"
      return result.failure._tag === "ProviderOutcomeUnknown"
        ? "unknown"
        : `${result.failure._tag} ${result.failure.reason}`
    })
  )

/** Layer for a provider of its own at an address where no network is. */
const at = (base_url: string) =>
  Layer.fresh(Cloud.layer).pipe(
    Layer.provide([accounts, FetchHttpClient.layer, CloudSettings.layer({ base_url })])
  )

it.effect("a request that never left was not sent: refused connection, unknown host name, untrusted certificate", () =>
  Effect.gen(function*() {
    const { url } = yield* FakeGraph
    const places = ["http://127.0.0.1:40009", "http://nowhere.invalid", url.replace("http:", "https:"), "no address"]
    for (const place of places) {
      const outcome = yield* Effect.provide(outcomeOfCall(delivery("+4915112345678")), at(place))
      assert.strictEqual(outcome, "ProviderBusy provider_unavailable", place)
    }
  }).pipe(Effect.provide(over(recorder))))

it.effect("a request without a response from the network has an unknown outcome", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const responses = [
      { response: "hang_up" },
      { response: "accept_and_hang_up" },
      { response: "error_page", status: 502 },
      { response: "error_page", status: 404 },
      { response: "error_page", status: 200 }
    ] as const
    for (const response of responses) {
      yield* fake.scriptNext(always(response))
      assert.strictEqual(yield* outcomeOfCall(delivery("+4915112345678")), "unknown", JSON.stringify(response))
    }
  }).pipe(Effect.provide(over(recorder))))

it.effect("a text of white space only is rejected, as the networks reject it", () =>
  Effect.gen(function*() {
    for (const type of ["phone_messaging", "page_messaging"] as const) {
      for (const text of [" ", "\n\t\u3000"]) {
        const message = { ...delivery("+4915112345678", type), content: { type: "text", text } as const }
        assert.strictEqual(yield* outcomeOfCall(message), "ProviderRejected provider_rejected")
      }
    }
  }).pipe(Effect.provide(over(recorder))))

it.effect("each message to a test number starts its responses anew, as each message of a script does", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const outcomesOf = (message: OutboundMessage) => Effect.replicateEffect(outcomeOfCall(message), 3)
    const responses = ["ProviderBusy provider_unavailable", "ProviderBusy provider_unavailable", "accepted"]
    assert.deepStrictEqual(yield* outcomesOf(delivery("+4915112340004")), responses)
    assert.deepStrictEqual(yield* outcomesOf(delivery("+4915112340004")), responses)
    yield* fake.scriptNext(...Array.from({ length: 3 }, () => behaviorOf("0004")))
    assert.deepStrictEqual(yield* outcomesOf(delivery("+4915112345678")), responses)
  }).pipe(Effect.provide(over(recorder))))

it.effect("each kind of rejection has the outcome of the table", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const reject = (code: number, more: object = {}) => fake.scriptNext(always({ response: "reject", code, ...more }))
    yield* reject(190, { status: 401 })
    assert.strictEqual(yield* outcomeOfCall(delivery("+4915112345678")), "ProviderRejected provider_auth")
    yield* reject(131047)
    assert.strictEqual(yield* outcomeOfCall(delivery("+4915112345678")), "ProviderRejected reply_window_closed")
    yield* reject(131000, { status: 500 })
    assert.strictEqual(yield* outcomeOfCall(delivery("+4915112345678")), "ProviderBusy provider_unavailable")
    yield* reject(80007, { status: 400, retry_after_seconds: 9 })
    const throttled = yield* MessagingProvider.use(({ deliver }) => Effect.flip(deliver(delivery("+4915112345678"))))
    assert.deepInclude(throttled, { _tag: "ProviderBusy", reason: "rate_limited", retry_after_seconds: 9 })
    assert.deepStrictEqual(yield* fake.accepted, [])
  }).pipe(Effect.provide(over(recorder))))

it.effect("each channel type has its own path and its own reference", () =>
  Effect.gen(function*() {
    const fake = yield* FakeGraph
    const messages = (["phone_messaging", "page_messaging", "photo_social"] as const).map((type) =>
      delivery(type === "phone_messaging" ? "+4915112345678" : "24601", type)
    )
    for (const message of messages) assert.strictEqual(yield* outcomeOfCall(message), "accepted")
    assert.deepStrictEqual(
      (yield* fake.accepted).map(({ recipient, reference }) => ({ recipient, reference })),
      [
        { recipient: "4915112345678", reference: messages[0]?.reference ?? "" },
        { recipient: "24601", reference: messages[1]?.reference ?? "" },
        { recipient: "24601", reference: null }
      ]
    )
  }).pipe(Effect.provide(over(recorder))))

it.effect("the IDs in the response become aliases of the recipient", () =>
  Effect.gen(function*() {
    const accepted = yield* MessagingProvider.use(({ deliver }) => deliver(delivery("+5511988887777")))
    assert.deepStrictEqual(accepted.recipient_aliases, ["+551188887777", "XX.551188887777"])
  }).pipe(Effect.provide(over(recorder))))

describe("templates", () => {
  it.effect("every kind of component and enum is passed through, unknown ones too", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      yield* fake.setTemplates("acme", [{
        id: "1",
        name: "order_ready",
        language: "pt_BR",
        category: "NEW_CATEGORY",
        status: "ARCHIVED",
        components: [
          { type: "HEADER", format: "IMAGE" },
          { type: "CAROUSEL", cards: [{}] },
          {
            type: "BUTTONS",
            buttons: [{ type: "URL", text: "Track", url: "https://x.example/{{1}}" }, { type: "FLOW" }]
          }
        ]
      }])
      const none = { text: null, format: null, buttons: null }
      assert.deepStrictEqual(yield* MessagingProvider.use((provider) => provider.templates("acme")), [{
        id: "1",
        name: "order_ready",
        language: "pt_BR",
        category: "NEW_CATEGORY",
        status: "ARCHIVED",
        phone_messaging_business_account_id: "acme",
        parameter_format: "POSITIONAL",
        components: [
          { ...none, type: "HEADER", format: "IMAGE" },
          { ...none, type: "CAROUSEL" },
          {
            ...none,
            type: "BUTTONS",
            buttons: [
              { type: "URL", text: "Track", url: "https://x.example/{{1}}" },
              { type: "FLOW", text: null, url: null }
            ]
          }
        ]
      }])
    }).pipe(Effect.provide(over(recorder))))
})

describe("accounts", () => {
  it.effect("a channel without an account sends nothing", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcomeOfCall(delivery("+4915112345678")), "ProviderRejected provider_auth")
    }).pipe(
      Effect.provide(
        Layer.provide(Cloud.layer, [CloudAccounts.layer({ apps: [], channels: [] }), FetchHttpClient.layer])
      )
    ))

  it.effect("a channel whose token no key decrypts is paused, and none of its sends fails permanently", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* outcomeOfCall(delivery("+4915112345678")), "ProviderHeld provider_auth")
    }).pipe(
      Effect.provide(
        Layer.provide(Cloud.layer, [
          Layer.mock(CloudAccounts, { accountOfChannel: () => Effect.fail(new SecretUnreadable()) }),
          FetchHttpClient.layer
        ])
      )
    ))

  it.effect("JSON of another shape stops the start, and the error does not contain its secrets", () =>
    Effect.gen(function*() {
      for (const json of ["", "{}", JSON.stringify({ apps: [{ id: "app", secret: "hidden" }] })]) {
        const error = yield* Effect.flip(Layer.build(CloudAccounts.layerJson(Redacted.make(json))))
        assert.instanceOf(error, AccountsUnreadable)
        assert.notInclude(String(error), "hidden")
      }
    }).pipe(Effect.scoped))
})
