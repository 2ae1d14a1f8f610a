import { Contact, CreateContact } from "@messaging-crm/core/Contacts"
import { ContactId } from "@messaging-crm/core/Ids"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { cursor, List, page_size, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { IdempotencyPolicy, RequiredIdempotencyKey, RequiredScope } from "./Pipeline.ts"

/** `/contacts`: list, create and get (spec §4, §4.2). */
export class ContactsGroup extends HttpApiGroup.make("contacts")
  .add(
    HttpApiEndpoint.get("list", "/contacts", {
      query: { cursor, page_size },
      success: List(Contact)
    })
      .annotate(RequiredScope, "contacts:read")
      .annotate(OpenApi.Summary, "List contacts"),
    HttpApiEndpoint.post("create", "/contacts", {
      headers: RequiredIdempotencyKey,
      payload: CreateContact,
      success: Single(Contact).pipe(HttpApiSchema.status(201))
    })
      .annotate(RequiredScope, "contacts:write")
      .annotate(IdempotencyPolicy, "required")
      .annotate(OpenApi.Summary, "Create a contact"),
    HttpApiEndpoint.get("get", "/contacts/:contact_id", {
      params: { contact_id: ContactId },
      success: Single(Contact),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "contacts:read")
      .annotate(OpenApi.Summary, "Get a contact")
  )
{}
