import { ContactField } from "@messaging-crm/core/ContactFields"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { List } from "./Envelope.ts"
import * as Examples from "./Examples.ts"
import { Runs } from "./Pipeline.ts"

/** `/contact-fields`: list (contract §9.4). */
export class ContactFieldsGroup extends HttpApiGroup.make("contact_fields")
  .add(
    HttpApiEndpoint.get("list", "/contact-fields", {
      success: List(ContactField)
    })
      .annotate(Runs, "contact_fields.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listContactFields",
          summary: "List contact fields",
          description: "Returns all contact fields, oldest first."
        })
      )
      .annotate(Examples.Example, { response: Examples.all(Examples.contactField) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Contact fields",
      description: "Fields that the organization has defined. A contact's `custom_values` contains their values."
    })
  )
{}
