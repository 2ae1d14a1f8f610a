import { Inbound } from "@messaging-crm/core/Inbound"
import { Secrets } from "@messaging-crm/core/Secrets"
import { MockProvider } from "@messaging-crm/provider-mock"
import { Effect, Layer, Queue, Schedule, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { Callback, signatureHeader, signaturePurpose } from "./MockWire.ts"

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Callback))

const answer = (status: number, text: string) => HttpServerResponse.text(text, { status })

/**
 * Layer for `POST /ingress/mock`: what a mock provider in a process of its own
 * calls back with. It is answered once every event is committed.
 */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const inbound = yield* Inbound
  const secrets = yield* Secrets

  const receive = Effect.gen(function*() {
    const request = yield* HttpServerRequest.HttpServerRequest
    const body = yield* request.text
    const signature = request.headers[signatureHeader] ?? ""
    if (!(yield* secrets.verify(signaturePurpose, body, signature))) return answer(401, "The signature does not fit.")
    const { events } = yield* decode(body)
    // A channel that no longer exists stays unknown however often the event is repeated.
    yield* Effect.forEach(events, (event) => Effect.ignore(inbound.receive(event)), { discard: true })
    return answer(200, "ok")
  }).pipe(
    Effect.catchTags({
      HttpServerError: () => Effect.succeed(answer(400, "The body cannot be read.")),
      SchemaError: () => Effect.succeed(answer(400, "The body is not a callback."))
    })
  )

  yield* router.add("POST", "/ingress/mock", receive)
})).pipe(Layer.provide(Secrets.layer))

/** Layer that carries home what the mock provider in this process has to tell. */
export const layerInProcess = Layer.effectDiscard(Effect.gen(function*() {
  const inbound = yield* Inbound
  const { callbacks } = yield* MockProvider
  yield* Queue.take(callbacks).pipe(
    Effect.flatMap((event) =>
      inbound.receive(event).pipe(
        Effect.sandbox,
        Effect.retry({
          schedule: Schedule.spaced("200 millis"),
          while: (cause) => cause.reasons.some((reason) => reason._tag === "Die")
        }),
        Effect.ignore
      )
    ),
    Effect.forever,
    Effect.replicateEffect(4, { concurrency: "unbounded", discard: true }),
    Effect.forkScoped
  )
}))
