import { ConversationId, SendId } from "@messaging-crm/core/Ids"
import { Send, SendStatus } from "@messaging-crm/core/Sends"
import { QueryTime } from "@messaging-crm/core/Timestamps"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import * as ConversationExamples from "./ConversationExamples.ts"
import { cursor, List, page_size, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Examples from "./Examples.ts"
import { Runs } from "./Pipeline.ts"

/** The filters of the list of sends (contract §12.11). */
const filters = {
  status: Schema.optionalKey(
    SendStatus.annotate({ description: "Sends in this state.", examples: ["failed"] })
  ),
  conversation_id: Schema.optionalKey(
    ConversationId.pipe(Schema.annotateEncoded({ description: "Sends in this conversation." }))
  ),
  created_since: Schema.optionalKey(
    QueryTime.pipe(Schema.annotateEncoded({
      description: "Sends that were accepted at this time or later. RFC 3339, with any offset.",
      examples: ["2026-11-20T10:00:00.000Z"]
    }))
  )
}

/** `/sends`: list and get (contract §12). */
export class SendsGroup extends HttpApiGroup.make("sends")
  .add(
    HttpApiEndpoint.get("list", "/sends", {
      query: { cursor, page_size, ...filters },
      success: List(Send)
    })
      .annotate(Runs, "sends.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listSends",
          summary: "List sends",
          description: "Returns sends, newest first. A send must match all filters."
        })
      )
      .annotate(Examples.Example, { response: Examples.page(ConversationExamples.sent) }),
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
          description:
            "Returns a send. Its status changes until it is `sent` or `failed`. A send that failed with `outcome_unknown` can still become `sent`."
        })
      )
      .annotate(Examples.Example, { response: Examples.one(ConversationExamples.sent) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Sends",
      description: "Accepted requests to send a message, with their status and outcome."
    })
  )
{}
