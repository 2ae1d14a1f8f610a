/** Checks of requests to the console before anything else is done for them. */
import { limits } from "@messaging-crm/core/Limits"
import { ByteSize, Effect } from "effect"
import { HttpIncomingMessage, type HttpServerRequest } from "effect/http"
import { timingSafeEqual } from "node:crypto"

/** A request that is rejected, with the reason for the person. */
export interface Rejection {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly retry_after?: number
}

/** The longest address of a request, and the longest `Cookie` header. */
const [address_chars_max, cookie_chars_max] = [4096, 8192]

const forbidden = (message: string): Rejection => ({ status: 403, code: "forbidden", message })

export const bodyTooLarge: Rejection = {
  status: 413,
  code: "body_too_large",
  message: `The request is too large. Send at most ${limits.body_bytes_max} bytes.`
}

const methodNotAllowed: Rejection = {
  status: 405,
  code: "method_not_allowed",
  message: "The method is not supported. Use GET or POST."
}

const isNavigation = ({ headers, method }: HttpServerRequest.HttpServerRequest): boolean =>
  method === "GET" && headers["sec-fetch-mode"] === "navigate"

/**
 * Returns why a request is rejected, or null.
 *
 * Every write must come from the console's own origin. So must every read, except navigation, which can start anywhere: the
 * provider redirects to the console. A browser sends `Origin` with every write, and no page can change the header.
 */
export const rejectionOf = (request: HttpServerRequest.HttpServerRequest, origin: string): Rejection | null => {
  const { headers, method, url } = request
  if (url.length > address_chars_max || (headers["cookie"] ?? "").length > cookie_chars_max) {
    return {
      status: 431,
      code: "headers_too_large",
      message: "The address or the cookies are too long. Remove cookies of this host."
    }
  }
  if (headers["host"] !== new URL(origin).host) {
    return forbidden(`The host name is not allowed. Open ${origin}/console.`)
  }
  if (method !== "GET" && method !== "POST") return methodNotAllowed
  if ((headers["origin"] ?? (method === "GET" ? origin : "")) !== origin) {
    return forbidden("Requests from other origins are not allowed.")
  }
  const site = headers["sec-fetch-site"] ?? "same-origin"
  const isAllowedSite = site === "same-origin" || (method === "GET" && site === "none") || isNavigation(request)
  return isAllowedSite ? null : forbidden("Requests from other origins are not allowed.")
}

/** Returns whether a write has the token of its session. */
export const hasToken = ({ headers }: HttpServerRequest.HttpServerRequest, token: string): boolean => {
  const [given, expected] = [Buffer.from(headers["x-csrf-token"] ?? ""), Buffer.from(token)]
  return given.byteLength === expected.byteLength && timingSafeEqual(given, expected)
}

/** Reads the body of a write, within the limit of the API; null if it is larger or incomplete. */
export const readBody = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<ArrayBuffer | null> =>
  Number(request.headers["content-length"] ?? 0) > limits.body_bytes_max
    ? Effect.succeed(null)
    : request.arrayBuffer.pipe(
      Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limits.body_bytes_max)),
      Effect.orElseSucceed(() => null)
    )
