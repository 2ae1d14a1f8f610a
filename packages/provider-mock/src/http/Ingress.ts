import { Inbound } from "@messaging-crm/core/Inbound"
import { inOrderByPerson } from "@messaging-crm/core/ProviderEventOrder"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Turns } from "@messaging-crm/core/Turns"
import { ByteSize, Effect, Exit, Layer, Option, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { body_bytes_max, body_too_large, Callback, signature_header, signedDigest } from "./Protocol.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Callback))

const respond = (status: number, text: string) => HttpServerResponse.text(text, { status })
const unreadable = respond(400, "The body cannot be read.")
const tooLarge = respond(413, body_too_large)

/** The bytes of the bodies that are read and processed at once: two of the largest. The others wait unread, in their connections. */
const bytes_max = 2 * body_bytes_max

/** The minimum share of a body in `bytes_max`, so that at most 64 small ones are processed at once. */
const bytes_min = Math.floor(bytes_max / 64)

/** The maximum number of people whose events of one callback are processed concurrently. */
const people_at_once_max = 32

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** Decodes strictly and keeps a byte order mark, so that a digest of the text is a digest of the exact bytes. */
const textOf = Option.liftThrowable((bytes: ArrayBuffer) => utf8.decode(bytes))

const isChannelUnknown = (outcome: Exit.Exit<void, { readonly _tag: string }>): boolean =>
  Exit.isFailure(outcome) && Option.getOrNull(Exit.findErrorOption(outcome))?._tag === "ChannelUnknown"

const invalidSignature = respond(401, "The signature is invalid.")

/** Stores the events of a request whose signature is of this digest, and responds once every event is committed. */
const storeEvents = Effect.fnUntraced(function*(request: HttpServerRequest.HttpServerRequest, digest: string) {
  const inbound = yield* Inbound
  const secrets = yield* Secrets
  const body = textOf(yield* request.arrayBuffer)
  if (Option.isNone(body)) return unreadable
  if ((yield* secrets.sha256(body.value)) !== digest) return invalidSignature
  const { events } = yield* decode(body.value)
  const outcomes = yield* inOrderByPerson(
    events,
    { concurrency: people_at_once_max },
    (event) => Effect.exit(inbound.receive(event))
  )
  // Repeating an event for an unknown channel would not help, so it counts as received.
  yield* Effect.orDie(Exit.asVoidAll(outcomes.filter((outcome) => !isChannelUnknown(outcome))))
  return respond(200, "ok")
})

/** Reads a callback whose signature is valid, once its body has a turn. */
const respondTo = (bodies: Turns<"network">) =>
  Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const digest = yield* signedDigest(request.headers[signature_header] ?? "")
    if (Option.isNone(digest)) return invalidSignature
    const length = Number(request.headers["content-length"] ?? body_bytes_max)
    if (length > body_bytes_max) return tooLarge
    return yield* bodies.run("network", storeEvents(request, digest.value), Math.max(bytes_min, length))
  }).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(body_bytes_max)),
    Effect.catchTags({
      HttpServerError: () => Effect.succeed(unreadable),
      SchemaError: () => Effect.succeed(respond(400, "The body is not a callback."))
    })
  )

/**
 * Layer for `POST /ingress/mock`: the callbacks of a mock provider in another
 * process. It responds with 200 once every event is committed, and with 401 before it reads
 * a body that was not signed.
 */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const services = yield* Effect.context<Inbound | Secrets>()
  const bodies = new Turns<"network">({ places: bytes_max })
  yield* router.add("POST", "/ingress/mock", Effect.provideContext(respondTo(bodies), services))
})).pipe(Layer.provide(Secrets.layer))
