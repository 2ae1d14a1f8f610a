/** The whole service in memory: its HTTP handler and its worker over a world in which concurrent calls interleave. */
import * as Http from "@messaging-crm/adapter-http"
import { stores } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import * as Crm from "@messaging-crm/core/Crm"
import { ConflictBackoff } from "@messaging-crm/core/Decide"
import { WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import * as Mock from "@messaging-crm/provider-mock"
import { Context, Effect, Layer, Random, References } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import type { ReceivedDelivery } from "../History.ts"
import type { Defect } from "./Defects.ts"

export type Handler = (request: Request) => Promise<Response>

/** A world in which other fibers continue before each step. */
const interleaved = Layer.effect(
  World,
  Effect.map(World, ({ modify, read }) => {
    const pause = Effect.flatMap(
      Random.nextIntBetween(0, 3),
      (times) => Effect.forEach(Array.from({ length: times }), () => Effect.yieldNow, { discard: true })
    )
    return World.of({
      read: (query) => Effect.andThen(pause, read(query)),
      modify: (change) => Effect.andThen(pause, modify(change))
    })
  })
).pipe(Layer.provide(World.layer))

/** Records each webhook request, which succeeds. */
const recordDeliveries = (now: () => number, received: Array<ReceivedDelivery>) =>
  Layer.succeed(WebhookTransport, {
    post: ({ body, headers, url }) =>
      Effect.sync(() => {
        received.push({
          organization: 0,
          endpoint: new URL(url).pathname,
          event_id: headers["webhook-id"] ?? "",
          text: body,
          at: now(),
          status: 200,
          is_signed: null
        })
        return { status: 200, body: "", retry_after: null }
      })
  })

const tuning = Layer.mergeAll(
  Layer.succeed(References.MinimumLogLevel, "None"),
  Layer.succeed(RequestsPerMinute, 1_000_000),
  // Pauses of a part of a millisecond would make times that no real clock shows.
  Layer.succeed(ConflictBackoff, { pauses: [] })
)

/** Builds the service with a defect, and returns its context and its HTTP handler. It stops with the scope. */
export const build = Effect.fnUntraced(function*(
  {
    operations = Layer.empty,
    provider = Mock.layer,
    storage = stores,
    transport = Layer.effect(WebhookTransport, WebhookTransport)
  }: Defect,
  now: () => number,
  received: Array<ReceivedDelivery>
) {
  const crm = Crm.layer.pipe(Layer.provideMerge(Layer.mergeAll(
    Layer.provideMerge(storage, interleaved),
    provider,
    Layer.provideMerge(transport, recordDeliveries(now, received))
  )))
  const context = yield* Layer.build(Layer.provideMerge(crm, tuning))
  const app = Layer.provideMerge(
    operations,
    Layer.mergeAll(Layer.succeedContext(context), Layer.succeedContext(yield* Effect.context<never>()))
  )
  const { dispose, handler: handle } = HttpRouter.toWebHandler(
    Http.layer.pipe(Layer.provideMerge(app), Layer.provide(HttpServer.layerServices)),
    { routerConfig: Http.routerConfig, disableLogger: true }
  )
  yield* Effect.addFinalizer(() => Effect.promise(dispose))
  const handler: Handler = (request) => handle(request, Context.empty() as never)
  return { context, handler }
})
