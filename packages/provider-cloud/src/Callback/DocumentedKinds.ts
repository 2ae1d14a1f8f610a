/**
 * The kinds of items that the networks document, and the meaning of each.
 *
 * Only a `message` becomes a message. A message of an unknown kind is one too, of
 * type `unsupported`; anything else of an unknown kind is counted and logged.
 */

/**
 * The meaning of an item: a message that a person wrote, a message that no person is known to have written (`notice`), a
 * message from the business (`echo`), an edit or a deletion of a message (`revision`), a status of a message, or a change of a
 * person's IDs (`identity`), or of whether they get marketing messages (`preference`). An item about the business's account is `account`, and any other item is `nothing`.
 */
export type Meaning =
  | "message"
  | "notice"
  | "echo"
  | "revision"
  | "status"
  | "identity"
  | "preference"
  | "account"
  | "nothing"

type Kinds = Readonly<Record<string, Meaning>>

const withMeaning = (meaning: Meaning, ...kinds: ReadonlyArray<string>): Kinds =>
  Object.fromEntries(kinds.map((kind) => [kind, meaning]))

/**
 * The fields of WhatsApp's changes. `message`: messages, echoes and statuses, each of a kind of its own.
 * Those of `standby` arrive while another app controls the conversation.
 */
export const whatsapp_fields: Kinds = {
  ...withMeaning("message", "messages", "standby"),
  ...withMeaning("echo", "message_echoes", "smb_message_echoes"),
  ...withMeaning("identity", "user_id_update"),
  ...withMeaning("preference", "user_preferences"),
  ...withMeaning(
    "account",
    "account_alerts",
    "account_offboarded",
    "account_reconnected",
    "account_review_update",
    "account_settings_update",
    "account_update",
    "business_capability_update",
    "business_status_update",
    "business_username_update",
    "business_username_updates",
    "message_template_components_update",
    "message_template_quality_update",
    "message_template_status_update",
    "partner_solutions",
    "payment_configuration_update",
    "phone_number_name_update",
    "phone_number_quality_update",
    "security",
    "template_category_update",
    "template_correct_category_detection",
    "template_performance_metrics"
  ),
  ...withMeaning(
    "nothing",
    "automatic_events",
    "calls",
    "consumer_profile",
    "flows",
    "group_lifecycle_update",
    "group_participant_update",
    "group_participants_update",
    "group_settings_update",
    "group_status_update",
    "history",
    "messaging_handovers",
    "smb_app_state_sync",
    "tracking_events"
  )
}

/** The types of WhatsApp's messages. */
export const whatsapp_messages: Kinds = {
  ...withMeaning(
    "message",
    "audio",
    "button",
    "contacts",
    "document",
    "image",
    "interactive",
    "location",
    "order",
    "reaction",
    "sticker",
    "text",
    "unsupported",
    "video",
    "voice"
  ),
  ...withMeaning("notice", "errors", "template", "unknown"),
  ...withMeaning("revision", "edit", "revoke"),
  ...withMeaning("identity", "system"),
  ...withMeaning("nothing", "request_welcome")
}

/** The contents of WhatsApp's messages of the type `unsupported`. One without such a type is from a person. */
const whatsapp_unsupported: Kinds = {
  ...withMeaning(
    "message",
    "gif",
    "group_invite",
    "image",
    "interactive",
    "link_preview",
    "list",
    "location",
    "media_placeholder",
    "order",
    "poll_creation",
    "poll_update",
    "product",
    "reaction"
  ),
  ...withMeaning("notice", "errors", "hsm", "keep_in_chat", "pin")
}

/** The types of WhatsApp's system messages. */
export const whatsapp_system: Kinds = {
  ...withMeaning("identity", "customer_changed_number", "user_changed_number", "user_changed_user_id"),
  ...withMeaning(
    "nothing",
    "customer_identity_changed",
    "group_created",
    "group_icon_changed",
    "group_join_request_created",
    "group_subject_changed",
    "group_user_joined",
    "group_user_left",
    "user_identity_changed"
  )
}

/** The types of WhatsApp's statuses. One without a type is of a message. */
export const whatsapp_statuses: Kinds = {
  ...withMeaning("status", "message"),
  ...withMeaning("nothing", "call", "payment")
}

/** The kinds of messaging events of Messenger and Instagram: the name of the field that an event has. */
export const messaging_events: Kinds = {
  ...withMeaning("message", "message", "postback", "reaction"),
  ...withMeaning("revision", "message_edit"),
  ...withMeaning("status", "delivery", "read"),
  ...withMeaning("account", "app_roles", "policy_enforcement", "policy-enforcement"),
  ...withMeaning(
    "nothing",
    "account_linking",
    "branded_camera",
    "checkout_update",
    "customer_information",
    "game_play",
    "messaging_feedback",
    "optin",
    "order",
    "pass_metadata",
    "pass_thread_control",
    "payment",
    "pre_checkout",
    "referral",
    "request_thread_control",
    "response_feedback",
    "take_thread_control",
    "typing"
  )
}

/** The fields of changes whose value is a messaging event, another form that Instagram uses. */
export const messaging_event_fields: ReadonlySet<string> = new Set([
  "message_deliveries",
  "message_echoes",
  "message_edit",
  "message_edits",
  "message_reactions",
  "message_reads",
  "messages",
  "messaging_handover",
  "messaging_handovers",
  "messaging_optins",
  "messaging_postbacks",
  "messaging_referral",
  "messaging_referrals",
  "messaging_seen",
  "standby"
])

/** Returns the meaning of a kind; undefined for one that is not documented. */
export const meaningIn = (kinds: Kinds, kind: string): Meaning | undefined =>
  Object.hasOwn(kinds, kind) ? kinds[kind] : undefined

/**
 * Returns whether a person wrote a WhatsApp message of a type, which opens the reply window (contract §10.7). A message of a type
 * that is not documented may be a notice of the network.
 */
export const isWrittenByPerson = (type: string, unsupported_type: string | undefined): boolean =>
  meaningIn(whatsapp_messages, type) === "message" &&
  (type !== "unsupported" || unsupported_type === undefined ||
    meaningIn(whatsapp_unsupported, unsupported_type) === "message")

const tables: Readonly<Record<string, Kinds>> = {
  field: whatsapp_fields,
  item: messaging_events,
  message: whatsapp_messages,
  status: whatsapp_statuses,
  system: whatsapp_system
}

/** Returns whether a kind with its prefix, such as `field:history`, is in one of the tables. */
export const isDocumented = (kind: string): boolean => {
  const [prefix = "", ...name] = kind.split(":")
  const kinds = Object.hasOwn(tables, prefix) ? tables[prefix] : undefined
  return kinds !== undefined && meaningIn(kinds, name.join(":")) !== undefined
}
