/** The endpoint table of the specification (§4), line by line, with what §4.1 to §4.7 and §8 add to it. */
import type { Scope } from "@messaging-crm/core/ApiKeys"

export interface Line {
  readonly operation: string
  readonly scope: Scope
  readonly status: number
  /** The resource of the response; in brackets a list of it. */
  readonly response: string
  readonly query?: ReadonlyArray<string>
  readonly body?: "required" | "optional"
  /** Whether an `Idempotency-Key` must or may be sent. */
  readonly key?: "required" | "optional"
}

const contactFilters = [
  "query",
  "tag_id",
  "owner_user_id",
  "lifecycle_stage",
  "channel",
  // Additions to the specification.
  "phone",
  "email",
  "external_id",
  "updated_since"
]

export const lines: ReadonlyArray<Line> = [
  {
    operation: "GET /contacts",
    scope: "contacts:read",
    status: 200,
    response: "[Contact]",
    query: ["page_size", "cursor", ...contactFilters]
  },
  {
    operation: "POST /contacts",
    scope: "contacts:write",
    status: 201,
    response: "Contact",
    body: "required",
    key: "required"
  },
  // An addition to the specification.
  {
    operation: "POST /contacts/upsert",
    scope: "contacts:write",
    status: 200,
    response: "UpsertedContacts",
    body: "required",
    key: "required"
  },
  { operation: "GET /contacts/{contact_id}", scope: "contacts:read", status: 200, response: "Contact" },
  {
    operation: "PATCH /contacts/{contact_id}",
    scope: "contacts:write",
    status: 200,
    response: "Contact",
    body: "required",
    key: "required"
  },
  {
    operation: "POST /contacts/{contact_id}/notes",
    scope: "contacts:write",
    status: 200,
    response: "Contact",
    body: "required",
    key: "optional"
  },
  { operation: "GET /contact-fields", scope: "contacts:read", status: 200, response: "[ContactField]" },
  {
    operation: "GET /conversations",
    scope: "conversations:read",
    status: 200,
    response: "[Conversation]",
    // The last three are additions to the specification, and so is `reply_window_expires_at`.
    query: ["page_size", "cursor", "status", "assigned_user_id", "unassigned", "contact_id", "channel_id"]
  },
  {
    operation: "POST /conversations",
    scope: "messages:send",
    status: 202,
    response: "Send",
    body: "required",
    key: "required"
  },
  {
    operation: "GET /conversations/{conversation_id}",
    scope: "conversations:read",
    status: 200,
    response: "Conversation"
  },
  {
    operation: "PATCH /conversations/{conversation_id}/assignment",
    scope: "conversations:write",
    status: 200,
    response: "Conversation",
    body: "required",
    key: "required"
  },
  {
    operation: "POST /conversations/{conversation_id}/close",
    scope: "conversations:write",
    status: 200,
    response: "Conversation",
    body: "optional",
    key: "required"
  },
  {
    operation: "POST /conversations/{conversation_id}/reopen",
    scope: "conversations:write",
    status: 200,
    response: "Conversation",
    key: "required"
  },
  {
    operation: "GET /conversations/{conversation_id}/messages",
    scope: "conversations:read",
    status: 200,
    response: "[Message]",
    query: ["cursor"]
  },
  {
    operation: "GET /conversations/{conversation_id}/messages/{message_id}",
    scope: "conversations:read",
    status: 200,
    response: "Message"
  },
  {
    operation: "POST /conversations/{conversation_id}/messages",
    scope: "messages:send",
    status: 202,
    response: "Send",
    body: "required",
    key: "required"
  },
  // An addition to the specification.
  {
    operation: "GET /sends",
    scope: "messages:send",
    status: 200,
    response: "[Send]",
    query: ["page_size", "cursor", "status", "conversation_id", "created_since"]
  },
  { operation: "GET /sends/{send_id}", scope: "messages:send", status: 200, response: "Send" },
  { operation: "GET /channels", scope: "conversations:read", status: 200, response: "[Channel]" },
  { operation: "GET /members", scope: "members:read", status: 200, response: "[Member]" },
  { operation: "GET /tags", scope: "tags:read", status: 200, response: "[Tag]" },
  {
    operation: "POST /tags",
    scope: "contacts:write",
    status: 200,
    response: "Tag",
    body: "required",
    key: "optional"
  },
  { operation: "GET /templates", scope: "templates:read", status: 200, response: "[Template]" },
  // `status` is an addition to the specification: without it, an active webhook may not be among the 100 most recent.
  { operation: "GET /webhooks", scope: "webhooks:manage", status: 200, response: "[Webhook]", query: ["status"] },
  {
    operation: "POST /webhooks",
    scope: "webhooks:manage",
    status: 200,
    response: "CreatedWebhook",
    body: "required",
    key: "optional"
  },
  // Additions to the specification (§9 allows them).
  { operation: "GET /webhooks/{webhook_id}", scope: "webhooks:manage", status: 200, response: "Webhook" },
  {
    operation: "PATCH /webhooks/{webhook_id}",
    scope: "webhooks:manage",
    status: 200,
    response: "Webhook",
    body: "required",
    key: "required"
  },
  {
    operation: "GET /events",
    scope: "webhooks:manage",
    status: 200,
    response: "[Event]",
    query: ["page_size", "cursor", "type", "since", "after", "wait"]
  },
  { operation: "GET /events/{event_id}", scope: "webhooks:manage", status: 200, response: "Event" },
  {
    operation: "POST /webhooks/{webhook_id}/test",
    scope: "webhooks:manage",
    status: 202,
    response: "WebhookDelivery",
    key: "required"
  },
  {
    operation: "POST /webhooks/{webhook_id}/replay",
    scope: "webhooks:manage",
    status: 202,
    response: "WebhookReplay",
    body: "required",
    key: "required"
  },
  {
    operation: "POST /webhooks/{webhook_id}/rotate_secret",
    scope: "webhooks:manage",
    status: 200,
    response: "CreatedWebhook",
    key: "required"
  },
  {
    operation: "DELETE /webhooks/{webhook_id}",
    scope: "webhooks:manage",
    status: 200,
    response: "Webhook",
    key: "required"
  },
  {
    operation: "GET /webhooks/{webhook_id}/deliveries",
    scope: "webhooks:manage",
    status: 200,
    response: "[WebhookDelivery]"
  },
  {
    operation: "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/retry",
    scope: "webhooks:manage",
    status: 202,
    response: "WebhookDelivery",
    key: "required"
  }
]
