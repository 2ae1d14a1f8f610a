import { ContactField } from "@messaging-crm/core/ContactFields"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import * as Examples from "./Examples.ts"
import { RequiredScope } from "./Pipeline.ts"

/** `/contact-fields`: list (spec §4). */
export class ContactFieldsGroup extends HttpApiGroup.make("contact_fields")
  .add(
    HttpApiEndpoint.get("list", "/contact-fields", {
      success: List(ContactField)
    })
      .annotate(RequiredScope, "contacts:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listContactFields",
          summary: "List contact fields",
          description: "All of them, oldest first."
        })
      )
      .annotate(Examples.Example, { answer: Examples.all(Examples.contactField) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Contact fields",
      description: "The organization's own fields, whose values are in the `custom_values` of its contacts."
    })
  )
{}
