import { Option, Schema } from "effect"
import type { HttpServerResponse } from "effect/http"

const decode = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ error: Schema.Struct({ code: Schema.String }) }))
)
const decoder = new TextDecoder()

/** Returns the error code of a response; null if it has none. */
export const errorCodeOf = ({ body, status }: HttpServerResponse.HttpServerResponse): string | null =>
  status < 400 || body._tag !== "Uint8Array"
    ? null
    : Option.getOrNull(Option.map(decode(decoder.decode(body.body)), ({ error }) => error.code))
