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

/** Every header that a response can have. Each response has the required ones. */
export const headers = {
  "X-Request-Id": text("The request's ID in the service's log.", "019aa0c2-5b00-7000-8000-00000000000b"),
  "WWW-Authenticate": text("How to authenticate.", "Bearer"),
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
  ),
  "Retry-After": integer("Seconds to wait before the next attempt.", 5),
  "Retry-After-Processing": integer(
    "Seconds to wait before the next attempt. Present only if a retry can succeed.",
    1,
    false
  ),
  "Idempotent-Replayed": text("`true` on the replay of an earlier response.", "true", false),
  "Original-Request-Id": text(
    "On a replay, the ID of the original request.",
    "019aa0c2-5b00-7000-8000-00000000000c",
    false
  )
}

type Component = keyof typeof headers

const rate: ReadonlyArray<Component> = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit-Policy",
  "RateLimit"
]

/** The headers of a replay. Only responses of the operation itself are replayed, none of the middleware. */
const replay: ReadonlyArray<Component> = ["Idempotent-Replayed", "Original-Request-Id"]

const carriedBy = (status: string, isWrite: boolean): ReadonlyArray<Component> => {
  switch (status) {
    case "401":
      return ["WWW-Authenticate"]
    // A failure before authentication has no rate headers.
    case "500":
      return []
    case "429":
    case "503":
    case "507":
      return [...rate, "Retry-After"]
    case "409":
      return [...rate, ...replay, "Retry-After-Processing"]
    default:
      return isWrite && (status.startsWith("2") || status === "404") ? [...rate, ...replay] : rate
  }
}

/** Returns references to the headers of an operation's response. */
export const headersOf = (status: string, isWrite: boolean) =>
  Object.fromEntries(
    ["X-Request-Id" as const, ...carriedBy(status, isWrite)].map((component) => [
      component === "Retry-After-Processing" ? "Retry-After" : component,
      { $ref: `#/components/headers/${component}` }
    ])
  )

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
