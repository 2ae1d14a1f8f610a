/**
 * The kinds of parts that the networks document, and what each is.
 *
 * Only a `message` becomes a message. A message of an unknown kind is one too, of
 * type `unsupported`; anything else of an unknown kind is counted and logged.
 */

/**
 * The meaning of a part: a message, a message of the business (`echo`), a change of a
 * message, the status of one, or a change of a person. `account` is about the
 * business's account, and `nothing` is about something else.
 */
export type Meaning = "message" | "echo" | "change" | "status" | "person" | "account" | "nothing"

type Kinds = Readonly<Record<string, Meaning>>

const each = (meaning: Meaning, ...kinds: ReadonlyArray<string>): Kinds =>
  Object.fromEntries(kinds.map((kind) => [kind, meaning]))

/**
 * The fields of changes on phone messaging. `message`: messages, echoes and statuses, each of a kind of its own.
 * Those of `standby` arrive while another app controls the conversation.
 */
export const phone_fields: Kinds = {
  ...each("message", "messages", "standby"),
  ...each("echo", "message_echoes", "smb_message_echoes"),
  ...each("person", "user_id_update"),
  ...each(
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
  ...each(
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
    "tracking_events",
    "user_preferences"
  )
}

/** The types of messages on phone messaging. */
export const phone_messages: Kinds = {
  ...each(
    "message",
    "audio",
    "button",
    "contacts",
    "document",
    "errors",
    "image",
    "interactive",
    "location",
    "order",
    "reaction",
    "sticker",
    "template",
    "text",
    "unknown",
    "unsupported",
    "video",
    "voice"
  ),
  ...each("change", "edit", "revoke"),
  ...each("person", "system"),
  ...each("nothing", "request_welcome")
}

/** The types of system messages on phone messaging. */
export const phone_system: Kinds = {
  ...each("person", "customer_changed_number", "user_changed_number", "user_changed_user_id"),
  ...each(
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

/** The types of statuses on phone messaging. One without a type is of a message. */
export const phone_statuses: Kinds = {
  ...each("status", "message"),
  ...each("nothing", "call", "payment")
}

/** The kinds of items of pages and photo accounts: the names of the field that an item has. */
export const social_items: Kinds = {
  ...each("message", "message", "postback", "reaction"),
  ...each("change", "message_edit"),
  ...each("status", "delivery", "read"),
  ...each("account", "app_roles", "policy_enforcement", "policy-enforcement"),
  ...each(
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

/** The fields of changes that have an item as their value, on pages and photo accounts. */
export const social_fields: ReadonlySet<string> = new Set([
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

/** Returns what a kind is; undefined for one that is not documented. */
export const meaningIn = (kinds: Kinds, kind: string): Meaning | undefined =>
  Object.hasOwn(kinds, kind) ? kinds[kind] : undefined

const tables: Readonly<Record<string, Kinds>> = {
  field: phone_fields,
  item: social_items,
  message: phone_messages,
  status: phone_statuses,
  system: phone_system
}

/** Returns whether a kind with its prefix, such as `field:history`, is in one of the tables. */
export const isDocumented = (kind: string): boolean => {
  const [prefix = "", ...name] = kind.split(":")
  const kinds = Object.hasOwn(tables, prefix) ? tables[prefix] : undefined
  return kinds !== undefined && meaningIn(kinds, name.join(":")) !== undefined
}
