import { Inbound, receiveEach } from "@messaging-crm/core/Inbound"
import { limits } from "@messaging-crm/core/Limits"
import { Secrets } from "@messaging-crm/core/Secrets"
import { ByteSize, Effect, Exit, Layer, Option, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Callback, signatureHeader, signaturePurpose } from "./Wire.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Callback))

const answer = (status: number, text: string) => HttpServerResponse.text(text, { status })
const unreadable = answer(400, "The body cannot be read.")

/** The size of the largest file in base64, plus 1 MiB for the rest of the body. */
const body_size_max = ByteSize.bytes(Math.ceil(limits.media_bytes_max * 4 / 3) + 1_048_576)

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Decodes strictly and keeps a byte order mark, so that a signature of the text is a signature of the exact bytes. */
const textOf = Option.liftThrowable((bytes: ArrayBuffer) => utf8.decode(bytes))

/**
 * Layer for `POST /ingress/mock`: the callbacks of a mock provider in another
 * process. It answers 200 when every event is committed.
 */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const inbound = yield* Inbound
  const secrets = yield* Secrets

  const receive = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const body = textOf(yield* request.arrayBuffer)
    if (Option.isNone(body)) return unreadable
    const signature = request.headers[signatureHeader] ?? ""
    if (!(yield* secrets.verify(signaturePurpose, body.value, signature))) {
      return answer(401, "The signature is not valid.")
    }
    const { events } = yield* decode(body.value)
    const outcomes = yield* receiveEach(inbound, events)
    // Repeating an event for an unknown channel would not help, so it counts as received.
    yield* Effect.orDie(Exit.asVoidAll(outcomes.filter(Exit.hasDies)))
    return answer(200, "ok")
  }).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, body_size_max),
    Effect.catchTags({
      HttpServerError: () => Effect.succeed(unreadable),
      SchemaError: () => Effect.succeed(answer(400, "The body is not a callback."))
    })
  )

  yield* router.add("POST", "/ingress/mock", receive)
})).pipe(Layer.provide(Secrets.layer))
