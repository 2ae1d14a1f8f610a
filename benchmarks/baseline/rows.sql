-- The baseline's rows are those of the service, so that both return the same bytes.
SET search_path = baseline, public;

INSERT INTO members SELECT id, organization_id, name, role, left_at FROM public.members;

INSERT INTO api_keys
SELECT id, organization_id, created_by, decode(digest, 'hex'), ARRAY(SELECT jsonb_array_elements_text(scopes)), expires_at,
  revoked_at
FROM public.api_keys;

INSERT INTO rate_windows SELECT id, now() - interval '1 day', 0 FROM api_keys;

INSERT INTO contact_fields SELECT id, organization_id FROM public.contact_fields;

INSERT INTO tags SELECT id, organization_id, name, color FROM public.tags;

INSERT INTO contacts
SELECT id, organization_id, first_name, last_name, primary_email, primary_phone, company, job_title, birthday::date, city,
  region, country, street_address, postal_code, website_url, network_url, source, notes, owner_user_id, lead_status,
  lifecycle_stage, custom_values, identities::json, tags::json,
  ARRAY(SELECT (tag->>'id')::uuid FROM jsonb_array_elements(tags) tag), last_activity_at, last_activity_preview,
  last_conversation_id, updated_at
FROM public.contacts;

INSERT INTO contact_texts SELECT contact_id, organization_id, search_text FROM public.contact_texts;

INSERT INTO contact_tags SELECT contact_id, tag_id FROM public.contact_tags;

INSERT INTO conversations SELECT id, organization_id, contact_id, last_inbound_at FROM public.conversations;

INSERT INTO messages
SELECT id, organization_id, conversation_id, direction, type, text, sender->>'type', sender->>'name', status, media::json, details::json,
  provider_message_id, created_at, sent_at, delivered_at, read_at, failed_at, edited_at, deleted_at
FROM public.messages;

INSERT INTO idempotency_keys
SELECT organization_id, key, decode(fingerprint, 'hex'), status, '{}', created_at FROM public.idempotency_keys;
