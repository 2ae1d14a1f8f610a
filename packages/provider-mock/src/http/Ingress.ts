import { Inbound } from "@messaging-crm/core/Inbound"
import { limits } from "@messaging-crm/core/Limits"
import { Secrets } from "@messaging-crm/core/Secrets"
import { ByteSize, Effect, Exit, Layer, Option, Schema, Semaphore } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Callback, promised, signatureHeader } from "./Wire.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Callback))

const answer = (status: number, text: string) => HttpServerResponse.text(text, { status })
const unreadable = answer(400, "The body cannot be read.")
const tooLarge = answer(413, "The body exceeds 22 MB.")

/** What the largest file is in base64, and as much as an event or a batch of events without files has besides. */
const body_bytes_max = Math.ceil(limits.media_bytes_max * 4 / 3) + 1_048_576

/** How many bodies are read and taken in at once. Others wait unread, in their connections. */
const bodies_max = 2

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Returns the text of bytes, or none where they are not UTF-8: so a digest of the text is one of the very bytes. */
const textOf = Option.liftThrowable((bytes: ArrayBuffer) => utf8.decode(bytes))

const unsigned = answer(401, "The signature does not fit.")

/**
 * Layer for `POST /ingress/mock`: what a mock provider in a process of its own
 * calls back with. It is answered once every event is committed.
 *
 * Whoever did not sign is refused before a byte of the body is read.
 */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const bodies = yield* Semaphore.make(bodies_max)
  const inbound = yield* Inbound
  const secrets = yield* Secrets

  const take = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, digest: string) {
    const body = textOf(yield* request.arrayBuffer)
    if (Option.isNone(body)) return unreadable
    if ((yield* secrets.sha256(body.value)) !== digest) return unsigned
    const { events } = yield* decode(body.value)
    // A channel that no longer exists stays unknown however often the event is repeated.
    const taken = yield* Effect.forEach(events, (event) => Effect.exit(Effect.ignore(inbound.receive(event))))
    // One event that cannot be taken in now must not keep the others out: each had its turn before the batch fails.
    yield* Exit.asVoidAll(taken)
    return answer(200, "ok")
  })

  const receive = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const digest = yield* promised(request.headers[signatureHeader] ?? "")
    if (Option.isNone(digest)) return unsigned
    if (Number(request.headers["content-length"] ?? 0) > body_bytes_max) return tooLarge
    return yield* Semaphore.withPermit(bodies, take(request, digest.value))
  }).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(body_bytes_max)),
    Effect.provideService(Secrets, secrets),
    Effect.catchTags({
      HttpServerError: () => Effect.succeed(unreadable),
      SchemaError: () => Effect.succeed(answer(400, "The body is not a callback."))
    })
  )

  yield* router.add("POST", "/ingress/mock", receive)
})).pipe(Layer.provide(Secrets.layer))
