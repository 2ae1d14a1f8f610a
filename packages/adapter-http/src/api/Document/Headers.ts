/** The headers of the API's responses and requests. */
import { request_id_pattern } from "@messaging-crm/core/Actor"
import { limits } from "@messaging-crm/core/Limits"

const integer = (description: string, example: number, required = true) => ({
  description,
  required,
  schema: { type: "integer", minimum: 0 },
  example
})

const text = (description: string, example: string, required = true) => ({
  description,
  required,
  schema: { type: "string" },
  example
})

/** The headers of every response to a valid API key. */
const rates = {
  "X-RateLimit-Limit": integer("Requests per key and 60-second window.", limits.requests_per_minute),
  "X-RateLimit-Remaining": integer("Requests left in this window.", limits.requests_per_minute - 1),
  "X-RateLimit-Reset": integer("The end of the window, in Unix seconds.", 1_795_168_860),
  "RateLimit-Policy": text(
    "The limit, in the format of the IETF draft.",
    `"default";q=${limits.requests_per_minute};w=60`
  ),
  "RateLimit": text(
    "The requests left and the seconds until the window ends, in the format of the IETF draft.",
    `"default";r=${limits.requests_per_minute - 1};t=60`
  )
}

/** The ending of the name of a component that not every response with this header has. */
const optional = "-Optional"

const optionalRates = Object.fromEntries(
  Object.entries(rates).map(([name, header]) => [name + optional, { ...header, required: false }])
)

/** Every header that a response can have, by its component. Each response has the required ones. */
export const headers: Readonly<Record<string, object>> = {
  "X-Request-Id": text("The request's ID in the service's log.", "019aa0c2-5b00-7000-8000-00000000000b"),
  "WWW-Authenticate": text("How to authenticate.", "Bearer"),
  ...rates,
  ...optionalRates,
  "Retry-After": integer("Seconds to wait before the next attempt.", 5),
  [`Retry-After${optional}`]: integer(
    "Seconds to wait before the next attempt. Present only if a retry can succeed.",
    1,
    false
  ),
  "ETag": text(
    "Identifies the contact as it is in this response: send it as `If-Match` to change only that. It changes with every change of the contact.",
    "\"5f0c7e7d1d1b4f3c9a61c7a3d2b84e90\""
  ),
  "Link": text(
    "The description of the error's code. Present only if the operator has published the guides.",
    "<https://docs.example/contract.html#error-not_found>; rel=\"help\"",
    false
  ),
  "Idempotent-Replayed": text("`true` on the replay of an earlier response.", "true", false),
  "Original-Request-Id": text(
    "On a replay, the ID of the original request.",
    "019aa0c2-5b00-7000-8000-00000000000c",
    false
  )
}

const rate = Object.keys(rates)

/** The headers of a replay. Only responses of the operation itself are replayed, none of the middleware. */
const replay = ["Idempotent-Replayed", "Original-Request-Id"]

/** The properties of an endpoint that determine the headers of its responses. */
interface Carrier {
  readonly isWrite: boolean
  readonly isTagged: boolean
}

const carriedBy = (status: string, { isTagged, isWrite }: Carrier): ReadonlyArray<string> => {
  switch (status) {
    case "401":
      return ["WWW-Authenticate"]
    // A failure before authentication has no rate headers.
    case "500":
      return Object.keys(optionalRates)
    case "429":
    case "503":
    case "507":
      return [...rate, "Retry-After"]
    case "409":
      return [...rate, ...replay, `Retry-After${optional}`]
    case "404":
      return isWrite ? [...rate, ...replay] : rate
    default:
      return status.startsWith("2") ? [...rate, ...(isWrite ? replay : []), ...(isTagged ? ["ETag"] : [])] : rate
  }
}

/** Returns references to the headers of an operation's response. */
export const headersOf = (status: string, carrier: Carrier) =>
  Object.fromEntries(
    ["X-Request-Id", ...carriedBy(status, carrier), ...(status < "4" ? [] : ["Link"])].map((component) => [
      component.replace(optional, ""),
      { $ref: `#/components/headers/${component}` }
    ])
  )

/** The headers of the successes of a deprecated operation. */
export const deprecated = {
  "Deprecation": text(
    "The time from which the operation is deprecated, as `@` and Unix seconds (RFC 9745).",
    "@1798761600"
  ),
  "Sunset": text("The time from which the operation may be removed (RFC 8594).", "Sat, 31 Jul 2027 00:00:00 GMT", false)
}

/** Parameters of every operation. */
export const parameters = {
  "X-Request-Id": {
    name: "X-Request-Id",
    in: "header",
    required: false,
    description: "Your ID for the request. A new UUID replaces a value that does not match the pattern.",
    schema: { type: "string", pattern: request_id_pattern.source },
    example: "checkout-4711"
  }
}
