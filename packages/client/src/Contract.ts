// Generated from the service's OpenAPI document by `npm run docs`. Not to be edited.

/** Version of this package. */
export const version = "1.0.0"

export interface AddNote {
  /** Appended to the notes after a blank line, unchanged. */
  readonly text: string
}

export interface AssignConversation {
  /** Null unassigns the conversation and does not change the contact's owner. */
  readonly assigned_user_id: string | null
  /** Whether to make the member the contact's owner too. No effect if the conversation is unassigned. */
  readonly sync_contact_owner?: boolean
}

/** The request is invalid; `param` identifies the field, parameter, or header. Nothing was changed. */
export interface BadRequest {
  readonly error: {
    readonly code: "invalid_json" | "invalid_input" | "missing_idempotency_key"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** The body exceeds 64 KiB. */
export interface BodyTooLarge {
  readonly error: {
    readonly code: "body_too_large"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

export interface BodyValues {
  readonly type: "body"
  readonly parameters: ReadonlyArray<TemplateParameter>
}

export interface ButtonValues {
  readonly type: "button"
  /** The kind of the button. */
  readonly sub_type:
    | "quick_reply"
    | "url"
    | "copy_code"
    | "flow"
    | "catalog"
    | "QUICK_REPLY"
    | "URL"
    | "COPY_CODE"
    | "FLOW"
    | "CATALOG"
  /** The position of the button, from 0. */
  readonly index: number | string
  readonly parameters: ReadonlyArray<TemplateParameter>
}

/** A phone number, account, or page of the organization. */
export interface Channel {
  readonly id: string
  /** `phone_messaging` is WhatsApp, `photo_social` is Instagram, `page_messaging` is Messenger. */
  readonly type: "phone_messaging" | "photo_social" | "page_messaging"
  readonly name: string
  /** The phone number, or the name of the account or page. */
  readonly address: string
  /** The account whose templates can be sent on the channel. Null for `photo_social` and `page_messaging` channels. */
  readonly phone_messaging_business_account_id: string | null
  readonly connected_at: string
}

export interface CloseConversation {
  /** Any text. Suggestions: `resolved`, `no_response`, `spam`, `duplicate`, `other`. */
  readonly category?: string | null
}

/** The resource's state does not allow the operation, the Idempotency-Key was used for a different request, or the outcome of the request with that key is not known yet. */
export interface Conflict {
  readonly error: {
    readonly code: "conflict" | "idempotency_conflict" | "request_processing"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** A person in the CRM. */
export interface Contact {
  readonly id: string
  readonly first_name: string | null
  readonly last_name: string | null
  readonly primary_email: string | null
  /** `+` and digits, with country code. Not unique. */
  readonly primary_phone: string | null
  readonly company: string | null
  readonly job_title: string | null
  /** A calendar date, `YYYY-MM-DD`. */
  readonly birthday: string | null
  readonly city: string | null
  /** State, province, or region. */
  readonly region: string | null
  readonly country: string | null
  readonly street_address: string | null
  readonly postal_code: string | null
  readonly website_url: string | null
  /** The person's profile on a professional network. */
  readonly network_url: string | null
  /** Where the contact came from. */
  readonly source: string | null
  /** Free text. */
  readonly notes: string | null
  /** The member who owns the contact. */
  readonly owner_user_id: string | null
  /** The contact's state in the sales process. */
  readonly lead_status:
    | "new"
    | "open"
    | "in_progress"
    | "open_deal"
    | "unqualified"
    | "attempted_to_contact"
    | "connected"
    | "bad_timing"
    | null
  /** The contact's stage on the way from subscriber to customer. */
  readonly lifecycle_stage:
    | "subscriber"
    | "lead"
    | "marketing_qualified"
    | "sales_qualified"
    | "opportunity"
    | "customer"
    | "evangelist"
    | "other"
    | null
  /** Values of the fields that the organization has defined, by contact field ID. */
  readonly custom_values: Readonly<Record<string, string>>
  /** The contact's network accounts, ordered by ID. */
  readonly identities: ReadonlyArray<Identity>
  readonly tags: ReadonlyArray<Tag>
  readonly last_activity_at: string | null
  /** The beginning of the last message. */
  readonly last_activity_preview: string | null
  readonly last_conversation_id: string | null
  /** Changed by edits, notes, tags, and new messages. Never decreases. Lists of contacts are ordered by it. */
  readonly updated_at: string
}

/** A contact was created. Imports without `--update` do not raise this event. */
export interface ContactCreatedEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "contact.created"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    /** The contact's last conversation; null if it has none. */
    readonly conversation_id: string | null
    readonly contact_id: string
    /** Only for a webhook with `include_resource`. */
    readonly contact?: Contact
  }
}

/** A field that the organization has defined. A contact's `custom_values` contains its value. */
export interface ContactField {
  readonly id: string
  /** A slug, unique in the organization. */
  readonly key: string
  readonly name: string
  /** The type of accepted values. Every value is written as a string. */
  readonly type: "text" | "number" | "date" | "boolean" | "select" | "url"
  /** The choices of a `select`, null for every other type. */
  readonly options: ReadonlyArray<string> | null
  readonly created_at: string
}

/** Fields of a contact changed. `changed_fields` names them. */
export interface ContactUpdatedEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "contact.updated"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    /** The contact's last conversation; null if it has none. */
    readonly conversation_id: string | null
    readonly contact_id: string
    /** Names of fields of the contact. */
    readonly changed_fields: ReadonlyArray<string>
    /** Only for a webhook with `include_resource`. */
    readonly contact?: Contact
  }
}

/** The thread between one contact and the organization on one channel. A phone number has one conversation per channel. */
export interface Conversation {
  readonly id: string
  readonly channel: {
    readonly id: string
    /** `phone_messaging` is WhatsApp, `photo_social` is Instagram, `page_messaging` is Messenger. */
    readonly type: "phone_messaging" | "photo_social" | "page_messaging"
  }
  readonly contact: {
    readonly id: string
    readonly display_name: string | null
    /** The network's ID for the contact on this channel; on `phone_messaging`, the number if the network provides it. */
    readonly external_id: string | null
    readonly username: string | null
  }
  readonly status: "open" | "closed"
  /** Why it was closed; null while it is open. */
  readonly close_category: string | null
  /** The member to whom it is assigned. */
  readonly assigned_user_id: string | null
  /** The automatic agent to which it is assigned. */
  readonly agent_id: string | null
  readonly created_at: string
  readonly opened_at: string
  /** Null while it is open. */
  readonly closed_at: string | null
  readonly last_activity_at: string
  /** The beginning of the last message. */
  readonly last_activity_preview: string | null
  /** When the reply window closes: 24 hours after the contact's last message; null before the first message. */
  readonly reply_window_expires_at: string | null
}

/** A conversation was assigned to a member, or unassigned. */
export interface ConversationAssignedEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "conversation.assigned"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    readonly conversation_id: string
    readonly assigned_user_id: string | null
    /** Only for a webhook with `include_resource`. */
    readonly conversation?: Conversation
  }
}

