import type * as Crm from "@messaging-crm/core/Crm"
import { Ids } from "@messaging-crm/core/Ids"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Effect, Layer, type ManagedRuntime } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder, OpenApi } from "effect/http-api"
import { Api } from "./api/Api.ts"
import * as Channels from "./handlers/Channels.ts"
import * as ContactFields from "./handlers/ContactFields.ts"
import * as Contacts from "./handlers/Contacts.ts"
import * as Conversations from "./handlers/Conversations.ts"
import * as Events from "./handlers/Events.ts"
import * as Media from "./handlers/Media.ts"
import * as Members from "./handlers/Members.ts"
import * as Messages from "./handlers/Messages.ts"
import * as Sends from "./handlers/Sends.ts"
import * as Tags from "./handlers/Tags.ts"
import * as Templates from "./handlers/Templates.ts"
import * as WebhookDeliveries from "./handlers/WebhookDeliveries.ts"
import * as Webhooks from "./handlers/Webhooks.ts"
import * as Authentication from "./middleware/Authentication.ts"
import * as IdempotentWrites from "./middleware/IdempotentWrites.ts"
import * as InvalidInput from "./middleware/InvalidInput.ts"
import * as JsonBody from "./middleware/JsonBody.ts"
import * as RequestLifecycle from "./middleware/RequestLifecycle.ts"
import { spanNames } from "./middleware/Routes.ts"
import * as SharedResult from "./SharedResult.ts"
import * as StaticResponse from "./StaticResponse.ts"

export { InProcessCaller, RequestsAtOnce } from "./middleware/Authentication.ts"
export { clientAddress, ipNetworkOf, siteOf, TrustedProxies } from "./middleware/ClientAddress.ts"
export { tagCompressed } from "./middleware/EntityTags.ts"
export { ErrorHelp, methodNotAllowed, ReadDeadline } from "./middleware/RequestLifecycle.ts"
export { LogPaths } from "./middleware/RequestLog.ts"
export { endpointOf, pathOf } from "./middleware/Routes.ts"
export { make as limitUnknownKeys } from "./middleware/UnknownKeys.ts"

const handlers = Layer.mergeAll(
  Channels.layer,
  ContactFields.layer,
  Contacts.layer,
  Conversations.layer,
  Events.layer,
  Members.layer,
  Messages.layer,
  Sends.layer,
  Tags.layer,
  Templates.layer,
  WebhookDeliveries.layer,
  Webhooks.layer
)

/** Layer for the checks before each endpoint, also for those of an API that an embedder adds. */
export const pipeline = Layer.mergeAll(Authentication.layer, JsonBody.layer, IdempotentWrites.layer, InvalidInput.layer)

/** Layer that adds the request ID and headers to every response of a router, and gives errors outside the API the API's shape. */
export const layerRequestLifecycle = RequestLifecycle.layer

/** Makes the router match paths exactly. Pass it to the server of the router. */
export const routerConfig = {
  caseSensitive: true,
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false,
  // Longer than any path that the server accepts, so that a long malformed ID is not an unknown path.
  maxParamLength: 16_384
}

/** Layer that names the spans of requests. Pass it to the server of the router. */
export const tracing = spanNames

/** Returns the OpenAPI 3.1 document, generated from the schemas that validate every request. It is generated on demand, not at startup. */
export const openApi = () => OpenApi.fromApi(Api)

/** Layer for the route of the document, which is prepared at its first request. */
const layerDocument = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const prepared = yield* SharedResult.make(
    Effect.suspend(() => StaticResponse.prepare({ content_type: "application/json", text: JSON.stringify(openApi()) }))
  )
  yield* router.add("GET", "/v1/openapi.json", Effect.flatten(prepared))
}))

/** Layer that adds the API under `/v1`, and the files of its links under `/media`, to a router. Requires the operations, and starts no server. */
export const layer = HttpApiBuilder.layer(Api).pipe(
  Layer.provide(handlers),
  Layer.provide(pipeline),
  Layer.merge(layerDocument),
  Layer.merge(Media.layer),
  Layer.merge(layerRequestLifecycle),
  Layer.provide([Ids.layer, Secrets.layer])
)

/**
 * Returns the API as a function from a web `Request` to a `Response`, for an existing server.
 *
 * It builds the services of the runtime first, and rejects if that fails. A
 * runtime keeps its failed build, so the process must then end. The function
 * uses the services until the runtime is disposed. It responds to every path, so
 * pass it only requests for the API.
 */
export const toWebHandler = async <E>(
  crm: ManagedRuntime.ManagedRuntime<Crm.Services, E>
): Promise<(request: Request) => Promise<Response>> =>
  HttpRouter.toWebHandler(
    layer.pipe(
      Layer.provideMerge(Layer.succeedContext(await crm.context())),
      Layer.provide(HttpServer.layerServices)
    ),
    { routerConfig, disableLogger: true }
  ).handler
