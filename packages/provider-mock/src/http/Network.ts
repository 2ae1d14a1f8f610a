/** The mock provider as a process of its own, so that its state outlives a killed server. */
import { ProviderEvent } from "@messaging-crm/core/Inbound"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Data, Effect, Layer, Queue, Ref, Schedule, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { MockProvider } from "../index.ts"
import * as Protocol from "./Protocol.ts"

const answerAccepted = HttpServerResponse.schemaJson(Protocol.Accepted)
const answerRejected = HttpServerResponse.schemaJson(Protocol.Rejected)
const answerBusy = HttpServerResponse.schemaJson(Protocol.Busy)
const answerTemplates = HttpServerResponse.schemaJson(Protocol.TemplatesAnswer)
const answerAcceptedMessages = HttpServerResponse.schemaJson(Protocol.AcceptedMessages)

const done = HttpServerResponse.empty({ status: 204 })
const malformed = () => Effect.succeed(HttpServerResponse.empty({ status: 400 }))

/** Closes the connection without a response, to simulate a lost answer. */
const hangUp = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
  Effect.andThen(
    // The server is Node's, so the source of a request is its message.
    Effect.sync(() => (request.source as { readonly socket: { readonly destroy: () => void } }).socket.destroy()),
    Effect.succeed(HttpServerResponse.empty())
  ))

/** Layer for the network's HTTP API. */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const mock = yield* MockProvider
  const provider = yield* MessagingProvider

  const deliver = HttpServerRequest.schemaBodyJson(Protocol.DeliverRequest).pipe(
    Effect.flatMap(provider.deliver),
    Effect.flatMap((accepted) => answerAccepted(accepted)),
    Effect.catchTags({
      ProviderRejected: (error) => answerRejected(error, { status: 422 }),
      ProviderBusy: (error) => answerBusy(error, { status: error.reason === "rate_limited" ? 429 : 503 }),
      ProviderOutcomeUnknown: () => hangUp,
      SchemaError: malformed
    })
  )

  const templates = Effect.gen(function*() {
    const { account = "" } = yield* HttpRouter.params
    const catalog = yield* provider.templates(decodeURIComponent(account))
    return yield* answerTemplates({ templates: catalog })
  }).pipe(
    Effect.catchTag("ProviderUnavailable", () => Effect.succeed(HttpServerResponse.empty({ status: 503 })))
  )

  const acceptedOf = ({ recipient, reference }: typeof Protocol.AcceptedQuery.Type) => {
    if (reference !== undefined) return mock.acceptedOf({ reference })
    return recipient === undefined ? mock.accepted : mock.acceptedOf({ recipient })
  }

  const accepted = HttpServerRequest.schemaSearchParams(Protocol.AcceptedQuery).pipe(
    Effect.flatMap(acceptedOf),
    Effect.flatMap((all) =>
      answerAcceptedMessages({
        accepted: all.map(({ accepted_at, message, provider_message_id }) => ({
          provider_message_id,
          reference: message.reference,
          recipient: message.recipient,
          text: message.content.text,
          accepted_at: accepted_at
        }))
      })
    ),
    Effect.catchTag("SchemaError", malformed)
  )

  /** Handles a request without a response body. */
  const command = <A, I>(schema: Schema.Codec<A, I>, run: (body: A) => Effect.Effect<void>) =>
    HttpServerRequest.schemaBodyJson(schema).pipe(
      Effect.flatMap(run),
      Effect.as(done),
      Effect.catchTag("SchemaError", malformed)
    )

  yield* router.add("POST", "/deliver", deliver)
  yield* router.add("GET", "/templates/:account", templates)
  yield* router.add("GET", "/accepted", accepted)
  yield* router.add("POST", "/report", command(ProviderEvent, mock.emit))
  yield* router.add(
    "POST",
    "/script",
    command(Protocol.Script, ({ behavior, target }) => mock.script(target, behavior))
  )
  yield* router.add("POST", "/down", command(Protocol.Down, ({ down }) => mock.setDown(down)))
}))

const encode = Schema.encodeEffect(Schema.fromJsonString(Protocol.Callback))

/** A callback got no 2xx response: another status, or null for no response. */
class CallbackFailed extends Data.TaggedError("CallbackFailed")<{ readonly status: number | null }> {}

const post = (url: string, body: string, signature: string) =>
  Effect.tryPromise(async (signal) => {
    const headers = { "content-type": "application/json", [Protocol.signatureHeader]: signature }
    const response = await fetch(url, { method: "POST", body, headers, signal, redirect: "manual" })
    await response.arrayBuffer()
    return response
  }).pipe(
    Effect.timeout("10 seconds"),
    Effect.mapError(() => new CallbackFailed({ status: null })),
    Effect.flatMap(({ ok, status }) => ok ? Effect.void : new CallbackFailed({ status }))
  )

/** The maximum number of events in one callback. */
const batch_max = 10

const hasFile = (event: ProviderEvent): boolean => event.event === "message_received" && event.media !== null

/** Puts each event with a file into a separate callback, which bounds the size of a body. */
export const batches = (events: ReadonlyArray<ProviderEvent>): ReadonlyArray<ReadonlyArray<ProviderEvent>> => {
  const light = events.filter((event) => !hasFile(event))
  const alone = events.filter(hasFile).map((event) => [event])
  return light.length === 0 ? alone : [light, ...alone]
}

/**
 * Layer that posts signed callbacks. Each is repeated until it gets a 2xx
 * response, each time at the next of the addresses.
 */
export const layerCallbacks = (callback_urls: ReadonlyArray<string>) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const { callbacks } = yield* MockProvider
    const secrets = yield* Secrets
    const turn = yield* Ref.make(0)
    const next = Effect.map(Ref.getAndUpdate(turn, (count) => count + 1), (count) =>
      callback_urls[count % callback_urls.length] ?? "")
    const callBack = Effect.fnUntraced(function*(events: ReadonlyArray<ProviderEvent>) {
      const body = yield* Effect.orDie(encode({ events }))
      const signature = yield* Effect.provideService(Protocol.sign(body), Secrets, secrets)
      const attempt = Effect.flatMap(next, (url) =>
        post(url, body, signature))
      const retries = Effect.retry(attempt, Schedule.spaced("100 millis"))
      const warning = Effect.logWarning("Callback failed; it is retried until it succeeds")
      yield* Effect.catch(attempt, ({ status }) => Effect.andThen(Effect.annotateLogs(warning, { status }), retries))
    })
    yield* Queue.takeBetween(callbacks, 1, batch_max).pipe(
      Effect.flatMap((events) => Effect.forEach(batches(events), callBack, { discard: true })),
      Effect.ignore,
      Effect.forever,
      Effect.replicateEffect(8, { concurrency: "unbounded", discard: true }),
      Effect.forkScoped
    )
  })).pipe(Layer.provide(Secrets.layer))
