import { SendId } from "@messaging-crm/core/Ids"
import { Send } from "@messaging-crm/core/Sends"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Examples from "./Examples.ts"
import { Runs } from "./Pipeline.ts"

/** `/sends`: get (contract §12). */
export class SendsGroup extends HttpApiGroup.make("sends")
  .add(
    HttpApiEndpoint.get("get", "/sends/:send_id", {
      params: { send_id: SendId },
      success: Single(Send),
      error: Errors.NotFound
    })
      .annotate(Runs, "sends.get")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getSend",
          summary: "Get a send",
          description: "Returns a send. Its status changes until it is `sent` or `failed`."
        })
      )
      .annotate(Examples.Example, { answer: Examples.one(Examples.sent) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Sends",
      description: "Accepted orders to send a message, with their status and outcome."
    })
  )
{}
