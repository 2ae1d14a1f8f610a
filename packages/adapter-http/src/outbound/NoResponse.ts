import type { NoResponseCode } from "@messaging-crm/core/DeliveryFailure"
import { Data } from "effect"

/** No valid response was received. The host may have received the request. */
export class NoResponse extends Data.TaggedError("NoResponse")<{ readonly failure_code: NoResponseCode }> {}

const codes: Readonly<Record<string, NoResponseCode>> = {
  ECONNREFUSED: "connection_refused",
  EHOSTUNREACH: "connection_refused",
  ENETUNREACH: "connection_refused",
  EADDRNOTAVAIL: "connection_refused",
  ECONNRESET: "connection_reset",
  EPIPE: "connection_reset",
  UND_ERR_SOCKET: "connection_reset",
  ETIMEDOUT: "timeout"
}

/** Returns the failure for an error of a socket or of undici. */
export const failureOf = (error: unknown, otherwise: NoResponseCode): NoResponse => {
  // An `Error` of Node: when several addresses were tried, it has the code of the first.
  const code = String((Object(error) as { readonly code?: unknown }).code)
  // An endpoint that requires a client certificate fails after the handshake.
  const meant = /^ERR_(SSL|TLS)_/.test(code) ? "tls_error" : codes[code]
  return new NoResponse({ failure_code: meant ?? otherwise })
}
