import { Member } from "@messaging-crm/core/Members"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import { RequiredScope } from "./Pipeline.ts"

/** `/members`: list (spec §4). */
export class MembersGroup extends HttpApiGroup.make("members")
  .add(
    HttpApiEndpoint.get("list", "/members", {
      success: List(Member)
    })
      .annotate(RequiredScope, "members:read")
      .annotate(OpenApi.Summary, "List members")
  )
{}
