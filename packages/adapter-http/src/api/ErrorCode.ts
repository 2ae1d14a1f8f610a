import { Option, Schema } from "effect"
import type { HttpServerResponse } from "effect/http"

const ResponseError = Schema.Struct({
  code: Schema.String,
  message: Schema.String,
  param: Schema.NullOr(Schema.String),
  request_id: Schema.String
})
export interface ResponseError extends Schema.Schema.Type<typeof ResponseError> {}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ error: ResponseError })))
const decoder = new TextDecoder()

/** Returns the error of a response; null if it has none. */
export const errorOf = ({ body, status }: HttpServerResponse.HttpServerResponse): ResponseError | null =>
  status < 400 || body._tag !== "Uint8Array"
    ? null
    : Option.getOrNull(Option.map(decode(decoder.decode(body.body)), ({ error }) => error))

/** Returns the error code of a response; null if it has none. */
export const errorCodeOf = (response: HttpServerResponse.HttpServerResponse): string | null =>
  errorOf(response)?.code ?? null
