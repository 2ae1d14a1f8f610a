import {
  type WebhookRequest,
  type WebhookRequestFailed,
  type WebhookResponse,
  WebhookTransport
} from "@messaging-crm/core/WebhookTransport"
import { Context, Effect, Layer, Ref } from "effect"

export type Outcome = Effect.Effect<WebhookResponse, WebhookRequestFailed>

export const ok: WebhookResponse = { status: 200, body: "", retry_after: null }

/** Scripted webhook endpoints: tests set their responses, and read the requests that they received. */
export class ScriptedEndpoints extends Context.Service<ScriptedEndpoints, {
  /** The requests to a URL, in order. */
  readonly posted: (url: string) => Effect.Effect<ReadonlyArray<WebhookRequest>>
  /** Sets the responses of a URL from now on. */
  readonly respond: (url: string, how: (request: WebhookRequest) => Outcome) => Effect.Effect<void>
}>()("@messaging-crm/conformance/ScriptedEndpoints") {}

/** Layer for the scripted endpoints. Each accepts everything until a test says otherwise. */
export const layer: Layer.Layer<WebhookTransport | ScriptedEndpoints> = Layer.effectContext(Effect.gen(function*() {
  const posted = yield* Ref.make<ReadonlyArray<WebhookRequest>>([])
  const responses = yield* Ref.make<ReadonlyMap<string, (request: WebhookRequest) => Outcome>>(new Map())
  return Context.make(WebhookTransport, {
    post: Effect.fnUntraced(function*(request) {
      yield* Ref.update(posted, (requests) => [...requests, request])
      const respond = (yield* Ref.get(responses)).get(request.url)
      return respond === undefined ? ok : yield* respond(request)
    })
  }).pipe(
    Context.add(ScriptedEndpoints, {
      posted: (url) => Effect.map(Ref.get(posted), (requests) => requests.filter((request) => request.url === url)),
      respond: (url, how) => Ref.update(responses, (current) => new Map(current).set(url, how))
    })
  )
}))
