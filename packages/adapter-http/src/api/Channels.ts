import { Channel } from "@messaging-crm/core/Channels"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import * as Examples from "./Examples.ts"
import { Runs } from "./Pipeline.ts"

/** `/channels`: list (contract §9.1). */
export class ChannelsGroup extends HttpApiGroup.make("channels")
  .add(
    HttpApiEndpoint.get("list", "/channels", {
      success: List(Channel)
    })
      .annotate(Runs, "channels.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listChannels",
          summary: "List channels",
          description: "Returns all channels, oldest first."
        })
      )
      .annotate(Examples.Example, { response: Examples.all(Examples.channel) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Channels",
      description: "The organization's phone numbers, accounts, and pages that contacts write to."
    })
  )
{}
