import {
  type WebhookRequest,
  type WebhookRequestFailed,
  type WebhookResponse,
  WebhookTransport
} from "@messaging-crm/core/WebhookTransport"
import { Chunk, Context, Effect, Layer, Ref } from "effect"

export type Outcome = Effect.Effect<WebhookResponse, WebhookRequestFailed>

/** The posted requests, and the responses to them. */
export class PostedWebhooks extends Context.Service<PostedWebhooks, {
  /** Every request, in the order of posting, including those without a response. */
  readonly posted: Effect.Effect<ReadonlyArray<WebhookRequest>>
  /** Sets the outcome of later requests. Before that, each gets a 200. */
  readonly respond: (how: (request: WebhookRequest) => Outcome) => Effect.Effect<void>
}>()("@messaging-crm/adapter-memory/WebhookTransport/PostedWebhooks") {}

const make = Effect.gen(function*() {
  const posted = yield* Ref.make(Chunk.empty<WebhookRequest>())
  const ok: WebhookResponse = { status: 200, body: "", retry_after: null }
  const respond = yield* Ref.make((_: WebhookRequest): Outcome => Effect.succeed(ok))

  const post = Effect.fnUntraced(function*(request: WebhookRequest) {
    yield* Ref.update(posted, Chunk.append(request))
    return yield* (yield* Ref.get(respond))(request)
  })

  return Context.make(WebhookTransport, { post }).pipe(
    Context.add(PostedWebhooks, {
      posted: Effect.map(Ref.get(posted), Chunk.toReadonlyArray),
      respond: (how) => Ref.set(respond, how)
    })
  )
})

/** Layer that posts nothing. It stores each request, and returns the outcome that a test has set. */
export const layer: Layer.Layer<WebhookTransport | PostedWebhooks> = Layer.effectContext(make)
