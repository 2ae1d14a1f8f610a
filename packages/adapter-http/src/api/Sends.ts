import { SendId } from "@messaging-crm/core/Ids"
import { Send } from "@messaging-crm/core/Sends"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { RequiredScope } from "./Pipeline.ts"

/** `/sends`: get, which is how a send is followed (spec §2.4). */
export class SendsGroup extends HttpApiGroup.make("sends")
  .add(
    HttpApiEndpoint.get("get", "/sends/:send_id", {
      params: { send_id: SendId },
      success: Single(Send),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "messages:send")
      .annotate(OpenApi.Summary, "Get a send")
  )
{}
