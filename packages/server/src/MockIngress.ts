import { Inbound, receiveEach } from "@messaging-crm/core/Inbound"
import { limits } from "@messaging-crm/core/Limits"
import { Secrets } from "@messaging-crm/core/Secrets"
import { ByteSize, Effect, Exit, Layer, Option, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Callback, signatureHeader, signaturePurpose } from "./MockWire.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Callback))

const answer = (status: number, text: string) => HttpServerResponse.text(text, { status })
const unreadable = answer(400, "The body cannot be read.")

/** What the largest file is in base64, and as much as an event or a batch of events without files has besides. */
const body_size_max = ByteSize.bytes(Math.ceil(limits.media_bytes_max * 4 / 3) + 1_048_576)

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Returns the text of bytes, or none where they are not UTF-8: so a signature of the text is one of the very bytes. */
const textOf = Option.liftThrowable((bytes: ArrayBuffer) => utf8.decode(bytes))

/**
 * Layer for `POST /ingress/mock`: what a mock provider in a process of its own
 * calls back with. It is answered once every event is committed.
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
      return answer(401, "The signature does not fit.")
    }
    const { events } = yield* decode(body.value)
    const taken = yield* receiveEach(inbound, events)
    // A channel that no longer exists stays unknown however often the event is repeated.
    yield* Exit.asVoidAll(taken.filter(Exit.hasDies))
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
