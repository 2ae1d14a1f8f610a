/**
 * Connection errors: which errors of `fetch` prove that a request was never sent.
 *
 * A provider over HTTP needs this to choose between `ProviderBusy`, after which the message is sent again, and
 * `ProviderOutcomeUnknown`. A code that is not listed proves nothing.
 */
/** The codes of such errors by Node.js, OpenSSL, and undici: DNS, routing, rejection, or TLS. */
const unconnected = new Set([
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "EAI_AGAIN",
  "EAI_FAIL",
  "ECONNREFUSED",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
  "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
  "ERR_SSL_WRONG_VERSION_NUMBER",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UND_ERR_CONNECT_TIMEOUT"
])

/** Returns whether an error of `fetch`, or its cause, says that no connection was established, so that nothing was sent. */
export const isUnconnected = (error: unknown): boolean => {
  // Reading a field of any object is safe, and the type of its value is checked.
  const { cause, code } = Object(error) as { readonly cause?: unknown; readonly code?: unknown }
  return typeof code === "string" || cause === undefined ? unconnected.has(String(code)) : isUnconnected(cause)
}
