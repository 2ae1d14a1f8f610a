import { Member } from "@messaging-crm/core/Members"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import * as Examples from "./Examples.ts"
import { Runs } from "./Pipeline.ts"

/** `/members`: list (contract §9.2). */
export class MembersGroup extends HttpApiGroup.make("members")
  .add(
    HttpApiEndpoint.get("list", "/members", {
      success: List(Member)
    })
      .annotate(Runs, "members.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listMembers",
          summary: "List members",
          description: "Returns the members who have not left, oldest first."
        })
      )
      .annotate(Examples.Example, { response: Examples.all(Examples.member) })
  )
  .annotateMerge(OpenApi.annotations({ title: "Members", description: "The people who work for the organization." }))
{}
