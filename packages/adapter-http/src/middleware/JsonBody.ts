import { limits } from "@messaging-crm/core/Limits"
import { ByteSize, Context, Effect, Layer, Option, Result } from "effect"
import { Headers, HttpIncomingMessage, type HttpServerError, HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import { JsonBody, OptionalBody, RequestBody } from "../api/Pipeline.ts"

// ------------------------------------------------------------ the text

// Flaws that `JSON.parse` accepts and this service rejects: a repeated name, because `JSON.parse` keeps only the last value, and
// deep nesting, because writing such a value overflows the stack.

/** An object or array that contains the current position. */
interface Level {
  /** The names of an object so far, null for an array. */
  readonly names: Set<string> | null
  /** The name or position that the scan is at. */
  place: string | number
}

const pathOf = (levels: ReadonlyArray<Level>): string => levels.map(({ place }) => place).join(".")

/** Returns where the string that opens at `start` ends: the position of its closing quote. */
const endOfString = (text: string, start: number): number => {
  let index = start + 1
  while (text[index] !== "\"") index += text[index] === "\\" ? 2 : 1
  return index
}

/** Returns the first flaw of a text that is JSON, or null. Takes one pass. */
export const flawOf = (text: string): Texts.ErrorText<"invalid_input"> | null => {
  const levels: Array<Level> = []
  let expectsName = false
  for (let index = 0; index < text.length; index++) {
    const level = levels.at(-1)
    switch (text[index]) {
      case "{":
      case "[": {
        const names = text[index] === "{" ? new Set<string>() : null
        if (levels.length === limits.json_depth_max) return Texts.nestedTooDeep(pathOf(levels))
        levels.push({ names, place: 0 })
        expectsName = names !== null
        break
      }
      case "}":
      case "]":
        levels.pop()
        break
      case ",":
        if (level === undefined) break
        if (level.names === null) level.place = Number(level.place) + 1
        else expectsName = true
        break
      case "\"": {
        const end = endOfString(text, index)
        if (expectsName && level !== undefined && level.names !== null) {
          // Parsed, so that "a" and "\u0061" are one name.
          const name = String(JSON.parse(text.slice(index, end + 1)))
          level.place = name
          if (level.names.has(name)) return Texts.fieldRepeated(pathOf(levels))
          level.names.add(name)
          expectsName = false
        }
        index = end
        break
      }
    }
  }
  return null
}

// ------------------------------------------------------------ the body

const absent = RequestBody.of({ json: undefined, flaw: null })

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const body_size_max = ByteSize.fromInputUnsafe(limits.body_bytes_max)

const isEncoded = (encoding = "identity"): boolean => encoding.trim().toLowerCase() !== "identity"

/** A JSON text and its value, or none for bytes that are not JSON in UTF-8. */
const parse = Option.liftThrowable(
  (bytes: ArrayBuffer): { readonly text: string; readonly json: unknown } => {
    const text = decoder.decode(bytes)
    return { text, json: JSON.parse(text) }
  }
)

const json_type = /^application\/json\s*(?:;|$)/i

/** A parameter of a media type; a quoted value may hold semicolons. */
const parameter = /;\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/g

const utf8 = /^["']?utf-?8["']?\s*$/i

/** Returns whether a `Content-Type` is JSON in UTF-8. Parameters other than `charset` have no meaning for JSON. */
const isJsonType = (type: string): boolean =>
  type === "application/json" ||
  (json_type.test(type) &&
    Array.from(type.matchAll(parameter)).every(([, name = "", value = ""]) =>
      name.toLowerCase() !== "charset" || utf8.test(value)
    ))

const declaresBytes = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  (headers["content-length"] ?? "0") !== "0"

const isJson = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  isJsonType(headers["content-type"] ?? "") && !isEncoded(headers["content-encoding"])

const notJson = Errors.failWith(Texts.unsupportedMediaType)
const tooLarge = Errors.failWith(Texts.bodyTooLarge)
// The connection closed in the middle of the body, so this response is not read.
const cutShort = Errors.failWith(Texts.bodyCutShort)

const isTooLarge = ({ reason }: HttpServerError.HttpServerError): boolean =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"

/** Reads the bytes, within the limit: a body that is declared or grows larger is not read on. */
const read = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest) {
  if (Number(request.headers["content-length"] ?? 0) > limits.body_bytes_max) return yield* tooLarge
  const bytes = yield* request.arrayBuffer.pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, body_size_max),
    Effect.result
  )
  if (Result.isSuccess(bytes)) return bytes.success
  return isTooLarge(bytes.failure) ? yield* tooLarge : yield* cutShort
})

interface Received {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly body: RequestBody["Service"]
}

type Receiving = Effect.Effect<Received, Effect.Error<typeof cutShort | typeof notJson | typeof tooLarge>>

/** Parses the bytes of a body that is declared as JSON. */
const accept = (
  request: HttpServerRequest.HttpServerRequest,
  bytes: ArrayBuffer,
  isRequired: boolean
): Receiving => {
  if (bytes.byteLength > limits.body_bytes_max) return tooLarge
  if (bytes.byteLength === 0 && !isRequired) return Effect.succeed({ request, body: absent })
  const parsed = parse(bytes)
  if (Option.isNone(parsed)) {
    return Errors.failWith(bytes.byteLength === 0 ? Texts.bodyEmpty : Texts.invalidJson)
  }
  const { json, text } = parsed.value
  return Effect.succeed({ request, body: { json, flaw: flawOf(text) } })
}

/**
 * Receives a body that is not declared as JSON. No header shows reliably whether there is a body, so
 * it is read; an empty one counts as absent, whatever its content type.
 */
const receiveUndeclared = (request: HttpServerRequest.HttpServerRequest, isRequired: boolean): Receiving => {
  if (declaresBytes(request)) return notJson
  const declared = request.modify({ headers: Headers.set(request.headers, "content-type", "application/json") })
  return Effect.flatMap(
    Effect.catch(read(declared), () => notJson),
    (bytes) => bytes.byteLength > 0 ? notJson : accept(declared, bytes, isRequired)
  )
}

const receive = (request: HttpServerRequest.HttpServerRequest, isRequired: boolean): Receiving => {
  if (!isJson(request)) return receiveUndeclared(request, isRequired)
  return Effect.flatMap(read(request), (bytes) => accept(request, bytes, isRequired))
}

const requiresBody = ({ annotations, payload }: HttpApiEndpoint.Top): boolean =>
  payload.size > 0 && Option.isNone(Context.getOption(annotations, OptionalBody))

/**
 * Layer that reads the body once, within its limit, and rejects a body that is not JSON.
 *
 * `HttpApiBuilder` would respond to a wrong media type with plain text, and to invalid JSON with a schema
 * error, so both are rejected before it. A GET has no body, whatever its headers claim.
 */
export const layer = Layer.succeed(JsonBody, (httpEffect, { endpoint }) => {
  if (endpoint.method === "GET") return Effect.provideService(httpEffect, RequestBody, absent)
  const isRequired = requiresBody(endpoint)
  return HttpServerRequest.HttpServerRequest.use((whole) =>
    Effect.flatMap(receive(whole, isRequired), ({ body, request }) =>
      httpEffect.pipe(
        Effect.provideService(RequestBody, body),
        Effect.provideService(HttpServerRequest.HttpServerRequest, request)
      ))
  )
})
