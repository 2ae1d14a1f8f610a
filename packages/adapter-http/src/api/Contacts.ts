import { ChannelType } from "@messaging-crm/core/Channels"
import { AddNote, Contact, CreateContact, LifecycleStage, UpdateContact } from "@messaging-crm/core/Contacts"
import { ContactId, MemberId, TagId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { text } from "@messaging-crm/core/Text"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { cursor, List, page_size, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { IdempotencyPolicy, OptionalIdempotencyKey, RequiredIdempotencyKey, RequiredScope } from "./Pipeline.ts"

/** What a list of contacts can be narrowed by (spec §4.1). Filters combine; an empty `query` counts as absent. */
const filters = {
  query: Schema.optionalKey(text({ min: 0, max: limits.query_chars_max })),
  tag_id: Schema.optionalKey(TagId),
  owner_user_id: Schema.optionalKey(MemberId),
  lifecycle_stage: Schema.optionalKey(LifecycleStage),
  channel: Schema.optionalKey(ChannelType)
}

/** `/contacts`: list, create, get, update, and add a note (spec §4, §4.2). */
export class ContactsGroup extends HttpApiGroup.make("contacts")
  .add(
    HttpApiEndpoint.get("list", "/contacts", {
      query: { cursor, page_size, ...filters },
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
      .annotate(OpenApi.Summary, "Get a contact"),
    HttpApiEndpoint.patch("update", "/contacts/:contact_id", {
      headers: RequiredIdempotencyKey,
      params: { contact_id: ContactId },
      payload: UpdateContact,
      success: Single(Contact),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "contacts:write")
      .annotate(IdempotencyPolicy, "required")
      .annotate(OpenApi.Summary, "Update a contact"),
    HttpApiEndpoint.post("addNote", "/contacts/:contact_id/notes", {
      headers: OptionalIdempotencyKey,
      params: { contact_id: ContactId },
      payload: AddNote,
      success: Single(Contact),
      error: Errors.NotFound
    })
      .annotate(RequiredScope, "contacts:write")
      .annotate(IdempotencyPolicy, "optional")
      .annotate(OpenApi.Summary, "Add a note to a contact")
  )
{}
