import { Template } from "@messaging-crm/core/Templates"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Examples from "./Examples.ts"
import { Runs } from "./Pipeline.ts"

/** `/templates`: list, read live from the provider (contract §9.5). */
export class TemplatesGroup extends HttpApiGroup.make("templates")
  .add(
    HttpApiEndpoint.get("list", "/templates", {
      success: List(Template),
      error: Errors.ProviderUnavailable
    })
      .annotate(Runs, "templates.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listTemplates",
          summary: "List templates",
          description:
            "Returns all templates, read live from the messaging provider. Fails with `provider_unavailable` if the provider does not respond."
        })
      )
      .annotate(Examples.Example, { response: Examples.all(Examples.template) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Templates",
      description: "Message templates of the messaging provider. An approved template can start a conversation."
    })
  )
{}
