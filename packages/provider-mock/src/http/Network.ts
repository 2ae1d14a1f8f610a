/** The mock provider as a process of its own, so that its state outlives a killed server. */
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { ByteSize, Effect, type Schema } from "effect"
import {
  HttpIncomingMessage,
  HttpRouter,
  type HttpServerError,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import { MockProvider } from "../MockProvider.ts"
import * as Protocol from "./Protocol.ts"

const respondAccepted = HttpServerResponse.schemaJson(Protocol.Accepted)
const respondRejected = HttpServerResponse.schemaJson(Protocol.Rejected)
const respondBusy = HttpServerResponse.schemaJson(Protocol.Busy)
const respondTemplates = HttpServerResponse.schemaJson(Protocol.TemplatesResponse)
const respondAcceptedMessages = HttpServerResponse.schemaJson(Protocol.AcceptedMessages)

const done = HttpServerResponse.empty({ status: 204 })

/** The response to an invalid request, with the reason and the field. */
const malformed = ({ message }: Schema.SchemaError) => Effect.succeed(HttpServerResponse.text(message, { status: 400 }))

/** The response to a body that is too large, or is not JSON. */
const unreadable = ({ reason }: HttpServerError.HttpServerError) =>
  Effect.succeed(
    reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
      ? HttpServerResponse.text(Protocol.body_too_large, { status: 413 })
      : HttpServerResponse.text("The body is not valid JSON.", { status: 400 })
  )

/** Decodes the body of a request, of which no more than the largest report is read. */
const bodyOf = <A, I>(schema: Schema.Codec<A, I>) =>
  Effect.provideService(
    HttpServerRequest.schemaBodyJson(schema),
    HttpIncomingMessage.MaxBodySize,
    ByteSize.bytes(Protocol.body_bytes_max)
  )

/** Closes the connection without a response, to simulate a lost response. */
const hangUp = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
  Effect.andThen(
    // The server is Node's, so the source of a request is its message.
    Effect.sync(() => (request.source as { readonly socket: { readonly destroy: () => void } }).socket.destroy()),
    Effect.succeed(HttpServerResponse.empty())
  ))

/** Handles a request without a response body. */
const command = <A, I>(schema: Schema.Codec<A, I>, run: (body: A) => Effect.Effect<void>) =>
  bodyOf(schema).pipe(
    Effect.flatMap(run),
    Effect.as(done),
    Effect.catchTags({ HttpServerError: unreadable, SchemaError: malformed })
  )

const acceptedOf = (mock: MockProvider["Service"], { recipient, reference }: typeof Protocol.AcceptedQuery.Type) => {
  if (reference !== undefined) return mock.acceptedOf({ reference })
  return recipient === undefined ? mock.accepted : mock.acceptedOf({ recipient })
}

/** Layer for the network's HTTP API. */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const mock = yield* MockProvider
  const provider = yield* MessagingProvider

  const deliver = bodyOf(Protocol.DeliverRequest).pipe(
    Effect.flatMap(provider.deliver),
    Effect.flatMap((accepted) => respondAccepted(accepted)),
    Effect.catchTags({
      ProviderRejected: (error) => respondRejected(error, { status: 422 }),
      ProviderBusy: (error) => respondBusy(error, { status: error.reason === "rate_limited" ? 429 : 503 }),
      ProviderOutcomeUnknown: () => hangUp,
      HttpServerError: unreadable,
      SchemaError: malformed
    })
  )

  const templates = Effect.gen(function*() {
    const { account = "" } = yield* HttpRouter.params
    const catalog = yield* provider.templates(account)
    return yield* respondTemplates({ templates: catalog })
  }).pipe(
    Effect.catchTag("ProviderUnavailable", () => Effect.succeed(HttpServerResponse.empty({ status: 503 })))
  )

  const accepted = HttpServerRequest.schemaSearchParams(Protocol.AcceptedQuery).pipe(
    Effect.flatMap((query) => acceptedOf(mock, query)),
    Effect.flatMap((all) =>
      respondAcceptedMessages({
        accepted: all.map(({ accepted_at, message, provider_message_id }) => ({
          provider_message_id,
          reference: message.reference,
          recipient: message.recipient,
          text: message.content.text,
          accepted_at
        }))
      })
    ),
    Effect.catchTag("SchemaError", malformed)
  )

  yield* router.add("POST", "/deliver", deliver)
  yield* router.add("GET", "/templates/:account", templates)
  yield* router.add("GET", "/accepted", accepted)
  yield* router.add("POST", "/report", command(Protocol.Report, mock.emit))
  yield* router.add(
    "POST",
    "/script",
    command(Protocol.Script, ({ behavior, target }) => mock.script(target, behavior))
  )
  yield* router.add("POST", "/down", command(Protocol.Down, ({ down }) => mock.setDown(down)))
}))
