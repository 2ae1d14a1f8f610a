import type { UnansweredCode } from "@messaging-crm/core/WebhookTransport"
import { Data, Effect } from "effect"
import * as net from "node:net"
import * as tls from "node:tls"

/** No valid response was received. The host may have received the request. */
export class Unanswered extends Data.TaggedError("Unanswered")<{ readonly failure_code: UnansweredCode }> {}

const codes: Readonly<Record<string, UnansweredCode>> = {
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
export const failureOf = (error: unknown, otherwise: UnansweredCode): Unanswered => {
  // An `Error` of Node: when several addresses were tried, it has the code of the first.
  const code = String((Object(error) as { readonly code?: unknown }).code)
  // An endpoint that requires a client certificate fails after the handshake.
  const meant = /^ERR_(SSL|TLS)_/.test(code) ? "tls_error" : codes[code]
  return new Unanswered({ failure_code: meant ?? otherwise })
}

/** Returns the host of a URL for a socket: a name without its last full stop, or an address without brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, "")

/** Starts to connect to one of the addresses. */
export const dial = (url: URL, addresses: ReadonlyArray<string>): net.Socket => {
  const host = hostOf(url)
  const found = addresses.map((address) => ({ address, family: net.isIP(address) }))
  const options = {
    host,
    port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
    // The name is not resolved again: a second resolution may return another address, which was not checked.
    lookup: (_hostname, _options, answer) => answer(null, found),
    autoSelectFamily: true,
    // The default of 250 ms is too short for an endpoint on another continent.
    autoSelectFamilyAttemptTimeout: 1000,
    noDelay: true
  } satisfies net.TcpNetConnectOpts
  return url.protocol === "https:"
    ? tls.connect({ ...options, servername: net.isIP(host) === 0 ? host : "", ALPNProtocols: ["http/1.1"] })
    : net.connect(options)
}

/** Waits until a socket is connected, with the certificate checked against the name. */
export const connected = ({ protocol }: URL, socket: net.Socket): Effect.Effect<void, Unanswered> => {
  const isSecure = protocol === "https:"
  return Effect.callback((resume) => {
    socket.once(isSecure ? "secureConnect" : "connect", () => resume(Effect.void))
    // Never removed: an `error` event without a listener would end the process.
    socket.on("error", (error) => resume(Effect.fail(failureOf(error, isSecure ? "tls_error" : "connection_refused"))))
  })
}
