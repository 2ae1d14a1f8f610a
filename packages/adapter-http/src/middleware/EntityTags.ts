/**
 * Entity tags: the `ETag` of a contact, and the `If-Match` of its writes (contract §8.12).
 *
 * A tag is a digest of the response's body, so that the replay of a recorded response has the tag of the first response.
 */
import type { ContactPrecondition } from "@messaging-crm/core/Contacts"
import { Digests } from "@messaging-crm/core/Digests"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { isTagged } from "../api/Pipeline.ts"
import { bodyTextOf, textOf } from "./Responses.ts"

/** Hexadecimal digits of a tag: 128 bits of SHA-256. */
const tag_digits = 32

/** The ending of a tag of a compressed response. A strong tag identifies the bytes as they are sent. */
const coding_ending = /-gzip$/

/** One element of a list, which can be empty, and the comma after it. No text can be matched in two ways, so a match takes linear time. */
const element = /(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)")?[ \t]*(?:,[ \t]*|$)/y

/** Returns the strong tags of an `If-Match` header, without quotation marks; null if the header is malformed. */
export const parseIfMatch = (header: string): "*" | ReadonlySet<string> | null => {
  const list = header.trim()
  if (list === "*") return list
  const strong = new Set<string>()
  let count = 0
  element.lastIndex = 0
  while (element.lastIndex < list.length) {
    const match = element.exec(list)
    if (match === null) return null
    const [, weak, tag] = match
    if (tag === undefined) continue
    count += 1
    // A weak tag is valid, and equals no strong one (RFC 9110, section 13.1.1).
    if (weak === undefined) strong.add(tag.replace(coding_ending, ""))
  }
  return count === 0 ? null : strong
}

/** Makes the functions that compute tags, and that check them. */
export const make = Effect.gen(function*() {
  const { sha256 } = yield* Digests

  const tagOf = (body: string): Effect.Effect<string> =>
    Effect.map(sha256(body), (digest) => digest.slice(0, tag_digits))

  /** Returns the headers with which a body is sent. */
  const headersOf = (body: string) => Effect.map(tagOf(body), (tag) => ({ etag: `"${tag}"` }))

  return {
    headersOf,
    /** Adds the tag to the response to a write, if it shows a contact. */
    tagWrite: (
      endpoint: HttpApiEndpoint.Top,
      response: HttpServerResponse.HttpServerResponse
    ): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
      !isTagged(endpoint) || response.status >= 300
        ? Effect.succeed(response)
        : Effect.map(headersOf(bodyTextOf(response)), (headers) => HttpServerResponse.setHeaders(response, headers)),
    /** Returns the precondition of a request: that the response with the contact, as it is now, has one of the tags. */
    preconditionOf: Effect.fnUntraced(function*(endpoint: HttpApiEndpoint.Top, header: string | undefined) {
      if (header === undefined) return undefined
      const tags = parseIfMatch(header)
      if (tags === null) return yield* Errors.failWith(Texts.ifMatchInvalid)
      if (tags === "*") return undefined
      const precondition: ContactPrecondition = (data) =>
        Effect.map(tagOf(textOf(endpoint)({ data })), (tag) => tags.has(tag))
      return precondition
    })
  }
})

/**
 * Gives a compressed response a tag of its own.
 *
 * Effect's compression only weakens the tag, and a weak one never matches an `If-Match`.
 */
export const tagCompressed = (
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const { "content-encoding": coding, etag = "" } = response.headers
  const weakened = /^W\/"([0-9a-f]+)"$/.exec(etag)
  return coding === undefined || weakened === null
    ? response
    : HttpServerResponse.setHeader(response, "etag", `"${weakened[1]}-${coding}"`)
}
