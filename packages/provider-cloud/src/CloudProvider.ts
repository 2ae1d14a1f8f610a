/**
 * The provider for WhatsApp, Messenger, and Instagram over the Graph API.
 *
 * No network detects a repeated send. WhatsApp and Messenger return the send's ID in
 * callbacks, so a lost response can be resolved. Instagram does not: a send whose
 * response was lost stays `unknown` until it fails.
 */
import {
  MessagingProvider,
  type OutboundMessage,
  ProviderBusy,
  ProviderHeld,
  ProviderOutcomeUnknown,
  ProviderRejected,
  ProviderUnavailable
} from "@messaging-crm/core/MessagingProvider"
import { traced } from "@messaging-crm/core/Traces"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { type CloudAccount, CloudAccounts } from "./CloudAccounts.ts"
import { CloudSettings } from "./CloudSettings.ts"
import { outcomeOf } from "./ErrorCodes.ts"
import { baseUrlOf, type CallError, callForResponse } from "./GraphClient.ts"
import { acceptedOf, AcceptedResponse, requestOf } from "./SendRequests.ts"
import * as Templates from "./Templates.ts"

const decodeResponse = Schema.decodeUnknownEffect(AcceptedResponse)

/** Returns the outcome of a send whose call failed. */
const outcomeOfCall = (error: CallError): ProviderRejected | ProviderBusy | ProviderOutcomeUnknown => {
  switch (error._tag) {
    case "Rejected":
      return outcomeOf(error.reported)
    case "NotSent":
      return new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })
    case "ResponseLost":
      return new ProviderOutcomeUnknown()
  }
}

/** Returns whether an account can send a message. Only WhatsApp has templates. */
const canSend = (account: CloudAccount, { channel, content }: OutboundMessage): boolean =>
  account.type === channel.type && (content.type === "text" || account.type === "phone_messaging")

/** Layer for the provider, over the accounts and an HTTP client. */
export const layer: Layer.Layer<MessagingProvider, never, CloudAccounts | HttpClient.HttpClient> = Layer.effect(
  MessagingProvider,
  Effect.gen(function*() {
    const accounts = yield* CloudAccounts
    const client = yield* HttpClient.HttpClient
    const settings = yield* CloudSettings

    const deliver = traced("ProviderCloud.deliver")(function*(message: OutboundMessage) {
      const found = yield* Effect.mapError(
        accounts.accountOfChannel(message.channel),
        () => new ProviderHeld({ reason: "provider_auth" })
      )
      if (Option.isNone(found)) return yield* new ProviderRejected({ reason: "provider_auth" })
      const account = found.value
      if (!canSend(account, message)) return yield* new ProviderRejected({ reason: "provider_rejected" })
      const { body, path } = requestOf(account, message)
      const request = HttpClientRequest.post(`${baseUrlOf(settings, account)}${path}`).pipe(
        HttpClientRequest.bodyJsonUnsafe(body)
      )
      const began_at = yield* DateTime.now
      const response = yield* callForResponse(client, account, request).pipe(
        Effect.mapError(outcomeOfCall),
        Effect.timeoutOrElse({
          duration: settings.deliver_time_max,
          orElse: () => Effect.fail(new ProviderOutcomeUnknown())
        })
      )
      // A response without a message ID proves nothing about the message.
      const accepted = yield* Effect.mapError(decodeResponse(response.body), () => new ProviderOutcomeUnknown())
      const duration = DateTime.distance(began_at, yield* DateTime.now)
      return {
        ...acceptedOf(accepted, message.recipient),
        // The network's time of the message is not known. It is not before the request began, by the network's clock.
        ...Option.match(response.date, {
          onNone: () => ({}),
          onSome: (date) => ({ sent_at: DateTime.subtractDuration(date, duration) })
        })
      }
    })

    const templates = traced("ProviderCloud.templates")(function*(business_account_id: string) {
      const account = yield* Effect.mapError(
        accounts.accountOfBusinessAccount(business_account_id),
        () => new ProviderUnavailable()
      )
      if (Option.isNone(account)) return yield* new ProviderUnavailable()
      return yield* Templates.read(client, account.value, baseUrlOf(settings, account.value)).pipe(
        Effect.timeout(settings.templates_time_max),
        Effect.mapError(() => new ProviderUnavailable())
      )
    })

    return MessagingProvider.of({
      dedup: "callback_ref",
      deliver,
      templates
    })
  })
)