/** A conversation was closed. */
export interface ConversationClosedEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "conversation.closed"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    readonly conversation_id: string
    /** Only for a webhook with `include_resource`. */
    readonly conversation?: Conversation
  }
}

/** A conversation was created, or a closed one was reopened. */
export interface ConversationOpenedEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "conversation.opened"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    readonly conversation_id: string
    /** Only for a webhook with `include_resource`. */
    readonly conversation?: Conversation
  }
}

/** A name, phone, or email is required. One-line texts are trimmed; an empty text is stored as null. */
export interface CreateContact {
  readonly first_name?: string | null
  readonly last_name?: string | null
  readonly primary_email?: string | null
  /** One phone number with `+` and its country code. Spaces and `()-./` between groups of digits are ignored, `00` is read as `+`, and invisible characters are removed. Digits alone are accepted only if they are certain to begin with the country code, and a number as it is dialed within a country only if it is the organization's default country. */
  readonly primary_phone?: string | null
  readonly company?: string | null
  readonly job_title?: string | null
  /** A calendar date, `YYYY-MM-DD`. */
  readonly birthday?: string | null
  readonly city?: string | null
  /** State, province, or region. */
  readonly region?: string | null
  readonly country?: string | null
  readonly street_address?: string | null
  readonly postal_code?: string | null
  readonly website_url?: string | null
  /** The person's profile on a professional network. */
  readonly network_url?: string | null
  /** Where the contact came from. */
  readonly source?: string | null
  /** Free text. */
  readonly notes?: string | null
  /** The member who owns the contact. */
  readonly owner_user_id?: string | null
  /** The contact's state in the sales process. */
  readonly lead_status?:
    | "new"
    | "open"
    | "in_progress"
    | "open_deal"
    | "unqualified"
    | "attempted_to_contact"
    | "connected"
    | "bad_timing"
    | null
  /** The contact's stage on the way from subscriber to customer. */
  readonly lifecycle_stage?:
    | "subscriber"
    | "lead"
    | "marketing_qualified"
    | "sales_qualified"
    | "opportunity"
    | "customer"
    | "evangelist"
    | "other"
    | null
  /** Values by contact field ID. Only the fields that you send change: an absent field keeps its value, `null` removes its value, and `null` for the whole object removes all. */
  readonly custom_values?: Readonly<Record<string, string | null>> | null
  /** Replaces the whole set of tags; `null` removes all. */
  readonly tag_ids?: ReadonlyArray<string> | null
}

export interface CreateTag {
  /** Trimmed. Unique in the organization, regardless of case. */
  readonly name: string
  readonly color:
    | "gray"
    | "red"
    | "orange"
    | "amber"
    | "green"
    | "teal"
    | "blue"
    | "indigo"
    | "purple"
    | "pink"
}

export interface CreateWebhook {
  /** A public https endpoint: a host name, no user, no fragment, port 443 or above 1023. It is stored in ASCII, as WHATWG URL serializes it. */
  readonly url: string
  readonly event_types: ReadonlyArray<
    | "message.received"
    | "message.sent"
    | "message.updated"
    | "send.failed"
    | "conversation.closed"
    | "conversation.opened"
    | "conversation.assigned"
    | "contact.created"
    | "contact.updated"
    | "webhook.disabled">
  /** Whether `data` of its events contains the message, conversation, or contact as it was when the event was raised. */
  readonly include_resource?: boolean
}

/** A subscription with its new signing secret. */
export interface CreatedWebhook {
  readonly id: string
  readonly url: string
  readonly event_types: ReadonlyArray<
    | "message.received"
    | "message.sent"
    | "message.updated"
    | "send.failed"
    | "conversation.closed"
    | "conversation.opened"
    | "conversation.assigned"
    | "contact.created"
    | "contact.updated"
    | "webhook.disabled">
  /** Whether `data` of its events contains the message, conversation, or contact. */
  readonly include_resource: boolean
  /** `disabled` by a request, by a 410 response, or after five days without a success; permanent. */
  readonly status: "active" | "disabled"
  readonly created_at: string
  /** Null while it is active. */
  readonly disabled_at: string | null
  /** The secret that signs every event (Standard Webhooks). Returned only once, so store it. */
  readonly signing_secret: string
}

export interface CurrencyParameter {
  readonly type: "currency"
  readonly currency: {
    /** The text that replaces the placeholder. */
    readonly fallback_value: string
    /** An ISO 4217 code. */
    readonly code: string
    /** The amount multiplied by 1,000. */
    readonly amount_1000: number
  }
  /** The placeholder's name, in a template with named placeholders. */
  readonly parameter_name?: string
}

export interface DateTimeParameter {
  readonly type: "date_time"
  readonly date_time: {
    /** The text that replaces the placeholder. */
    readonly fallback_value: string
  }
  /** The placeholder's name, in a template with named placeholders. */
  readonly parameter_name?: string
}

export interface DocumentParameter {
  readonly type: "document"
  readonly document: {
    /** An https link from which the network loads the file. */
    readonly link: string
    /** The name that the recipient sees. */
    readonly filename?: string
  }
}

/** A change, with the IDs of the changed resources. */
export type Event =
  | MessageReceivedEvent
  | MessageSentEvent
  | MessageUpdatedEvent
  | SendFailedEvent
  | ConversationClosedEvent
  | ConversationOpenedEvent
  | ConversationAssignedEvent
  | ContactCreatedEvent
  | ContactUpdatedEvent
  | WebhookDisabledEvent
  | WebhookTestEvent

/** The file of a message, without a link. */
export interface EventMedia {
  readonly kind: "image" | "video" | "audio" | "document" | "sticker"
  readonly mime_type: string | null
  readonly filename: string | null
  readonly byte_size: number | null
  /** The transcript of an audio or video file, if the provider transcribes it. */
  readonly transcript: string | null
}

