import { Template } from "@messaging-crm/core/Templates"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { RequiredScope } from "./Pipeline.ts"

/** `/templates`: list, read live from the provider (spec §2.6). */
export class TemplatesGroup extends HttpApiGroup.make("templates")
  .add(
    HttpApiEndpoint.get("list", "/templates", {
      success: List(Template),
      error: Errors.ProviderUnavailable
    })
      .annotate(RequiredScope, "templates:read")
      .annotate(OpenApi.Summary, "List templates")
  )
{}
