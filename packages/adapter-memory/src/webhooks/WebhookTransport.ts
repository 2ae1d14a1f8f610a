import {
  type WebhookAnswer,
  type WebhookRequest,
  type WebhookRequestFailed,
  WebhookTransport
} from "@messaging-crm/core/WebhookTransport"
import { Chunk, Context, Effect, Layer, Ref } from "effect"

export type Outcome = Effect.Effect<WebhookAnswer, WebhookRequestFailed>

/** What was posted, and what the endpoints answer from now on. */
export class PostedWebhooks extends Context.Service<PostedWebhooks, {
  /** Every request, in the order of posting, also of those that got no answer. */
  readonly posted: Effect.Effect<ReadonlyArray<WebhookRequest>>
  /** Decides about each request from now on; before that, each is answered with 200. */
  readonly answer: (how: (request: WebhookRequest) => Outcome) => Effect.Effect<void>
}>()("@messaging-crm/adapter-memory/WebhookTransport/PostedWebhooks") {}

const make = Effect.gen(function*() {
  const posted = yield* Ref.make(Chunk.empty<WebhookRequest>())
  const thanks: WebhookAnswer = { status: 200, body: "", retry_after: null }
  const answer = yield* Ref.make((_: WebhookRequest): Outcome => Effect.succeed(thanks))

  const post = Effect.fnUntraced(function*(request: WebhookRequest) {
    yield* Ref.update(posted, Chunk.append(request))
    return yield* (yield* Ref.get(answer))(request)
  })

  return Context.make(WebhookTransport, { post }).pipe(
    Context.add(PostedWebhooks, {
      posted: Effect.map(Ref.get(posted), Chunk.toReadonlyArray),
      answer: (how) => Ref.set(answer, how)
    })
  )
})

/** Layer that posts nowhere: it keeps each request and answers as a test tells it. */
export const layer: Layer.Layer<WebhookTransport | PostedWebhooks> = Layer.effectContext(make)
