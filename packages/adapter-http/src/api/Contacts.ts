import { ChannelType } from "@messaging-crm/core/Channels"
import { AddNote, Contact, CreateContact, LifecycleStage, UpdateContact } from "@messaging-crm/core/Contacts"
import { UpsertContacts, UpsertOutcome } from "@messaging-crm/core/ContactUpserts"
import { emailLine } from "@messaging-crm/core/Emails"
import { ContactId, MemberId, TagId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { Phone } from "@messaging-crm/core/Phones"
import { plainLine, text, trimmedText } from "@messaging-crm/core/Text"
import { QueryTime } from "@messaging-crm/core/Timestamps"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { cursor, List, page_size, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import * as Texts from "./ErrorTexts.ts"
import * as Examples from "./Examples.ts"
import { ifMatch, keyHeaderOf, Runs, Tagged } from "./Pipeline.ts"

/** The filters of the list of contacts (contract §8.8). They combine; an empty `query` counts as absent. */
const filters = {
  query: Schema.optionalKey(
    text({ min: 0, max: limits.query_chars_max }).annotate({
      description:
        "Contacts whose name, phone, email, company, or display name or username on a network contains this text, regardless of case.",
      examples: ["berg"]
    })
  ),
  tag_id: Schema.optionalKey(TagId.pipe(Schema.annotateEncoded({ description: "Contacts with this tag." }))),
  owner_user_id: Schema.optionalKey(
    MemberId.pipe(Schema.annotateEncoded({ description: "Contacts that this member owns." }))
  ),
  lifecycle_stage: Schema.optionalKey(
    LifecycleStage.annotate({ description: "Contacts at this stage.", examples: ["customer"] })
  ),
  channel: Schema.optionalKey(
    ChannelType.annotate({
      description:
        "Contacts with an identity on this type of channel; for `phone_messaging`, also contacts with a primary phone.",
      examples: ["phone_messaging"]
    })
  ),
  phone: Schema.optionalKey(
    Phone.pipe(Schema.annotateEncoded({
      description: "Contacts with this primary phone, in any format that `primary_phone` accepts.",
      examples: ["+49 151 12345678"]
    }))
  ),
  email: Schema.optionalKey(
    trimmedText({ min: 1, max: limits.email_chars_max }, emailLine).pipe(Schema.annotateEncoded({
      description: "Contacts with this primary email, regardless of case.",
      examples: ["kim@berg.example"]
    }))
  ),
  external_id: Schema.optionalKey(
    trimmedText({ min: 1, max: limits.external_id_chars_max }, plainLine).pipe(Schema.annotateEncoded({
      description:
        "Contacts that have an identity with this network ID. With `channel`, only identities on that type of channel.",
      examples: ["+4915112345678"]
    }))
  ),
  updated_since: Schema.optionalKey(
    QueryTime.pipe(Schema.annotateEncoded({
      description: "Contacts whose `updated_at` is at this time or later. RFC 3339, with any offset.",
      examples: ["2026-11-20T10:00:00.000Z"]
    }))
  )
}

/** Schema for the outcome of an upsert, one for each contact. */
export const UpsertedContacts = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      outcome: Schema.Literals([...UpsertOutcome.literals, "failed"]),
      contact_id: Schema.NullOr(ContactId).annotate({ description: "Null if and only if it failed." }),
      error: Schema.NullOr(
        Schema.Struct({
          code: Schema.Literals(["conflict", "invalid_input", "not_found"]),
          message: Schema.String,
          param: Schema.NullOr(Schema.String).annotate({ description: "The field of the contact that is wrong." })
        })
      ).annotate({ description: "Set if and only if it failed." })
    })
  ).annotate({ description: "The outcome of each contact, in the order of the request." })
}).annotate({ identifier: "UpsertedContacts" })

