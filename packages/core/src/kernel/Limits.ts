/**
 * The limits of contract §17.1, in one table.
 *
 * These are part of the published contract, so they are constants: schemas, the
 * OpenAPI document and the database's checks repeat them. Numbers an operator
 * may tune (the request rate) are `Context.Reference`s in the module that uses
 * them, with the contract's value as the default.
 *
 * Names end in unit then bound, so related limits line up when sorted.
 */
export const limits = {
  address_chars_max: 200,
  body_bytes_max: 65_536,
  close_category_chars_max: 64,
  contact_fields_max: 200,
  cursor_chars_max: 2048,
  custom_value_chars_max: 1000,
  details_bytes_max: 16_384,
  details_items_max: 100,
  downloads_max: 64,
  email_chars_max: 320,
  external_id_chars_max: 500,
  failure_text_chars_max: 500,
  idempotency_key_chars_max: 200,
  idempotency_key_chars_min: 8,
  json_depth_max: 32,
  media_bytes_max: 16_000_000,
  message_text_chars_max: 4096,
  message_text_chars_min: 1,
  name_chars_max: 200,
  note_text_chars_max: 5000,
  note_text_chars_min: 1,
  notes_chars_max: 200_000,
  organization_downloads_max: 8,
  page_chars_max: 1_000_000,
  page_messaging_text_chars_max: 2000,
  page_size_default: 50,
  page_size_max: 100,
  page_size_min: 1,
  phone_chars_max: 32,
  phone_chars_min: 6,
  photo_social_text_bytes_max: 1000,
  preview_chars_max: 140,
  query_chars_max: 200,
  requests_at_once: 32,
  requests_per_minute: 120,
  stored_bytes_max: 10_000_000_000,
  tag_ids_max: 30,
  tag_name_chars_max: 40,
  tag_name_chars_min: 1,
  tags_max: 1000,
  template_parameter_chars_max: 1024,
  template_parameter_chars_min: 1,
  unknown_keys_at_once: 4,
  upsert_contacts_max: 100,
  url_chars_max: 2048,
  webhook_event_types_max: 5,
  webhook_event_types_min: 1,
  webhook_list_size: 100,
  webhook_response_bytes_max: 4096,
  webhook_secrets_max: 5,
  webhooks_active_max: 100
} as const
