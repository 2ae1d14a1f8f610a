import { Channel } from "@messaging-crm/core/Channels"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import { RequiredScope } from "./Pipeline.ts"

/** `/channels`: list (spec §4). */
export class ChannelsGroup extends HttpApiGroup.make("channels")
  .add(
    HttpApiEndpoint.get("list", "/channels", {
      success: List(Channel)
    })
      .annotate(RequiredScope, "conversations:read")
      .annotate(OpenApi.Summary, "List channels")
  )
{}
