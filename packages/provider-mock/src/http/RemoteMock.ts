import { isUnconnected } from "@messaging-crm/core/ConnectionErrors"
import {
  MessagingProvider,
  type OutboundMessage,
  ProviderBusy,
  ProviderOutcomeUnknown,
  ProviderRejected,
  ProviderUnavailable
} from "@messaging-crm/core/MessagingProvider"
import { traced } from "@messaging-crm/core/Traces"
import { Effect, Layer, Schema } from "effect"
import * as Protocol from "./Protocol.ts"

const encodeRequest = Schema.encodeEffect(Schema.fromJsonString(Protocol.DeliverRequest))
const decodeAccepted = Schema.decodeUnknownEffect(Schema.fromJsonString(Protocol.Accepted))
const decodeRejected = Schema.decodeUnknownEffect(Schema.fromJsonString(Protocol.Rejected))
const decodeBusy = Schema.decodeUnknownEffect(Schema.fromJsonString(Protocol.Busy))
const decodeTemplates = Schema.decodeUnknownEffect(Schema.fromJsonString(Protocol.TemplatesResponse))

const request = (url: string, init: RequestInit) =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(url, { ...init, signal, redirect: "manual" })
      return { status: response.status, text: await response.text() }
    },
    catch: (error) => error
  })

const busy = new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })

const interpret = Effect.fnUntraced(function*({ status, text }: { readonly status: number; readonly text: string }) {
  switch (status) {
    case 200:
      return yield* decodeAccepted(text)
    case 422:
      return yield* new ProviderRejected(yield* decodeRejected(text))
    case 429:
    case 503:
      return yield* new ProviderBusy(yield* decodeBusy(text))
    default:
      // Another 4xx rejects the request as such, before the message was read. Any other status may follow an accepted message.
      return yield* status >= 400 && status < 500 ? busy : new ProviderOutcomeUnknown()
  }
})

/** Layer for a mock provider in another process. */
export const layer = (provider_url: string) => {
  const at = (path: string) => new URL(path, provider_url).href

  const deliver = traced("RemoteMock.deliver")(function*(message: OutboundMessage) {
    const body = yield* Effect.orDie(encodeRequest(message))
    const headers = { "content-type": "application/json" }
    const response = yield* request(at("/deliver"), { method: "POST", body, headers }).pipe(
      Effect.mapError((error) => isUnconnected(error) ? busy : new ProviderOutcomeUnknown())
    )
    // A response that does not decode proves nothing about the message.
    return yield* Effect.catchTag(interpret(response), "SchemaError", () => new ProviderOutcomeUnknown())
  })

  const templates = traced("RemoteMock.templates")(function*(account: string) {
    return yield* request(at(`/templates/${encodeURIComponent(account)}`), {}).pipe(
      Effect.flatMap(({ text }) => decodeTemplates(text)),
      Effect.timeout("5 seconds"),
      Effect.map(({ templates }) => templates),
      Effect.mapError(() => new ProviderUnavailable())
    )
  })

  return Layer.succeed(MessagingProvider, { dedup: "callback_ref", deliver, templates })
}
