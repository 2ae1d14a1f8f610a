/** The headers of the API's answers, and of the requests that may carry them. */

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

/** Every header that an answer may carry; a client may count on the required ones. */
export const headers = {
  "X-Request-Id": text("Names the request in the service's log.", "019aa0c2-5b00-7000-8000-00000000000b"),
  "WWW-Authenticate": text("How to authenticate.", "Bearer"),
  "X-RateLimit-Limit": integer("Requests that the key may make in a window of 60 seconds.", 120),
  "X-RateLimit-Remaining": integer("Requests that are left in this window.", 119),
  "X-RateLimit-Reset": integer("When the window ends, in Unix seconds.", 1_795_168_860),
  "RateLimit-Policy": text("The limit, as the draft of the IETF writes it.", "\"default\";q=120;w=60"),
  "RateLimit": text(
    "What is left, and for how many seconds, as the draft of the IETF writes it.",
    "\"default\";r=119;t=60"
  ),
  "Retry-After": integer("Seconds to wait before the next try.", 5),
  "Retry-After-Processing": integer("Seconds to wait before the next try, with `request_processing`.", 1, false),
  "Idempotent-Replayed": text("On the remembered answer to an earlier request.", "true", false),
  "Original-Request-Id": text("The id of that earlier request.", "019aa0c2-5b00-7000-8000-00000000000c", false)
}

type Component = keyof typeof headers

const rate: ReadonlyArray<Component> = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "RateLimit-Policy",
  "RateLimit"
]

/** What a remembered answer carries when it is given again. Refusals of the pipeline are never remembered. */
const replay: ReadonlyArray<Component> = ["Idempotent-Replayed", "Original-Request-Id"]

const carriedBy = (status: string, isWrite: boolean): ReadonlyArray<Component> => {
  switch (status) {
    case "401":
      return ["WWW-Authenticate"]
    // The failure may come before the key is known, and then there is no rate to tell.
    case "500":
      return []
    case "429":
    case "503":
      return [...rate, "Retry-After"]
    case "409":
      return [...rate, ...replay, "Retry-After-Processing"]
    default:
      return isWrite && (status.startsWith("2") || status === "404") ? [...rate, ...replay] : rate
  }
}

/** Returns the headers of an operation's answer, by reference. */
export const headersOf = (status: string, isWrite: boolean) =>
  Object.fromEntries(
    ["X-Request-Id" as const, ...carriedBy(status, isWrite)].map((component) => [
      component === "Retry-After-Processing" ? "Retry-After" : component,
      { $ref: `#/components/headers/${component}` }
    ])
  )

/** Parameters that every operation takes. */
export const parameters = {
  "X-Request-Id": {
    name: "X-Request-Id",
    in: "header",
    required: false,
    description: "A name of your own for the request. Anything else than the pattern allows is replaced.",
    schema: { type: "string", pattern: "^[A-Za-z0-9._-]{1,128}$" },
    example: "checkout-4711"
  }
}