/** A message as it was when the event was raised. */
export interface EventMessage {
  readonly id: string
  readonly conversation_id: string
  /** `inbound` from the contact, `outbound` from the organization. */
  readonly direction: "inbound" | "outbound"
  /** Values: `text`, `template`, `image`, `video`, `audio`, `document`, `sticker`, `location`, `contacts`, `interactive`, `reaction`, `unsupported`. New values can appear within a version. */
  readonly type: string
  /** The text, the caption, or the template with its values. */
  readonly text: string | null
  readonly sender: Sender
  /** Inbound messages: `received`. Outbound messages only move forward: `sent`, `delivered`, `read`; or `failed`, which a later `delivered` or `read` replaces. */
  readonly status: "received" | "sent" | "delivered" | "read" | "failed"
  readonly media: EventMedia | null
  readonly details: MessageDetails | null
  /** The messaging provider's ID for the message. */
  readonly provider_message_id: string | null
  readonly created_at: string
  readonly sent_at: string | null
  readonly delivered_at: string | null
  readonly read_at: string | null
  readonly failed_at: string | null
  readonly edited_at: string | null
  readonly deleted_at: string | null
}

/** The API key lacks the operation's scope. */
export interface Forbidden {
  readonly error: {
    readonly code: "insufficient_scope"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** Events after the cursor may be missing. */
export interface Gone {
  readonly error: {
    readonly code: "cursor_expired"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

export interface HeaderValues {
  readonly type: "header"
  readonly parameters: ReadonlyArray<TemplateParameter>
}

/** A contact's account on one type of channel. */
export interface Identity {
  readonly id: string
  /** `phone_messaging` is WhatsApp, `photo_social` is Instagram, `page_messaging` is Messenger. */
  readonly channel_type: "phone_messaging" | "photo_social" | "page_messaging"
  /** The network's ID for the person; on `phone_messaging`, the number if the network provides it. */
  readonly external_id: string
  readonly display_name: string | null
  readonly username: string | null
  /** When the person stopped marketing messages on the network; null if they did not, or resumed them. */
  readonly marketing_opt_out_at: string | null
  /** When the person resumed marketing messages after they had stopped them; null otherwise. */
  readonly marketing_opt_in_at: string | null
}

export interface ImageParameter {
  readonly type: "image"
  readonly image: {
    /** An https link from which the network loads the file. */
    readonly link: string
  }
}

/** The organization used up its storage for idempotency records, events, and webhook deliveries. Reads still work, and so do retries whose response is already recorded. */
export interface InsufficientStorage {
  readonly error: {
    readonly code: "storage_exhausted"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** An internal error occurred. You can safely retry a read. Retry a write only with the same Idempotency-Key. Before you retry a write without an Idempotency-Key, read the resource. */
export interface InternalError {
  readonly error: {
    readonly code: "internal_error"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** A parameter, field, or reference is invalid; `param` identifies it. Nothing was changed. */
export interface InvalidInput {
  readonly error: {
    readonly code: "invalid_input"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** The Idempotency-Key was used for a different request, or the outcome of the request with that key is not known yet. */
export interface KeyConflict {
  readonly error: {
    readonly code: "idempotency_conflict" | "request_processing"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** The file of a message. */
export interface Media {
  readonly kind: "image" | "video" | "audio" | "document" | "sticker"
  readonly mime_type: string | null
  readonly filename: string | null
  readonly byte_size: number | null
  /** The transcript of an audio or video file, if the provider transcribes it. */
  readonly transcript: string | null
  /** A link to the file. It is valid for one hour and needs no API key. Each read of the message returns a new link. An organization can have 8 downloads in progress; further ones get 503 with `Retry-After`. Null if the file is not stored because it exceeds 16 MB or the provider did not deliver it. */
  readonly url: string | null
}

/** A person who works for the organization, owns contacts, and is assigned conversations. */
export interface Member {
  readonly id: string
  readonly name: string
  readonly email: string
  /** Owners and admins can have API keys. */
  readonly role: "owner" | "admin" | "member"
  readonly created_at: string
}

/** A message of a conversation. `created_at` is the time at which the service stored it; the other times are the provider's. */
export interface Message {
  readonly id: string
  readonly conversation_id: string
  /** `inbound` from the contact, `outbound` from the organization. */
  readonly direction: "inbound" | "outbound"
  /** Values: `text`, `template`, `image`, `video`, `audio`, `document`, `sticker`, `location`, `contacts`, `interactive`, `reaction`, `unsupported`. New values can appear within a version. */
  readonly type: string
  /** The text, the caption, or the template with its values. */
  readonly text: string | null
  readonly sender: Sender
  /** Inbound messages: `received`. Outbound messages only move forward: `sent`, `delivered`, `read`; or `failed`, which a later `delivered` or `read` replaces. */
  readonly status: "received" | "sent" | "delivered" | "read" | "failed"
  readonly media: Media | null
  readonly details: MessageDetails | null
  /** The messaging provider's ID for the message. */
  readonly provider_message_id: string | null
  readonly created_at: string
  readonly sent_at: string | null
  readonly delivered_at: string | null
  readonly read_at: string | null
  readonly failed_at: string | null
  readonly edited_at: string | null
  readonly deleted_at: string | null
}

/** Contents of a message in addition to its text and its file. More parts and fields can appear. */
export interface MessageDetails {
  /** The option that the contact chose in a message with buttons or a list, a template, a menu, or quick replies. */
  readonly choice?: {
    /** Values: `button`, `list_row`, `template_button`, `postback`, `quick_reply`. New values can appear within a version. */
    readonly kind: string
    readonly id: string | null
    readonly title: string | null
    readonly description: string | null
    readonly payload: string | null
  }
  /** A location. */
  readonly location?: {
    readonly latitude: number | null
    readonly longitude: number | null
    readonly name: string | null
    readonly address: string | null
    readonly url: string | null
  }
  /** The people whose contact data the message contains. */
  readonly contacts?: ReadonlyArray<{
    readonly name: string | null
    readonly organization: string | null
    readonly department: string | null
    readonly job_title: string | null
    readonly birthday: string | null
    readonly phones: ReadonlyArray<{
      readonly type: string | null
      readonly value: string
      readonly external_id: string | null
    }>
    readonly emails: ReadonlyArray<{
      readonly type: string | null
      readonly value: string
    }>
    readonly urls: ReadonlyArray<{
      readonly type: string | null
      readonly value: string
    }>
    readonly addresses: ReadonlyArray<{
      readonly type: string | null
      readonly value: string
    }>
  }>
  /** A reaction to a message, or the removal of one: `emoji` is then null. */
  readonly reaction?: {
    /** Values: `react`, `unreact`. New values can appear within a version. */
    readonly action: string
    readonly emoji: string | null
    readonly provider_message_id: string | null
  }
  /** A shopping cart. */
  readonly order?: {
    readonly catalog_id: string | null
    readonly text: string | null
    readonly items: ReadonlyArray<{
      readonly product_id: string | null
      readonly quantity: number | null
      readonly price: number | null
      readonly currency: string | null
    }>
  }
  /** The responses to a form (a flow). `response` is null if it is not a JSON object. */
  readonly flow?: {
    readonly name: string | null
    readonly response: Readonly<Record<string, unknown>> | null
  }
  /** The story that the contact replied to, or that mentions the business. */
  readonly story?: {
    /** Values: `reply`, `mention`. New values can appear within a version. */
    readonly action: string
    readonly id: string | null
    readonly url: string | null
  }
  /** Shared posts, reels, stories, products, and links. */
  readonly shares?: ReadonlyArray<{
    readonly type: string
    readonly id: string | null
    readonly title: string | null
    readonly url: string | null
  }>
  /** The product that the message is about. */
  readonly product?: {
    readonly catalog_id: string | null
    readonly product_id: string | null
  }
  /** The message that this one replies to, by the provider's ID. */
  readonly quoted?: {
    readonly provider_message_id: string
    readonly from: string | null
  }
  /** How the message was forwarded. */
  readonly forwarded?: {
    readonly many_times: boolean
  }
  /** The ad, post, or link that led the contact to this message. */
  readonly referral?: {
    readonly source: string | null
    readonly type: string | null
    readonly id: string | null
    readonly url: string | null
    readonly ref: string | null
    readonly headline: string | null
    readonly body: string | null
    readonly media_url: string | null
    readonly click_id: string | null
    readonly product_id: string | null
    readonly greeting: string | null
  }
  /** Why the message failed after the provider had accepted it. */
  readonly failure?: {
    /** The error code of the network. */
    readonly code: number | null
    readonly title: string | null
    readonly description: string | null
  }
  /** The network's name for the type of a message whose `type` is `unsupported`. */
  readonly provider_type?: string
  /** Contents that no other part describes, in the network's own form, such as the choices of a poll. */
  readonly provider_data?: Readonly<Record<string, unknown>>
  /** True if parts or items are missing because the details were too large. */
  readonly is_truncated?: boolean
}

/** A contact sent a message. */
export interface MessageReceivedEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "message.received"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    readonly conversation_id: string
    readonly message_id: string
    /** Only for a webhook with `include_resource`. */
    readonly message?: EventMessage
  }
}

/** The messaging provider accepted an outbound message, or someone in the organization wrote one in the network's own app, such as the WhatsApp Business app. */
export interface MessageSentEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "message.sent"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    readonly conversation_id: string
    readonly message_id: string
    /** Only for a webhook with `include_resource`. */
    readonly message?: EventMessage
  }
}

/** A message was delivered, read, edited, or deleted, or it failed. `status` identifies the change. */
export interface MessageUpdatedEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "message.updated"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    readonly conversation_id: string
    readonly message_id: string
    readonly status: "delivered" | "read" | "failed" | "edited" | "deleted"
    /** Only for a webhook with `include_resource`. */
    readonly message?: EventMessage
  }
}

/** The organization has no resource with this ID. */
export interface NotFound {
  readonly error: {
    readonly code: "not_found"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

export interface PayloadParameter {
  readonly type: "payload"
  /** If the recipient chooses the quick reply, `details.choice` of their message contains this payload. */
  readonly payload: string
}

/** The contact does not match `If-Match`: it has changed since it was read. Nothing was changed, and the Idempotency-Key can be used again. */
export interface PreconditionFailed {
  readonly error: {
    readonly code: "precondition_failed"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** The messaging provider is unavailable. */
export interface ProviderUnavailable {
  readonly error: {
    readonly code: "provider_unavailable"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

export interface ReplayWebhook {
  /** Events raised at this time or later are posted again. The time must be within the last 30 days. */
  readonly since: string
}

/** The search took too long. */
export interface SearchTimeout {
  readonly error: {
    readonly code: "search_timeout"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** An accepted request to send a message, which a worker passes to the messaging provider. */
export interface Send {
  readonly id: string
  readonly conversation_id: string
  /** `queued`, then `sending`, then `sent` or `failed`. `unknown` if the provider's response was lost: the service does not resend, and the send becomes `sent` or `failed` within 15 minutes. A send that failed with `outcome_unknown` becomes `sent` if a report proves later that the provider accepted it. */
  readonly status: "queued" | "sending" | "sent" | "failed" | "unknown"
  /** Set if and only if the status is `sent`. */
  readonly message_id: string | null
  /** Set if and only if the status is `failed`. */
  readonly failure_reason:
    | "recipient_unreachable"
    | "recipient_opted_out"
    | "reply_window_closed"
    | "template_not_found"
    | "template_not_approved"
    | "template_invalid"
    | "rate_limited"
    | "channel_blocked"
    | "provider_auth"
    | "provider_rejected"
    | "provider_unavailable"
    | "outcome_unknown"
    | null
  readonly created_at: string
}

/** A send ended without becoming a message. */
export interface SendFailedEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "send.failed"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    readonly conversation_id: string
    readonly send_id: string
    readonly failure_reason:
      | "recipient_unreachable"
      | "recipient_opted_out"
      | "reply_window_closed"
      | "template_not_found"
      | "template_not_approved"
      | "template_invalid"
      | "rate_limited"
      | "channel_blocked"
      | "provider_auth"
      | "provider_rejected"
      | "provider_unavailable"
      | "outcome_unknown"
  }
}

export type SendMessage = SendText | SendTemplate

/** At any time, on a phone-messaging channel. */
export interface SendTemplate {
  readonly type: "template"
  readonly template: TemplateChoice
}

/** Inside the reply window: 24 hours after the contact's last message. */
export interface SendText {
  readonly type: "text"
  readonly text: string
}

/** The author of a message. */
export interface Sender {
  /** The sender of a message sent through the API is the member for whom the API key was created. `business_app` means that the message was written in the network's own app. */
  readonly type: "contact" | "member" | "agent" | "system" | "business_app"
  readonly name: string | null
}

export interface StartConversation {
  /** A phone-messaging channel. */
  readonly channel_id: string
  /** One phone number with `+` and its country code. Spaces and `()-./` between groups of digits are ignored, `00` is read as `+`, and invisible characters are removed. Digits alone are accepted only if they are certain to begin with the country code, and a number as it is dialed within a country only if it is the organization's default country. */
  readonly phone: string
  readonly template: TemplateChoice
}

/** A colored label for contacts. */
export interface Tag {
  readonly id: string
  /** Trimmed. Unique in the organization, regardless of case. */
  readonly name: string
  readonly color:
    | "gray"
    | "red"
    | "orange"
    | "amber"
    | "green"
    | "teal"
    | "blue"
    | "indigo"
    | "purple"
    | "pink"
}

/** A message template of the messaging provider, which approves or rejects it. */
export interface Template {
  /** Opaque; not a UUID. */
  readonly id: string
  readonly name: string
  readonly language: string
  /** Set by the provider: `MARKETING`, `UTILITY`, or `AUTHENTICATION`. New values can appear. */
  readonly category: string
  /** Set by the provider: `APPROVED`, `PENDING`, `REJECTED`, `PAUSED`, `DISABLED`, or another value. New values can appear. Only an `APPROVED` template can be sent. */
  readonly status: string
  /** The template can be sent on the channels of this account. */
  readonly phone_messaging_business_account_id: string
  /** Set by the provider: `POSITIONAL` or `NAMED`. New values can appear. */
  readonly parameter_format: string
  readonly components: ReadonlyArray<TemplateComponent>
}

export interface TemplateButton {
  readonly type: string
  readonly text: string | null
  readonly url: string | null
}

/** A template, and the values for its placeholders. */
export interface TemplateChoice {
  readonly id: string
  /** The values for each part that has placeholders, by position or by name. */
  readonly components: ReadonlyArray<HeaderValues | BodyValues | ButtonValues>
}

export interface TemplateComponent {
  /** Upper case: `HEADER`, `BODY`, `FOOTER`, or `BUTTONS`. New values can appear. */
  readonly type: string
  /** With placeholders, numbered as in `{{1}}` or named as in `{{first_name}}`. */
  readonly text: string | null
  /** The format of a header: `TEXT`, `IMAGE`, `VIDEO`, `DOCUMENT`, or another value. New values can appear. */
  readonly format: string | null
  readonly buttons: ReadonlyArray<TemplateButton> | null
}

export type TemplateParameter =
  | TextParameter
  | CurrencyParameter
  | DateTimeParameter
  | ImageParameter
  | VideoParameter
  | DocumentParameter
  | PayloadParameter

export interface TextParameter {
  readonly type: "text"
  readonly text: string
  /** The placeholder's name, in a template with named placeholders. */
  readonly parameter_name?: string
}

/** The API key exceeded its rate limit, or too many requests of its organization wait for events. */
export interface TooManyRequests {
  readonly error: {
    readonly code: "rate_limited"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** The API key is missing, invalid, expired, or revoked, or the member for whom it was created is no longer an owner or admin. */
export interface Unauthorized {
  readonly error: {
    readonly code: "unauthorized"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** The body is not `application/json`. */
export interface UnsupportedMediaType {
  readonly error: {
    readonly code: "unsupported_media_type"
    /** Human-readable text. Its wording can change, so do not parse it. */
    readonly message: string
    /** Name of the invalid parameter or header, or dotted path of the invalid field; null if the error concerns none. */
    readonly param: string | null
    /** The response's `X-Request-Id`; in a replay, that of the original response. */
    readonly request_id: string
  }
}

/** An absent field keeps its value; `null` clears it. */
export interface UpdateContact {
  readonly first_name?: string | null
  readonly last_name?: string | null
  readonly primary_email?: string | null
  /** One phone number with `+` and its country code. Spaces and `()-./` between groups of digits are ignored, `00` is read as `+`, and invisible characters are removed. Digits alone are accepted only if they are certain to begin with the country code, and a number as it is dialed within a country only if it is the organization's default country. */
  readonly primary_phone?: string | null
  readonly company?: string | null
  readonly job_title?: string | null
  /** A calendar date, `YYYY-MM-DD`. */
  readonly birthday?: string | null
  readonly city?: string | null
  /** State, province, or region. */
  readonly region?: string | null
  readonly country?: string | null
  readonly street_address?: string | null
  readonly postal_code?: string | null
  readonly website_url?: string | null
  /** The person's profile on a professional network. */
  readonly network_url?: string | null
  /** Where the contact came from. */
  readonly source?: string | null
  /** Free text. */
  readonly notes?: string | null
  /** The member who owns the contact. */
  readonly owner_user_id?: string | null
  /** The contact's state in the sales process. */
  readonly lead_status?:
    | "new"
    | "open"
    | "in_progress"
    | "open_deal"
    | "unqualified"
    | "attempted_to_contact"
    | "connected"
    | "bad_timing"
    | null
  /** The contact's stage on the way from subscriber to customer. */
  readonly lifecycle_stage?:
    | "subscriber"
    | "lead"
    | "marketing_qualified"
    | "sales_qualified"
    | "opportunity"
    | "customer"
    | "evangelist"
    | "other"
    | null
  /** Values by contact field ID. Only the fields that you send change: an absent field keeps its value, `null` removes its value, and `null` for the whole object removes all. */
  readonly custom_values?: Readonly<Record<string, string | null>> | null
  /** Replaces the whole set of tags; `null` removes all. */
  readonly tag_ids?: ReadonlyArray<string> | null
  /** Tags to add. Cannot be combined with `tag_ids`. */
  readonly add_tag_ids?: ReadonlyArray<string>
  /** Tags to remove. Cannot be combined with `tag_ids`. */
  readonly remove_tag_ids?: ReadonlyArray<string>
}

/** An absent field keeps its value. */
export interface UpdateWebhook {
  /** A public https endpoint: a host name, no user, no fragment, port 443 or above 1023. It is stored in ASCII, as WHATWG URL serializes it. */
  readonly url?: string
  readonly event_types?: ReadonlyArray<
    | "message.received"
    | "message.sent"
    | "message.updated"
    | "send.failed"
    | "conversation.closed"
    | "conversation.opened"
    | "conversation.assigned"
    | "contact.created"
    | "contact.updated"
    | "webhook.disabled">
  /** Whether `data` of its events contains the message, conversation, or contact as it was when the event was raised. */
  readonly include_resource?: boolean
}

/** The field that `match` names, and the fields to set. An absent field keeps its value; `null` clears it. */
export interface UpsertContact {
  readonly first_name?: string | null
  readonly last_name?: string | null
  readonly primary_email?: string | null
  /** One phone number with `+` and its country code. Spaces and `()-./` between groups of digits are ignored, `00` is read as `+`, and invisible characters are removed. Digits alone are accepted only if they are certain to begin with the country code, and a number as it is dialed within a country only if it is the organization's default country. */
  readonly primary_phone?: string | null
  readonly company?: string | null
  readonly job_title?: string | null
  /** A calendar date, `YYYY-MM-DD`. */
  readonly birthday?: string | null
  readonly city?: string | null
  /** State, province, or region. */
  readonly region?: string | null
  readonly country?: string | null
  readonly street_address?: string | null
  readonly postal_code?: string | null
  readonly website_url?: string | null
  /** The person's profile on a professional network. */
  readonly network_url?: string | null
  /** Where the contact came from. */
  readonly source?: string | null
  /** Free text. */
  readonly notes?: string | null
  /** The member who owns the contact. */
  readonly owner_user_id?: string | null
  /** The contact's state in the sales process. */
  readonly lead_status?:
    | "new"
    | "open"
    | "in_progress"
    | "open_deal"
    | "unqualified"
    | "attempted_to_contact"
    | "connected"
    | "bad_timing"
    | null
  /** The contact's stage on the way from subscriber to customer. */
  readonly lifecycle_stage?:
    | "subscriber"
    | "lead"
    | "marketing_qualified"
    | "sales_qualified"
    | "opportunity"
    | "customer"
    | "evangelist"
    | "other"
    | null
  /** Values by contact field ID. Only the fields that you send change: an absent field keeps its value, `null` removes its value, and `null` for the whole object removes all. */
  readonly custom_values?: Readonly<Record<string, string | null>> | null
  /** Replaces the whole set of tags; `null` removes all. */
  readonly tag_ids?: ReadonlyArray<string> | null
  readonly external_id?: string
}

export interface UpsertContacts {
  /** The field by which each contact is found. */
  readonly match: "primary_phone" | "primary_email" | "external_id"
  /** The type of channel of each `external_id`. Required if `match` is `external_id`; otherwise not allowed. */
  readonly channel_type?: "phone_messaging" | "photo_social" | "page_messaging"
  readonly contacts: ReadonlyArray<UpsertContact>
}

export interface UpsertedContacts {
  /** The outcome of each contact, in the order of the request. */
  readonly results: ReadonlyArray<{
    readonly outcome: "created" | "updated" | "unchanged" | "failed"
    /** Null if and only if it failed. */
    readonly contact_id: string | null
    /** Set if and only if it failed. */
    readonly error: {
      readonly code: "conflict" | "invalid_input" | "not_found"
      readonly message: string
      /** The field of the contact that is wrong. */
      readonly param: string | null
    } | null
  }>
}

export interface VideoParameter {
  readonly type: "video"
  readonly video: {
    /** An https link from which the network loads the file. */
    readonly link: string
  }
}

/** A subscription that sends selected event types to one URL. */
export interface Webhook {
  readonly id: string
  readonly url: string
  readonly event_types: ReadonlyArray<
    | "message.received"
    | "message.sent"
    | "message.updated"
    | "send.failed"
    | "conversation.closed"
    | "conversation.opened"
    | "conversation.assigned"
    | "contact.created"
    | "contact.updated"
    | "webhook.disabled">
  /** Whether `data` of its events contains the message, conversation, or contact. */
  readonly include_resource: boolean
  /** `disabled` by a request, by a 410 response, or after five days without a success; permanent. */
  readonly status: "active" | "disabled"
  readonly created_at: string
  /** Null while it is active. */
  readonly disabled_at: string | null
}

/** One event for one webhook, with its attempts. */
export interface WebhookDelivery {
  readonly id: string
  readonly webhook_id: string
  /** The event's `id`, and its `webhook-id` header. */
  readonly event_id: string
  readonly event_type:
    | "message.received"
    | "message.sent"
    | "message.updated"
    | "send.failed"
    | "conversation.closed"
    | "conversation.opened"
    | "conversation.assigned"
    | "contact.created"
    | "contact.updated"
    | "webhook.disabled"
    | "webhook.test"
  /** `succeeded` after an attempt with a 2xx response. */
  readonly status: "pending" | "succeeded" | "failed"
  readonly attempt_count: number
  /** Status of the last attempt; null if there was no response. */
  readonly response_status: number | null
  /** First 4 KiB of the last attempt's response. */
  readonly response_body: string | null
  /** Why the last attempt failed. */
  readonly failure_code:
    | "dns_error"
    | "blocked_address"
    | "connection_refused"
    | "connection_reset"
    | "tls_error"
    | "timeout"
    | "protocol_error"
    | "http_status"
    | "webhook_disabled"
    | null
  /** Duration of the last attempt, in milliseconds. */
  readonly duration_ms: number | null
  readonly last_attempt_at: string | null
  /** Null once the delivery has ended. */
  readonly next_attempt_at: string | null
  readonly created_at: string
}

/** Another webhook was disabled. */
export interface WebhookDisabledEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "webhook.disabled"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    /** Null, because the event is about no conversation. */
    readonly conversation_id: null
    readonly webhook_id: string
    /** A request disabled it, its endpoint responded with 410, or it had no success for five days. */
    readonly reason: "request" | "gone" | "failing"
  }
}

/** Stored events that are posted to a webhook again. */
export interface WebhookReplay {
  readonly id: string
  readonly webhook_id: string
  /** Events raised at this time or later are posted again. */
  readonly since: string
  /** The time of the request. Events raised at this time or later are not part of the replay. */
  readonly created_at: string
}

/** A client tested the webhook. */
export interface WebhookTestEvent {
  /** Unique per event and identical on every attempt. Use it to discard duplicates. */
  readonly id: string
  readonly type: "webhook.test"
  /** Time of the change. */
  readonly timestamp: string
  readonly data: {
    /** Null, because the event is about no conversation. */
    readonly conversation_id: null
    readonly webhook_id: string
  }
}

/** Why a request was rejected. */
export type ErrorCode =
  | "invalid_json"
  | "invalid_input"
  | "missing_idempotency_key"
  | "body_too_large"
  | "conflict"
  | "idempotency_conflict"
  | "request_processing"
  | "insufficient_scope"
  | "cursor_expired"
  | "storage_exhausted"
  | "internal_error"
  | "not_found"
  | "precondition_failed"
  | "provider_unavailable"
  | "search_timeout"
  | "rate_limited"
  | "unauthorized"
  | "unsupported_media_type"

/** The input and the response of each operation, by its method and path. */
export interface Operations {
  /** List contacts. The key needs the scope `contacts:read`. */
  readonly "GET /contacts": {
    readonly query?: {
      /** The `next_cursor` of the previous page. */
      readonly cursor?: string
      /** Maximum number of items on the page. */
      readonly page_size?: number
      /** Contacts whose name, phone, email, company, or display name or username on a network contains this text, regardless of case. */
      readonly query?: string
      /** Contacts with this tag. */
      readonly tag_id?: string
      /** Contacts that this member owns. */
      readonly owner_user_id?: string
      /** Contacts at this stage. */
      readonly lifecycle_stage?:
        | "subscriber"
        | "lead"
        | "marketing_qualified"
        | "sales_qualified"
        | "opportunity"
        | "customer"
        | "evangelist"
        | "other"
      /** Contacts with an identity on this type of channel; for `phone_messaging`, also contacts with a primary phone. */
      readonly channel?: "phone_messaging" | "photo_social" | "page_messaging"
      /** Contacts with this primary phone, in any format that `primary_phone` accepts. */
      readonly phone?: string
      /** Contacts with this primary email, regardless of case. */
      readonly email?: string
      /** Contacts that have an identity with this network ID. With `channel`, only identities on that type of channel. */
      readonly external_id?: string
      /** Contacts whose `updated_at` is at this time or later. RFC 3339, with any offset. */
      readonly updated_since?: string
    }
    readonly response: {
      readonly data: ReadonlyArray<Contact>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** Create a contact. The key needs the scope `contacts:write`. */
  readonly "POST /contacts": {
    readonly body: CreateContact
    readonly response: {
      readonly data: Contact
    }
  }
  /** Upsert contacts. The key needs the scope `contacts:write`. */
  readonly "POST /contacts/upsert": {
    readonly body: UpsertContacts
    readonly response: {
      readonly data: UpsertedContacts
    }
  }
  /** Get a contact. The key needs the scope `contacts:read`. */
  readonly "GET /contacts/{contact_id}": {
    readonly path: {
      /** The ID of the contact. */
      readonly contact_id: string
    }
    readonly response: {
      readonly data: Contact
    }
  }
  /** Update a contact. The key needs the scope `contacts:write`. */
  readonly "PATCH /contacts/{contact_id}": {
    readonly path: {
      /** The ID of the contact. */
      readonly contact_id: string
    }
    readonly body: UpdateContact
    readonly response: {
      readonly data: Contact
    }
  }
  /** Add a note to a contact. The key needs the scope `contacts:write`. */
  readonly "POST /contacts/{contact_id}/notes": {
    readonly path: {
      /** The ID of the contact. */
      readonly contact_id: string
    }
    readonly body: AddNote
    readonly response: {
      readonly data: Contact
    }
  }
  /** List contact fields. The key needs the scope `contacts:read`. */
  readonly "GET /contact-fields": {
    readonly response: {
      readonly data: ReadonlyArray<ContactField>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** List conversations. The key needs the scope `conversations:read`. */
  readonly "GET /conversations": {
    readonly query?: {
      /** The `next_cursor` of the previous page. */
      readonly cursor?: string
      /** Maximum number of items on the page. */
      readonly page_size?: number
      /** Conversations in this state. */
      readonly status?: "all" | "open" | "closed"
      /** Conversations that are assigned to this member. */
      readonly assigned_user_id?: string
      /** Unassigned conversations. Cannot be combined with `assigned_user_id`. */
      readonly unassigned?: "true"
      /** Conversations with this contact. */
      readonly contact_id?: string
      /** Conversations on this channel. */
      readonly channel_id?: string
    }
    readonly response: {
      readonly data: ReadonlyArray<Conversation>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** Start a conversation. The key needs the scope `messages:send`. */
  readonly "POST /conversations": {
    readonly body: StartConversation
    readonly response: {
      readonly data: Send
    }
  }
  /** Get a conversation. The key needs the scope `conversations:read`. */
  readonly "GET /conversations/{conversation_id}": {
    readonly path: {
      /** The ID of the conversation. */
      readonly conversation_id: string
    }
    readonly response: {
      readonly data: Conversation
    }
  }
  /** Assign a conversation. The key needs the scope `conversations:write`. */
  readonly "PATCH /conversations/{conversation_id}/assignment": {
    readonly path: {
      /** The ID of the conversation. */
      readonly conversation_id: string
    }
    readonly body: AssignConversation
    readonly response: {
      readonly data: Conversation
    }
  }
  /** Close a conversation. The key needs the scope `conversations:write`. */
  readonly "POST /conversations/{conversation_id}/close": {
    readonly path: {
      /** The ID of the conversation. */
      readonly conversation_id: string
    }
    readonly body?: CloseConversation
    readonly response: {
      readonly data: Conversation
    }
  }
  /** Reopen a conversation. The key needs the scope `conversations:write`. */
  readonly "POST /conversations/{conversation_id}/reopen": {
    readonly path: {
      /** The ID of the conversation. */
      readonly conversation_id: string
    }
    readonly response: {
      readonly data: Conversation
    }
  }
  /** List messages. The key needs the scope `conversations:read`. */
  readonly "GET /conversations/{conversation_id}/messages": {
    readonly path: {
      /** The ID of the conversation. */
      readonly conversation_id: string
    }
    readonly query?: {
      /** The `next_cursor` of the previous page. */
      readonly cursor?: string
    }
    readonly response: {
      readonly data: ReadonlyArray<Message>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** Send a message. The key needs the scope `messages:send`. */
  readonly "POST /conversations/{conversation_id}/messages": {
    readonly path: {
      /** The ID of the conversation. */
      readonly conversation_id: string
    }
    readonly body: SendMessage
    readonly response: {
      readonly data: Send
    }
  }
  /** Get a message. The key needs the scope `conversations:read`. */
  readonly "GET /conversations/{conversation_id}/messages/{message_id}": {
    readonly path: {
      /** The ID of the conversation. */
      readonly conversation_id: string
      /** The ID of the message. */
      readonly message_id: string
    }
    readonly response: {
      readonly data: Message
    }
  }
  /** List sends. The key needs the scope `messages:send`. */
  readonly "GET /sends": {
    readonly query?: {
      /** The `next_cursor` of the previous page. */
      readonly cursor?: string
      /** Maximum number of items on the page. */
      readonly page_size?: number
      /** Sends in this state. */
      readonly status?: "queued" | "sending" | "sent" | "failed" | "unknown"
      /** Sends in this conversation. */
      readonly conversation_id?: string
      /** Sends that were accepted at this time or later. RFC 3339, with any offset. */
      readonly created_since?: string
    }
    readonly response: {
      readonly data: ReadonlyArray<Send>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** Get a send. The key needs the scope `messages:send`. */
  readonly "GET /sends/{send_id}": {
    readonly path: {
      /** The ID of the send. */
      readonly send_id: string
    }
    readonly response: {
      readonly data: Send
    }
  }
  /** List channels. The key needs the scope `conversations:read`. */
  readonly "GET /channels": {
    readonly response: {
      readonly data: ReadonlyArray<Channel>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** List members. The key needs the scope `members:read`. */
  readonly "GET /members": {
    readonly response: {
      readonly data: ReadonlyArray<Member>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** List tags. The key needs the scope `tags:read`. */
  readonly "GET /tags": {
    readonly response: {
      readonly data: ReadonlyArray<Tag>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** Create a tag. The key needs the scope `contacts:write`. */
  readonly "POST /tags": {
    readonly body: CreateTag
    readonly response: {
      readonly data: Tag
    }
  }
  /** List templates. The key needs the scope `templates:read`. */
  readonly "GET /templates": {
    readonly response: {
      readonly data: ReadonlyArray<Template>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** List events. The key needs the scope `webhooks:manage`. */
  readonly "GET /events": {
    readonly query?: {
      /** The `next_cursor` of the previous page. */
      readonly cursor?: string
      /** Maximum number of items on the page. */
      readonly page_size?: number
      /** Events of this type. */
      readonly type?:
        | "message.received"
        | "message.sent"
        | "message.updated"
        | "send.failed"
        | "conversation.closed"
        | "conversation.opened"
        | "conversation.assigned"
        | "contact.created"
        | "contact.updated"
        | "webhook.disabled"
        | "webhook.test"
      /** Events raised at this time or later. */
      readonly since?: string
      /** Returns events in the order of commits instead, the oldest first: `start` from the oldest stored event, `now` from the next one, or the `next_cursor` of the page before. Combines with `type`, `page_size`, and `wait` only. */
      readonly after?: string
      /** Seconds for which an empty page with `after` waits for the next events. */
      readonly wait?: number
    }
    readonly response: {
      readonly data: ReadonlyArray<Event>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** Get an event. The key needs the scope `webhooks:manage`. */
  readonly "GET /events/{event_id}": {
    readonly path: {
      /** The ID of the event. */
      readonly event_id: string
    }
    readonly response: {
      readonly data: Event
    }
  }
  /** List webhooks. The key needs the scope `webhooks:manage`. */
  readonly "GET /webhooks": {
    readonly query?: {
      /** Webhooks with this status. */
      readonly status?: "all" | "active" | "disabled"
    }
    readonly response: {
      readonly data: ReadonlyArray<Webhook>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** Create a webhook. The key needs the scope `webhooks:manage`. */
  readonly "POST /webhooks": {
    readonly body: CreateWebhook
    readonly response: {
      readonly data: CreatedWebhook
    }
  }
  /** Get a webhook. The key needs the scope `webhooks:manage`. */
  readonly "GET /webhooks/{webhook_id}": {
    readonly path: {
      /** The ID of the webhook. */
      readonly webhook_id: string
    }
    readonly response: {
      readonly data: Webhook
    }
  }
  /** Update a webhook. The key needs the scope `webhooks:manage`. */
  readonly "PATCH /webhooks/{webhook_id}": {
    readonly path: {
      /** The ID of the webhook. */
      readonly webhook_id: string
    }
    readonly body: UpdateWebhook
    readonly response: {
      readonly data: Webhook
    }
  }
  /** Disable a webhook. The key needs the scope `webhooks:manage`. */
  readonly "DELETE /webhooks/{webhook_id}": {
    readonly path: {
      /** The ID of the webhook. */
      readonly webhook_id: string
    }
    readonly response: {
      readonly data: Webhook
    }
  }
  /** Rotate the signing secret. The key needs the scope `webhooks:manage`. */
  readonly "POST /webhooks/{webhook_id}/rotate_secret": {
    readonly path: {
      /** The ID of the webhook. */
      readonly webhook_id: string
    }
    readonly response: {
      readonly data: CreatedWebhook
    }
  }
  /** List deliveries. The key needs the scope `webhooks:manage`. */
  readonly "GET /webhooks/{webhook_id}/deliveries": {
    readonly path: {
      /** The ID of the webhook. */
      readonly webhook_id: string
    }
    readonly response: {
      readonly data: ReadonlyArray<WebhookDelivery>
      /** The `cursor` of the next page. Null on the last page, and always null for a list without pages. */
      readonly next_cursor: string | null
    }
  }
  /** Retry a delivery. The key needs the scope `webhooks:manage`. */
  readonly "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/retry": {
    readonly path: {
      /** The ID of the webhook. */
      readonly webhook_id: string
      /** The ID of the delivery. */
      readonly delivery_id: string
    }
    readonly response: {
      readonly data: WebhookDelivery
    }
  }
  /** Test a webhook. The key needs the scope `webhooks:manage`. */
  readonly "POST /webhooks/{webhook_id}/test": {
    readonly path: {
      /** The ID of the webhook. */
      readonly webhook_id: string
    }
    readonly response: {
      readonly data: WebhookDelivery
    }
  }
  /** Replay events. The key needs the scope `webhooks:manage`. */
  readonly "POST /webhooks/{webhook_id}/replay": {
    readonly path: {
      /** The ID of the webhook. */
      readonly webhook_id: string
    }
    readonly body: ReplayWebhook
    readonly response: {
      readonly data: WebhookReplay
    }
  }
}
