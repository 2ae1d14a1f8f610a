/** Requests that the edge rejects before a route gets them. Every rejection has the API's envelope and a request id. */
import { request_id_pattern } from "@messaging-crm/core/Actor"
import { randomUUID } from "node:crypto"
import { type IncomingMessage, METHODS, STATUS_CODES } from "node:http"

/** Why a request is rejected at the edge. */
export interface Rejection {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly param: string | null
}

/** The part of a rejection that is logged. */
export type Rejected = Pick<Rejection, "code" | "status"> & { readonly request_id: string }

const invalid = (message: string, param: string | null = null): Rejection => ({
  status: 400,
  code: "invalid_input",
  message,
  param
})

const malformed = invalid("The request is not valid HTTP/1.1. Use an HTTP client, and remove line breaks from headers.")

const noHost = invalid(
  "The Host header is missing or invalid. Send exactly one Host header, with the host name of the service.",
  "Host"
)

const noTarget = invalid("The request target is not a path of this host. Send a path such as /v1/contacts.")

const noCoding = invalid(
  "The Transfer-Encoding is not supported. Send a chunked body, or a Content-Length header.",
  "Transfer-Encoding"
)

/** The methods that a path can have. A rejection at the edge does not know those of its own path. */
const allow = "GET, HEAD, POST, PATCH, DELETE"

export const unknownMethod: Rejection = {
  status: 405,
  code: "method_not_allowed",
  message: `The service does not support the request method. Use one of: ${allow}.`,
  param: null
}

export const unexpected: Rejection = {
  status: 417,
  code: "expectation_failed",
  message: "The only supported value of the Expect header is 100-continue. Remove the header.",
  param: "Expect"
}

export const overloaded: Rejection = {
  status: 503,
  code: "overloaded",
  message: "The service is processing too many requests. Retry after 1 s.",
  param: null
}

const noLength = invalid(
  "The Content-Length is repeated, not a number, or sent with a Transfer-Encoding. Send the body's length in bytes once.",
  "Content-Length"
)

export const headersTooLarge: Rejection = {
  status: 431,
  code: "headers_too_large",
  message:
    "The request line and headers exceed 16,384 bytes, or the request has more than 100 headers. Shorten the query, or send fewer headers.",
  param: null
}

const rejections: Readonly<Record<string, Rejection>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: "request_timeout",
    message: "The request timed out. Send the headers within 10 s and the whole request within 20 s.",
    param: null
  },
  HPE_HEADER_OVERFLOW: headersTooLarge,
  HPE_INVALID_CONTENT_LENGTH: noLength,
  HPE_INVALID_TRANSFER_ENCODING: noCoding,
  HPE_UNEXPECTED_CONTENT_LENGTH: noLength
}

/** An error of the parser, with the bytes in which it occurred, or of its timer. */
export interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer
}

/** The parser's codes for a method that it does not know, and for one of another protocol than HTTP. */
const method_codes: ReadonlySet<string> = new Set(["HPE_INVALID_METHOD", "HPE_INVALID_CONSTANT"])

/** A method, of which a part may have been in earlier bytes. */
const method_pattern = /^[\r\n]*([!#$%&'*+.^`|~\w-]+)(?: |$)/

const hasUnknownMethod = ({ code = "", rawPacket }: ParserError): boolean => {
  if (!method_codes.has(code)) return false
  const [, method] = method_pattern.exec(rawPacket?.toString("latin1") ?? "") ?? []
  return method !== undefined && !METHODS.includes(method)
}

/** Returns the rejection for an error of the parser or of its timer. */
export const rejectionOf = (error: ParserError): Rejection =>
  hasUnknownMethod(error) ? unknownMethod : rejections[error.code ?? ""] ?? malformed

/** Headers that a proxy may read differently if they are repeated, each with a bit of its own. */
const single: ReadonlyMap<string, number> = new Map(
  ["authorization", "content-length", "content-type", "host", "idempotency-key", "transfer-encoding"].map((name, bit) =>
    [name, 1 << bit] as const
  )
)

/** Returns the first header that must not be repeated and is. Node joins some of these and keeps the first of others. */
const repeatedOf = ({ rawHeaders }: IncomingMessage): string | null => {
  let seen = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ""
    const bit = single.get(name.toLowerCase()) ?? 0
    if ((seen & bit) !== 0) return name
    seen |= bit
  }
  return null
}

/** The maximum number of bytes of a request line with its headers. */
export const head_bytes_max = 16_384

/** A host with an optional port. `URL` also checks that an address and a port are in range, but accepts a user and a path. */
const isHost = (host: string): boolean =>
  /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::[0-9]*)?$/i.test(host) && URL.canParse(`http://${host}`)

const absolute_pattern = /^https?:\/\/([^/?#]*)(.*)$/i

/** Returns the path and query of an absolute target such as `http://crm.example/v1/tags`, or null for another host's. */
const pathOfAbsolute = (target: string, host: string): string | null => {
  const [, authority, rest = ""] = absolute_pattern.exec(target) ?? []
  if (authority?.toLowerCase() !== host.toLowerCase()) return null
  return rest.startsWith("/") ? rest : `/${rest}`
}

/** Returns the path and query of a request, or null if the target is not of this host. */
const targetOf = ({ headers, method, url = "" }: IncomingMessage): string | null => {
  // The routes would read a fragment as a query.
  if (url.includes("#")) return null
  if (url.startsWith("/") || (url === "*" && method === "OPTIONS")) return url
  return headers.host === undefined ? null : pathOfAbsolute(url, headers.host)
}

/** Checks the parts of a request that Node and the routes leave unchecked, and rewrites an absolute target to its path. */
export const check = (request: IncomingMessage): Rejection | null => {
  const { headers, httpVersion } = request
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return malformed
  const repeated = repeatedOf(request)
  if (repeated?.toLowerCase() === "host") return noHost
  if (repeated !== null) return invalid(`The ${repeated} header is repeated. Send it once.`, repeated)
  if (headers.host === undefined ? httpVersion === "1.1" : !isHost(headers.host)) return noHost
  const coding = headers["transfer-encoding"]
  if (coding !== undefined && (coding.toLowerCase() !== "chunked" || httpVersion === "1.0")) return noCoding
  const target = targetOf(request)
  if (target === null) return noTarget
  request.url = target
  return null
}

/** Returns the request ID of a request: its own if it is acceptable, else a new one. */
export const idOf = (request: IncomingMessage | null): string => {
  const given = request?.headers["x-request-id"]
  return typeof given === "string" && request_id_pattern.test(given) ? given : randomUUID()
}

/** Returns the headers and the body of a rejection. */
export const encode = ({ code, message, param, status }: Rejection, request_id: string) => {
  const body = JSON.stringify({ error: { code, message, param, request_id } })
  const headers: Readonly<Record<string, string>> = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": request_id,
    ...(status === 405 ? { allow } : {}),
    ...(status === 503 ? { "retry-after": "1" } : {}),
    connection: "close"
  }
  return { headers, body }
}

/** Returns a rejection as the bytes of an HTTP response, for a socket that has no request. */
export const toText = (rejection: Rejection, request_id: string): string => {
  const { body, headers } = encode(rejection, request_id)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${rejection.status} ${STATUS_CODES[rejection.status]}`, ...lines, "", body].join("\r\n")
}
