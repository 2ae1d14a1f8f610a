/**
 * Ingress: where the networks call back, one address for all three channel types.
 *
 * A body is looked at only once its signature fits. It is answered with 200 once
 * everything in it is committed; with 500, so that the network repeats it, where
 * something could not be.
 */
import { equalConstantTime } from "@messaging-crm/core/Secrets"
import { ByteSize, Effect, Layer, Option, Redacted, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { CloudAccounts, type CloudApp } from "./CloudAccounts.ts"
import { Intake } from "./Intake.ts"
import { isSignature, signatureHeader, verify } from "./Signature.ts"

/** Where the networks call back. */
export const path = "/ingress/graph"

/** The largest body: the networks put up to a thousand notices into one, which they say stays below 3 MB. */
export const body_bytes_max = 4 * 1024 * 1024

const answer = (status: number, text: string) =>
  HttpServerResponse.text(text, { status, headers: { "x-content-type-options": "nosniff" } })

const unsigned = answer(401, "The signature does not fit.")
const tooLarge = answer(413, "The body is larger than 4 MiB.")

const Handshake = Schema.Struct({
  "hub.mode": Schema.Literal("subscribe"),
  "hub.verify_token": Schema.String,
  "hub.challenge": Schema.String.check(Schema.isMaxLength(1000))
})

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** Layer for `GET` and `POST /ingress/graph`. */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const accounts = yield* CloudAccounts
  const intake = yield* Intake

  /** Answers who sets the address: only who knows an app's word gets the challenge back. */
  const handshake = HttpServerRequest.schemaSearchParams(Handshake).pipe(
    Effect.flatMap((query) =>
      Effect.map(
        accounts.apps,
        (apps) =>
          apps.some(({ verify_token }) => equalConstantTime(Redacted.value(verify_token), query["hub.verify_token"]))
            ? answer(200, query["hub.challenge"])
            : answer(403, "The verify token does not fit.")
      )
    ),
    Effect.catchTag("SchemaError", () => Effect.succeed(answer(403, "This is no subscription.")))
  )

  /** Returns the app that signed a body: none, where nobody did that is known here. */
  const signerOf = Effect.fnUntraced(function*(body: ArrayBuffer, signature: string) {
    const apps = yield* accounts.apps
    const fits = yield* Effect.forEach(apps, ({ secret }) => verify(secret, body, signature))
    return Option.fromUndefinedOr(apps.find((_, index): boolean => fits[index] === true))
  })

  const take = Effect.fnUntraced(function*({ id }: CloudApp, body: ArrayBuffer) {
    const isCallback = yield* intake.take(id, utf8.decode(body))
    return isCallback ? answer(200, "ok") : answer(400, "The body is not a callback.")
  })

  const receive = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const signature = request.headers[signatureHeader] ?? ""
    if (!isSignature(signature)) return unsigned
    if (Number(request.headers["content-length"] ?? 0) > body_bytes_max) return tooLarge
    const body = yield* request.arrayBuffer
    const signer = yield* signerOf(body, signature)
    return yield* Option.match(signer, {
      onNone: () => Effect.succeed(unsigned),
      onSome: (app) => take(app, body)
    })
  }).pipe(
    Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(body_bytes_max)),
    // Nobody waits for the answer to a body that broke off: what is answered here went on for too long.
    Effect.catchTag("HttpServerError", () => Effect.succeed(tooLarge))
  )

  yield* router.add("GET", path, handshake)
  yield* router.add("POST", path, receive)
})).pipe(Layer.provide(Intake.layer))
