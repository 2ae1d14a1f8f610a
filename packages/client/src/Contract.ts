// Generated from the service's OpenAPI document by `npm run docs`. Not to be edited.

/** Version of this package. */
export const version = "0.0.0"

export interface AddNote {
  readonly text: string
}

export interface AssignConversation {
  readonly assigned_user_id: string | null
  readonly sync_contact_owner?: boolean
}

/** The request is not valid; `param` names the field, parameter or header at fault. Nothing was changed. */
export interface BadRequest {
  readonly error: {
    readonly code: "invalid_json" | "invalid_input" | "missing_idempotency_key"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

/** The body exceeds 64 KiB. */
export interface BodyTooLarge {
  readonly error: {
    readonly code: "body_too_large"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

export interface Channel {
  readonly id: string
  readonly type: "phone_messaging" | "photo_social" | "page_messaging"
  readonly name: string
  readonly address: string
  readonly phone_messaging_business_account_id: string | null
  readonly connected_at: string
}

export interface CloseConversation {
  readonly category?: string | null
}

/** The state of the resource prevents the operation, or the Idempotency-Key is taken or in use. */
export interface Conflict {
  readonly error: {
    readonly code: "conflict" | "idempotency_conflict" | "request_processing"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

export interface Contact {
  readonly id: string
  readonly first_name: string | null
  readonly last_name: string | null
  readonly primary_email: string | null
  readonly primary_phone: string | null
  readonly company: string | null
  readonly job_title: string | null
  readonly birthday: string | null
  readonly city: string | null
  readonly region: string | null
  readonly country: string | null
  readonly street_address: string | null
  readonly postal_code: string | null
  readonly website_url: string | null
  readonly network_url: string | null
  readonly source: string | null
  readonly notes: string | null
  readonly owner_user_id: string | null
  readonly lead_status:
    | "new"
    | "open"
    | "in_progress"
    | "open_deal"
    | "unqualified"
    | "attempted_to_contact"
    | "connected"
    | "bad_timing" | null
  readonly lifecycle_stage:
    | "subscriber"
    | "lead"
    | "marketing_qualified"
    | "sales_qualified"
    | "opportunity"
    | "customer"
    | "evangelist"
    | "other" | null
  readonly custom_values: Readonly<Record<string, string>>
  readonly identities: ReadonlyArray<Identity>
  readonly tags: ReadonlyArray<Tag>
  readonly last_activity_at: string | null
  readonly last_activity_preview: string | null
  readonly last_conversation_id: string | null
  readonly updated_at: string
}

export interface ContactField {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly type: "text" | "number" | "date" | "boolean" | "select" | "url"
  readonly options: ReadonlyArray<string> | null
  readonly created_at: string
}

export interface Conversation {
  readonly id: string
  readonly channel: {
    readonly id: string
    readonly type: "phone_messaging" | "photo_social" | "page_messaging"
  }
  readonly contact: {
    readonly id: string
    readonly display_name: string | null
    readonly external_id: string | null
    readonly username: string | null
  }
  readonly status: "open" | "closed"
  readonly close_category: string | null
  readonly assigned_user_id: string | null
  readonly agent_id: string | null
  readonly created_at: string
  readonly opened_at: string
  readonly closed_at: string | null
  readonly last_activity_at: string
  readonly last_activity_preview: string | null
}

export interface CreateContact {
  readonly first_name?: string | null
  readonly last_name?: string | null
  readonly primary_email?: string | null
  readonly primary_phone?: string | null
  readonly company?: string | null
  readonly job_title?: string | null
  readonly birthday?: string | null
  readonly city?: string | null
  readonly region?: string | null
  readonly country?: string | null
  readonly street_address?: string | null
  readonly postal_code?: string | null
  readonly website_url?: string | null
  readonly network_url?: string | null
  readonly source?: string | null
  readonly notes?: string | null
  readonly owner_user_id?: string | null
  readonly lead_status?:
    | "new"
    | "open"
    | "in_progress"
    | "open_deal"
    | "unqualified"
    | "attempted_to_contact"
    | "connected"
    | "bad_timing" | null
  readonly lifecycle_stage?:
    | "subscriber"
    | "lead"
    | "marketing_qualified"
    | "sales_qualified"
    | "opportunity"
    | "customer"
    | "evangelist"
    | "other" | null
  readonly custom_values?: Readonly<Record<string, string | null>> | null
  readonly tag_ids?: ReadonlyArray<string> | null
}

export interface CreateTag {
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

/** The key lacks the operation's scope. */
export interface Forbidden {
  readonly error: {
    readonly code: "insufficient_scope"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

export interface Identity {
  readonly id: string
  readonly channel_type: "phone_messaging" | "photo_social" | "page_messaging"
  readonly external_id: string
  readonly display_name: string | null
  readonly username: string | null
}

/** The service failed. Repeat a read; read the resource before repeating a write. */
export interface InternalError {
  readonly error: {
    readonly code: "internal_error"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

export interface Media {
  readonly kind: "image" | "video" | "audio" | "document" | "sticker"
  readonly mime_type: string | null
  readonly filename: string | null
  readonly byte_size: number | null
  readonly transcript: string | null
  readonly url: string | null
}

export interface Member {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly role: "owner" | "admin" | "member"
  readonly created_at: string
}

export interface Message {
  readonly id: string
  readonly conversation_id: string
  readonly direction: "inbound" | "outbound"
  readonly type:
    | "text"
    | "template"
    | "image"
    | "video"
    | "audio"
    | "document"
    | "sticker"
    | "location"
    | "contacts"
    | "interactive"
    | "reaction"
    | "unsupported"
  readonly text: string | null
  readonly sender: Sender
  readonly status: "received" | "sent" | "delivered" | "read" | "failed"
  readonly media: Media | null
  readonly provider_message_id: string | null
  readonly created_at: string
  readonly sent_at: string | null
  readonly delivered_at: string | null
  readonly read_at: string | null
  readonly failed_at: string | null
  readonly edited_at: string | null
  readonly deleted_at: string | null
}

/** The organization has no such resource. */
export interface NotFound {
  readonly error: {
    readonly code: "not_found"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

/** The messaging provider cannot be reached now. */
export interface ProviderUnavailable {
  readonly error: {
    readonly code: "provider_unavailable"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

export interface Send {
  readonly id: string
  readonly conversation_id: string
  readonly status: "queued" | "sending" | "sent" | "failed" | "unknown"
  readonly message_id: string | null
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
    | "outcome_unknown" | null
  readonly created_at: string
}

export type SendMessage = {
  readonly type: "text"
  readonly text: string
} | {
  readonly type: "template"
  readonly template: TemplateChoice
}

export interface Sender {
  readonly type: "contact" | "member" | "agent" | "system"
  readonly name: string | null
}

export interface StartConversation {
  readonly channel_id: string
  readonly phone: string
  readonly template: TemplateChoice
}

export interface Tag {
  readonly id: string
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

export interface Template {
  readonly id: string
  readonly name: string
  readonly language: string
  readonly category: string
  readonly status: string
  readonly phone_messaging_business_account_id: string
  readonly parameter_format: string
  readonly components: ReadonlyArray<TemplateComponent>
}

export interface TemplateButton {
  readonly type: string
  readonly text: string | null
  readonly url: string | null
}

export interface TemplateChoice {
  readonly id: string
  readonly components: ReadonlyArray<{
    readonly type: "header"
    readonly parameters: ReadonlyArray<{
      readonly type: "text"
      readonly text: string
      readonly parameter_name?: string
    }>
  } | {
    readonly type: "body"
    readonly parameters: ReadonlyArray<{
      readonly type: "text"
      readonly text: string
      readonly parameter_name?: string
    }>
  } | {
    readonly type: "button"
    readonly sub_type: string
    readonly index: number | string
    readonly parameters: ReadonlyArray<{
      readonly type: "text"
      readonly text: string
      readonly parameter_name?: string
    }>
  }>
}

export interface TemplateComponent {
  readonly type: string
  readonly text: string | null
  readonly format: string | null
  readonly buttons: ReadonlyArray<TemplateButton> | null
}

/** The key made too many requests this minute. */
export interface TooManyRequests {
  readonly error: {
    readonly code: "rate_limited"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

/** The key is missing, malformed, expired or revoked, or its creator may no longer hold keys. */
export interface Unauthorized {
  readonly error: {
    readonly code: "unauthorized"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

/** The body is not `application/json`. */
export interface UnsupportedMediaType {
  readonly error: {
    readonly code: "unsupported_media_type"
    readonly message: string
    readonly param: string | null
    readonly request_id: string
  }
}

export interface UpdateContact {
  readonly first_name?: string | null
  readonly last_name?: string | null
  readonly primary_email?: string | null
  readonly primary_phone?: string | null
  readonly company?: string | null
  readonly job_title?: string | null
  readonly birthday?: string | null
  readonly city?: string | null
  readonly region?: string | null
  readonly country?: string | null
  readonly street_address?: string | null
  readonly postal_code?: string | null
  readonly website_url?: string | null
  readonly network_url?: string | null
  readonly source?: string | null
  readonly notes?: string | null
  readonly owner_user_id?: string | null
  readonly lead_status?:
    | "new"
    | "open"
    | "in_progress"
    | "open_deal"
    | "unqualified"
    | "attempted_to_contact"
    | "connected"
    | "bad_timing" | null
  readonly lifecycle_stage?:
    | "subscriber"
    | "lead"
    | "marketing_qualified"
    | "sales_qualified"
    | "opportunity"
    | "customer"
    | "evangelist"
    | "other" | null
  readonly custom_values?: Readonly<Record<string, string | null>> | null
  readonly tag_ids?: ReadonlyArray<string> | null
}

/** Why a request was refused. */
export type ErrorCode =
  | "internal_error"
  | "rate_limited"
  | "insufficient_scope"
  | "unauthorized"
  | "unsupported_media_type"
  | "body_too_large"
  | "conflict" | "idempotency_conflict" | "request_processing"
  | "invalid_json" | "invalid_input" | "missing_idempotency_key"
  | "provider_unavailable"
  | "not_found"

/** What each operation takes and answers, by its method and path. */
export interface Operations {
  /** List contacts. The key needs the scope `contacts:read`. */
  readonly "GET /contacts": {
    readonly query?: {
      /** The `next_cursor` of the page before, unchanged. */
      readonly cursor?: string
      readonly page_size?: string
      readonly query?: string
      readonly tag_id?: string
      readonly owner_user_id?: string
      readonly lifecycle_stage?:
        | "subscriber"
        | "lead"
        | "marketing_qualified"
        | "sales_qualified"
        | "opportunity"
        | "customer"
        | "evangelist"
        | "other"
      readonly channel?: "phone_messaging" | "photo_social" | "page_messaging"
    }
    readonly answer: {
      readonly data: ReadonlyArray<Contact>
      readonly next_cursor: string | null
    }
  }
  /** Create a contact. The key needs the scope `contacts:write`. */
  readonly "POST /contacts": {
    readonly body: CreateContact
    readonly answer: {
      readonly data: Contact
    }
  }
  /** Get a contact. The key needs the scope `contacts:read`. */
  readonly "GET /contacts/{contact_id}": {
    readonly path: {
      readonly contact_id: string
    }
    readonly answer: {
      readonly data: Contact
    }
  }
  /** Update a contact. The key needs the scope `contacts:write`. */
  readonly "PATCH /contacts/{contact_id}": {
    readonly path: {
      readonly contact_id: string
    }
    readonly body: UpdateContact
    readonly answer: {
      readonly data: Contact
    }
  }
  /** Add a note to a contact. The key needs the scope `contacts:write`. */
  readonly "POST /contacts/{contact_id}/notes": {
    readonly path: {
      readonly contact_id: string
    }
    readonly body: AddNote
    readonly answer: {
      readonly data: Contact
    }
  }
  /** List contact fields. The key needs the scope `contacts:read`. */
  readonly "GET /contact-fields": {
    readonly answer: {
      readonly data: ReadonlyArray<ContactField>
      readonly next_cursor: string | null
    }
  }
  /** List conversations. The key needs the scope `conversations:read`. */
  readonly "GET /conversations": {
    readonly query?: {
      /** The `next_cursor` of the page before, unchanged. */
      readonly cursor?: string
      readonly page_size?: string
      readonly status?: "all" | "open" | "closed"
      readonly assigned_user_id?: string
    }
    readonly answer: {
      readonly data: ReadonlyArray<Conversation>
      readonly next_cursor: string | null
    }
  }
  /** Start a conversation. The key needs the scope `messages:send`. */
  readonly "POST /conversations": {
    readonly body: StartConversation
    readonly answer: {
      readonly data: Send
    }
  }
  /** Get a conversation. The key needs the scope `conversations:read`. */
  readonly "GET /conversations/{conversation_id}": {
    readonly path: {
      readonly conversation_id: string
    }
    readonly answer: {
      readonly data: Conversation
    }
  }
  /** Assign a conversation. The key needs the scope `conversations:write`. */
  readonly "PATCH /conversations/{conversation_id}/assignment": {
    readonly path: {
      readonly conversation_id: string
    }
    readonly body: AssignConversation
    readonly answer: {
      readonly data: Conversation
    }
  }
  /** Close a conversation. The key needs the scope `conversations:write`. */
  readonly "POST /conversations/{conversation_id}/close": {
    readonly path: {
      readonly conversation_id: string
    }
    readonly body?: CloseConversation | null
    readonly answer: {
      readonly data: Conversation
    }
  }
  /** Reopen a conversation. The key needs the scope `conversations:write`. */
  readonly "POST /conversations/{conversation_id}/reopen": {
    readonly path: {
      readonly conversation_id: string
    }
    readonly answer: {
      readonly data: Conversation
    }
  }
  /** List messages. The key needs the scope `conversations:read`. */
  readonly "GET /conversations/{conversation_id}/messages": {
    readonly path: {
      readonly conversation_id: string
    }
    readonly query?: {
      /** The `next_cursor` of the page before, unchanged. */
      readonly cursor?: string
    }
    readonly answer: {
      readonly data: ReadonlyArray<Message>
      readonly next_cursor: string | null
    }
  }
  /** Send a message. The key needs the scope `messages:send`. */
  readonly "POST /conversations/{conversation_id}/messages": {
    readonly path: {
      readonly conversation_id: string
    }
    readonly body: SendMessage
    readonly answer: {
      readonly data: Send
    }
  }
  /** Get a message. The key needs the scope `conversations:read`. */
  readonly "GET /conversations/{conversation_id}/messages/{message_id}": {
    readonly path: {
      readonly conversation_id: string
      readonly message_id: string
    }
    readonly answer: {
      readonly data: Message
    }
  }
  /** Get a send. The key needs the scope `messages:send`. */
  readonly "GET /sends/{send_id}": {
    readonly path: {
      readonly send_id: string
    }
    readonly answer: {
      readonly data: Send
    }
  }
  /** List channels. The key needs the scope `conversations:read`. */
  readonly "GET /channels": {
    readonly answer: {
      readonly data: ReadonlyArray<Channel>
      readonly next_cursor: string | null
    }
  }
  /** List members. The key needs the scope `members:read`. */
  readonly "GET /members": {
    readonly answer: {
      readonly data: ReadonlyArray<Member>
      readonly next_cursor: string | null
    }
  }
  /** List tags. The key needs the scope `tags:read`. */
  readonly "GET /tags": {
    readonly answer: {
      readonly data: ReadonlyArray<Tag>
      readonly next_cursor: string | null
    }
  }
  /** Create a tag. The key needs the scope `contacts:write`. */
  readonly "POST /tags": {
    readonly body: CreateTag
    readonly answer: {
      readonly data: Tag
    }
  }
  /** List templates. The key needs the scope `templates:read`. */
  readonly "GET /templates": {
    readonly answer: {
      readonly data: ReadonlyArray<Template>
      readonly next_cursor: string | null
    }
  }
}
