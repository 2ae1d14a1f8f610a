import { PublicUrl } from "@messaging-crm/core/Media"
import { Messages } from "@messaging-crm/core/Messages"
import { Sends } from "@messaging-crm/core/Sends"
import { Effect, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { paging } from "../api/Envelope.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Returns the origin that the request was sent to. A forged `Host` affects only the links in its own response. */
const originOf = (request: HttpServerRequest.HttpServerRequest): string =>
  Option.match(HttpServerRequest.toURL(request), { onNone: () => "", onSome: ({ origin }) => origin })

/** Layer that serves `/conversations/{conversation_id}/messages`. */
export const layer = HttpApiBuilder.group(
  Api,
  "messages",
  Effect.fnUntraced(function*(handlers) {
    const messages = yield* Messages
    const public_url = yield* PublicUrl
    const sends = yield* Sends

    /** Makes links begin with `PUBLIC_URL`, or else with the origin of the request. */
    const linked = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.provideService(PublicUrl, public_url === "" ? originOf(request) : public_url)

    return handlers.handleAll({
      list: ({ endpoint, params, query, request }) =>
        messages.list(params.conversation_id, paging(query).cursor).pipe(
          Effect.flatMap(Responses.page(endpoint)),
          ErrorMapping.translate,
          linked(request)
        ),
      get: ({ endpoint, params, request }) =>
        messages.get(params.conversation_id, params.message_id).pipe(
          Effect.flatMap(Responses.single(endpoint)),
          ErrorMapping.translate,
          linked(request)
        ),
      send: ({ endpoint, params, payload }) =>
        Responses.written(endpoint)((respond) => sends.send(params.conversation_id, payload, respond)).pipe(
          Effect.catchTag("ChannelTypeUnsuited", () => Errors.failWith(Texts.templatesUnsupported))
        )
    })
  })
).pipe(requiring(Messages, PublicUrl, Sends))
