import { ContactField } from "@messaging-crm/core/ContactFields"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import { RequiredScope } from "./Pipeline.ts"

/** `/contact-fields`: list (spec §4). */
export class ContactFieldsGroup extends HttpApiGroup.make("contact_fields")
  .add(
    HttpApiEndpoint.get("list", "/contact-fields", {
      success: List(ContactField)
    })
      .annotate(RequiredScope, "contacts:read")
      .annotate(OpenApi.Summary, "List contact fields")
  )
{}