/** `/contacts`: list, create, upsert, get, update, and add a note (contract §8). */
export class ContactsGroup extends HttpApiGroup.make("contacts")
  .add(
    HttpApiEndpoint.get("list", "/contacts", {
      query: { cursor, page_size, ...filters },
      success: List(Contact),
      error: Errors.SearchTimeout
    })
      .annotate(Runs, "contacts.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listContacts",
          summary: "List contacts",
          description: "Returns contacts, most recently updated first. A contact must match all filters."
        })
      )
      .annotate(Examples.Example, { response: Examples.page(Examples.contact) }),
    HttpApiEndpoint.post("create", "/contacts", {
      headers: keyHeaderOf("contacts.create"),
      payload: CreateContact,
      success: Single(Contact).pipe(HttpApiSchema.status(201)),
      error: Errors.Conflict
    })
      .annotate(Runs, "contacts.create")
      .annotate(Tagged, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createContact",
          summary: "Create a contact",
          description: "Creates a contact. No message is sent."
        })
      )
      .annotate(Examples.Example, {
        requests: { contact: Examples.createContact },
        response: Examples.one(Examples.newContact)
      }),
    HttpApiEndpoint.post("upsert", "/contacts/upsert", {
      headers: keyHeaderOf("contacts.upsert"),
      payload: UpsertContacts,
      success: Single(UpsertedContacts)
    })
      .annotate(Runs, "contacts.upsert")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "upsertContacts",
          summary: "Upsert contacts",
          description:
            "For each contact in the request, updates the existing contact with the same value in the field that `match` names, or creates one. Each contact is written separately, so a retry with the same key continues where the first request stopped."
        })
      )
      .annotate(Examples.Example, {
        requests: { customers: Examples.upsertContacts },
        response: Examples.one(Examples.upsertedContacts)
      }),
    HttpApiEndpoint.get("get", "/contacts/:contact_id", {
      params: { contact_id: ContactId },
      success: Single(Contact),
      error: Errors.NotFound
    })
      .annotate(Runs, "contacts.get")
      .annotate(Tagged, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getContact",
          summary: "Get a contact",
          description: "Returns a contact with its identities and tags."
        })
      )
      .annotate(Examples.Example, { response: Examples.one(Examples.contact) }),
    HttpApiEndpoint.patch("update", "/contacts/:contact_id", {
      headers: { ...keyHeaderOf("contacts.update"), ...ifMatch },
      params: { contact_id: ContactId },
      payload: UpdateContact,
      success: Single(Contact),
      error: [Errors.NotFound, Errors.Conflict, Errors.PreconditionFailed]
    })
      .annotate(Runs, "contacts.update")
      .annotate(Tagged, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "updateContact",
          summary: "Update a contact",
          description:
            "Changes only the fields that are present in the body. With `If-Match`, changes the contact only if it has not changed since you read it."
        })
      )
      .annotate(Examples.Example, {
        requests: {
          progress: Examples.updateContact,
          clear: { job_title: null, tag_ids: [] },
          tag: { add_tag_ids: [Examples.ids.tag_id] }
        },
        response: Examples.one(Examples.contact),
        conflict: Texts.tagsTooMany(limits.tag_ids_max)
      }),
    HttpApiEndpoint.post("addNote", "/contacts/:contact_id/notes", {
      headers: { ...keyHeaderOf("contacts.add_note"), ...ifMatch },
      params: { contact_id: ContactId },
      payload: AddNote,
      success: Single(Contact),
      error: [Errors.NotFound, Errors.Conflict, Errors.PreconditionFailed]
    })
      .annotate(Runs, "contacts.add_note")
      .annotate(Tagged, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "addNote",
          summary: "Add a note to a contact",
          description: "Appends a text to the contact's notes. To replace the notes, update the contact."
        })
      )
      .annotate(Examples.Example, {
        requests: { note: Examples.addNote },
        response: Examples.one(Examples.contact),
        conflict: Texts.notesTooLong(limits.notes_chars_max)
      })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Contacts",
      description: "People with whom the organization communicates, with their identities on the channels."
    })
  )
{}
