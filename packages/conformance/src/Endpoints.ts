import type { WebhookRequest } from "@messaging-crm/core/WebhookTransport"
import { type WebhookAnswer, type WebhookRequestFailed, WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Context, Effect, Layer, Ref } from "effect"

export type Outcome = Effect.Effect<WebhookAnswer, WebhookRequestFailed>

export const ok: WebhookAnswer = { status: 200, body: "", retry_after: null }

/** The endpoints of every webhook: they do as they are told, and remember what was posted. */
export class ScriptedEndpoints extends Context.Service<ScriptedEndpoints, {
  /** What was posted to a URL, in order. */
  readonly posted: (url: string) => Effect.Effect<ReadonlyArray<WebhookRequest>>
  /** What a URL answers from now on. */
  readonly answer: (url: string, how: (request: WebhookRequest) => Outcome) => Effect.Effect<void>
}>()("@messaging-crm/conformance/ScriptedEndpoints") {}

/** Layer for the scripted endpoints. Each takes everything until it is told otherwise. */
export const layer: Layer.Layer<WebhookTransport | ScriptedEndpoints> = Layer.effectContext(Effect.gen(function*() {
  const posted = yield* Ref.make<ReadonlyArray<WebhookRequest>>([])
  const answers = yield* Ref.make<ReadonlyMap<string, (request: WebhookRequest) => Outcome>>(new Map())
  return Context.make(WebhookTransport, {
    post: Effect.fnUntraced(function*(request) {
      yield* Ref.update(posted, (all) => [...all, request])
      const how = (yield* Ref.get(answers)).get(request.url)
      return how === undefined ? ok : yield* how(request)
    })
  }).pipe(
    Context.add(ScriptedEndpoints, {
      posted: (url) => Effect.map(Ref.get(posted), (all) => all.filter((request) => request.url === url)),
      answer: (url, how) => Ref.update(answers, (all) => new Map([...all, [url, how]]))
    })
  )
}))
