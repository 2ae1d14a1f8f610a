/**
 * The examples of the OpenAPI document. All are of one story: Kim asks when order 4711 is ready, and Ada answers.
 *
 * Every example is checked by the compiler and by its schema; a request is also
 * sent to the service in a test.
 */
import type { Channel } from "@messaging-crm/core/Channels"
import type { ContactField } from "@messaging-crm/core/ContactFields"
import {
  type AddNote,
  type Contact,
  type CreateContact,
  emptyContact,
  type UpdateContact
} from "@messaging-crm/core/Contacts"
import type { UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import type { Member } from "@messaging-crm/core/Members"
import type { CreateTag, Tag } from "@messaging-crm/core/Tags"
import type { Template } from "@messaging-crm/core/Templates"
import { Context } from "effect"
import { contactAmbiguous, type ErrorText } from "./ErrorTexts.ts"

/** The examples of one operation: request bodies by name, the response, and its error with the code `conflict`. */
export interface Exchange {
  readonly requests?: Readonly<Record<string, unknown>>
  readonly response?: unknown
  /** More response bodies, by name. */
  readonly responses?: Readonly<Record<string, unknown>>
  /** The text of the response as `text/event-stream`. */
  readonly stream?: string
  readonly conflict?: ErrorText
}

/** Endpoint annotation: the examples of the operation. A test checks that every endpoint has them. */
export const Example = Context.Reference<Exchange>("@messaging-crm/adapter-http/api/Examples/Example", {
  defaultValue: () => ({})
})

/** Returns the response body for one resource. */
export const one = (data: unknown) => ({ data })

/** Returns the response body for a list without a further page. */
export const all = (...data: ReadonlyArray<unknown>) => ({ data, next_cursor: null })

/** Returns the response body for a page that is not the last. */
export const page = (...data: ReadonlyArray<unknown>) => ({ data, next_cursor: cursor })

// ------------------------------------------------------------- names

export const cursor =
  "WyJjb250YWN0cyIsIjQ3MTEiLCIyMDI2LTExLTIwVDEwOjAwOjAwLjAwMFoiLCIwMTlhMCJd.Zm9yIHRoZSBzZXJ2aWNlIG9ubHkgdG8gcmVhZA"

/** The IDs of the examples, by the parameter or field that holds them. */
export const ids = {
  contact_id: "019aa0c2-5b00-7000-8000-000000000001",
  conversation_id: "019aa0c2-5b00-7000-8000-000000000002",
  message_id: "019aa0c2-5b00-7000-8000-000000000003",
  send_id: "019aa0c2-5b00-7000-8000-000000000004",
  tag_id: "019aa0c2-5b00-7000-8000-000000000005",
  owner_user_id: "019aa0c2-5b00-7000-8000-000000000006",
  assigned_user_id: "019aa0c2-5b00-7000-8000-000000000006",
  contact_field_id: "019aa0c2-5b00-7000-8000-000000000007",
  channel_id: "019aa0c2-5b00-7000-8000-000000000008",
  template_id: "1203948576",
  webhook_id: "019aa0c2-5b00-7000-8000-000000000009",
  delivery_id: "019aa0c2-5b00-7000-8000-00000000000a",
  event_id: "019aa0c2-5b00-7000-8000-00000000000d"
}

const { channel_id, contact_field_id, template_id } = ids

const account = "1094388291"
export const phone = "+4915112345678"

// --------------------------------------------------------- catalogs

export const tag: typeof Tag.Encoded = { id: ids.tag_id, name: "VIP", color: "amber" }

export const createTag: typeof CreateTag.Encoded = { name: "VIP", color: "amber" }

export const channel: typeof Channel.Encoded = {
  id: channel_id,
  type: "phone_messaging",
  name: "Support",
  address: "+4930123456",
  phone_messaging_business_account_id: account,
  connected_at: "2026-10-01T08:00:00.000Z"
}

export const member: typeof Member.Encoded = {
  id: ids.owner_user_id,
  name: "Ada Lindqvist",
  email: "ada@shop.example",
  role: "owner",
  created_at: "2026-10-01T08:00:00.000Z"
}

export const contactField: typeof ContactField.Encoded = {
  id: contact_field_id,
  key: "favorite_color",
  name: "Favorite color",
  type: "select",
  options: ["red", "green", "blue"],
  created_at: "2026-10-01T08:00:00.000Z"
}

export const template: typeof Template.Encoded = {
  id: template_id,
  name: "order_ready",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  phone_messaging_business_account_id: account,
  parameter_format: "POSITIONAL",
  components: [
    { type: "HEADER", text: "Order {{1}}", format: "TEXT", buttons: null },
    { type: "BODY", text: "Hello {{1}}, your order {{2}} is ready.", format: null, buttons: null },
    {
      type: "BUTTONS",
      text: null,
      format: null,
      buttons: [{ type: "URL", text: "Track it", url: "https://shop.example/orders/{{1}}" }]
    }
  ]
}

// ----------------------------------------------------------- contacts

export const contact: typeof Contact.Encoded = {
  id: ids.contact_id,
  ...emptyContact,
  first_name: "Kim",
  last_name: "Berg",
  primary_email: "kim@berg.example",
  primary_phone: phone,
  company: "Berg & Co",
  job_title: "Buyer",
  birthday: "1990-02-28",
  city: "Berlin",
  country: "Germany",
  postal_code: "10117",
  website_url: "https://berg.example",
  source: "Trade fair",
  notes: "Prefers to be written to in the morning.",
  owner_user_id: ids.owner_user_id,
  lead_status: "connected",
  lifecycle_stage: "customer",
  custom_values: { [contact_field_id]: "blue" },
  identities: [{
    id: "019aa0c2-5b00-7000-8000-00000000000e",
    channel_type: "phone_messaging",
    external_id: phone,
    display_name: "Kim B.",
    username: null,
    marketing_opt_out_at: null,
    marketing_opt_in_at: null
  }],
  tags: [tag],
  last_activity_at: "2026-11-20T10:00:00.000Z",
  last_activity_preview: "Hello Kim, your order 4711 is ready.",
  last_conversation_id: ids.conversation_id,
  updated_at: "2026-11-20T10:00:00.000Z"
}

/** The contact as it is created, before the first message. */
export const newContact: typeof Contact.Encoded = {
  id: contact.id,
  ...emptyContact,
  first_name: contact.first_name,
  last_name: contact.last_name,
  primary_email: contact.primary_email,
  primary_phone: contact.primary_phone,
  company: contact.company,
  lifecycle_stage: "lead",
  updated_at: "2026-11-19T09:00:00.000Z"
}

export const createContact: typeof CreateContact.Encoded = {
  first_name: "Kim",
  last_name: "Berg",
  primary_email: "kim@berg.example",
  primary_phone: "+49 151 12345678",
  company: "Berg & Co",
  lifecycle_stage: "lead"
}

export const updateContact: typeof UpdateContact.Encoded = { job_title: "Buyer", lifecycle_stage: "customer" }

export const upsertContacts: typeof UpsertContacts.Encoded = {
  match: "primary_email",
  contacts: [
    { primary_email: "kim@berg.example", first_name: "Kim", lifecycle_stage: "customer" },
    { primary_email: "noor@shop.example", first_name: "Noor" }
  ]
}

export const upsertedContacts = {
  results: [
    { outcome: "updated", contact_id: ids.contact_id, error: null },
    {
      outcome: "failed",
      contact_id: null,
      error: contactAmbiguous("primary_email")
    }
  ]
}

export const addNote: typeof AddNote.Encoded = { text: "Prefers to be written to in the morning." }
