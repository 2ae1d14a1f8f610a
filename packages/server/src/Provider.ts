import type { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import type { ChannelAccounts } from "@messaging-crm/core/ChannelAccounts"
import type * as Crm from "@messaging-crm/core/Crm"
import type { Inbound } from "@messaging-crm/core/Inbound"
import type { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import type { Layer } from "effect"
import type { HttpRouter } from "effect/http"

/**
 * A messaging provider, as `serve` and `worker` compose a service of it.
 *
 * Each part reads its own settings. An invalid value prevents the startup. Parts that share something are each provided with the same layer,
 * which a process builds once.
 */
export interface Provider {
  /** Sends messages and lists templates. It can read the accounts of channels from the storage. */
  readonly outbound: Layer.Layer<MessagingProvider, Error, ChannelAccounts>
  /**
   * The routes where the provider calls back, below `/ingress`. They pass its events to `Inbound` or `CallbackInbox`. A process
   * with several cells has one set of these routes, which serves the channels of all cells.
   */
  readonly ingress: Layer.Layer<never, Error, CallbackInbox | ChannelAccounts | HttpRouter.HttpRouter | Inbound>
  /** Runs in every process, such as a provider that reports events without a request. */
  readonly background: Layer.Layer<never, Error, Crm.Services>
}
