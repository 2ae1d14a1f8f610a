-- The two writes, each one round trip and one transaction: the effect, the queued work and the idempotency record.
--
-- A status below 500 with a body is recorded. A status of 400 has the name of the missing resource, and is not recorded. A key
-- that was used before violates the primary key, which rolls the rest back; the baseline then reads the record.
SET search_path = baseline, public;

CREATE FUNCTION iso(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

CREATE FUNCTION error_body(code text, message text, param text, request_id text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN json_build_object(
    'error', json_build_object('code', code, 'message', message, 'param', param, 'request_id', request_id)
  )::text;

-- Stores an event, which a list shows for 30 days, with a delivery and its job for each webhook that subscribes to it.
CREATE FUNCTION raise_event(organization uuid, event_type text, data json) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  event uuid := uuidv7();
BEGIN
  INSERT INTO events (id, organization_id, type, body, created_at)
  VALUES (event, organization, event_type, json_build_object(
    'id', event, 'type', event_type, 'timestamp', iso(clock_timestamp()), 'data', data
  )::text, clock_timestamp());
  WITH subscribed AS (
    SELECT uuidv7() AS delivery, id AS webhook
    FROM webhooks
    WHERE organization_id = organization AND status = 'active' AND event_type = ANY (event_types)
  ), queued AS (
    INSERT INTO jobs (id, kind, lane) SELECT delivery, 'delivery', webhook FROM subscribed
  )
  INSERT INTO deliveries (id, webhook_id, event_id, created_at)
  SELECT delivery, webhook, event, clock_timestamp() FROM subscribed;
END $$;

CREATE FUNCTION update_contact(
  organization uuid, record_key text, record_fingerprint bytea, request_id text, contact uuid, patch jsonb, new_tags uuid[],
  OUT status integer, OUT body text
) LANGUAGE plpgsql AS $$
DECLARE
  changed contacts;
  tags_json json;
BEGIN
  IF patch->>'owner_user_id' IS NOT NULL AND NOT EXISTS (
    SELECT FROM members
    WHERE id = (patch->>'owner_user_id')::uuid AND organization_id = organization AND removed_at IS NULL
  ) THEN
    status := 400;
    body := 'owner_user_id';
    RETURN;
  END IF;
  IF patch ? 'custom_values' THEN
    SELECT 'custom_values.' || field INTO body
    FROM jsonb_object_keys(patch->'custom_values') field
    WHERE NOT EXISTS (SELECT FROM contact_fields WHERE id = field::uuid AND organization_id = organization)
    LIMIT 1;
    IF FOUND THEN
      status := 400;
      RETURN;
    END IF;
  END IF;
  IF new_tags IS NOT NULL THEN
    SELECT coalesce(json_agg(json_build_object('id', id, 'name', name, 'color', color) ORDER BY lower(name)), '[]')
    INTO tags_json
    FROM tags
    WHERE id = ANY (new_tags) AND organization_id = organization;
    IF json_array_length(tags_json) <> cardinality(new_tags) THEN
      status := 400;
      body := 'tag_ids';
      RETURN;
    END IF;
  END IF;

  UPDATE contacts SET
    first_name = CASE WHEN patch ? 'first_name' THEN patch->>'first_name' ELSE first_name END,
    last_name = CASE WHEN patch ? 'last_name' THEN patch->>'last_name' ELSE last_name END,
    primary_email = CASE WHEN patch ? 'primary_email' THEN patch->>'primary_email' ELSE primary_email END,
    primary_phone = CASE WHEN patch ? 'primary_phone' THEN patch->>'primary_phone' ELSE primary_phone END,
    company = CASE WHEN patch ? 'company' THEN patch->>'company' ELSE company END,
    job_title = CASE WHEN patch ? 'job_title' THEN patch->>'job_title' ELSE job_title END,
    birthday = CASE WHEN patch ? 'birthday' THEN (patch->>'birthday')::date ELSE birthday END,
    city = CASE WHEN patch ? 'city' THEN patch->>'city' ELSE city END,
    region = CASE WHEN patch ? 'region' THEN patch->>'region' ELSE region END,
    country = CASE WHEN patch ? 'country' THEN patch->>'country' ELSE country END,
    street_address = CASE WHEN patch ? 'street_address' THEN patch->>'street_address' ELSE street_address END,
    postal_code = CASE WHEN patch ? 'postal_code' THEN patch->>'postal_code' ELSE postal_code END,
    website_url = CASE WHEN patch ? 'website_url' THEN patch->>'website_url' ELSE website_url END,
    network_url = CASE WHEN patch ? 'network_url' THEN patch->>'network_url' ELSE network_url END,
    source = CASE WHEN patch ? 'source' THEN patch->>'source' ELSE source END,
    notes = CASE WHEN patch ? 'notes' THEN patch->>'notes' ELSE notes END,
    owner_user_id = CASE WHEN patch ? 'owner_user_id' THEN (patch->>'owner_user_id')::uuid ELSE owner_user_id END,
    lead_status = CASE WHEN patch ? 'lead_status' THEN patch->>'lead_status' ELSE lead_status END,
    lifecycle_stage = CASE WHEN patch ? 'lifecycle_stage' THEN patch->>'lifecycle_stage' ELSE lifecycle_stage END,
    custom_values = CASE
      WHEN patch ? 'custom_values' THEN jsonb_strip_nulls(custom_values || (patch->'custom_values'))
      ELSE custom_values
    END,
    tags = coalesce(tags_json, tags),
    tag_ids = coalesce(new_tags, tag_ids),
    updated_at = greatest(updated_at, clock_timestamp())
  WHERE id = contact AND organization_id = organization
  RETURNING * INTO changed;

  IF NOT FOUND THEN
    status := 404;
    body := error_body('not_found', 'There is no such contact.', NULL, request_id);
  ELSE
    IF new_tags IS NOT NULL THEN
      DELETE FROM contact_tags WHERE contact_id = contact AND tag_id <> ALL (new_tags);
      INSERT INTO contact_tags SELECT contact, tag FROM unnest(new_tags) tag ON CONFLICT DO NOTHING;
    END IF;
    IF patch ?| ARRAY['first_name', 'last_name', 'primary_email', 'primary_phone', 'company'] THEN
      UPDATE contact_texts SET
        search_text = lower(concat_ws(
          E'\n', nullif(concat_ws(' ', changed.first_name, changed.last_name), ''), changed.primary_phone,
          changed.primary_email, changed.company
        ))
      WHERE contact_id = contact;
    END IF;
    IF patch <> '{}' THEN
      PERFORM raise_event(organization, 'contact.updated', json_build_object(
        'contact_id', contact, 'changed_fields', (SELECT json_agg(field) FROM jsonb_object_keys(patch) field)
      ));
    END IF;
    status := 200;
    SELECT '{"data":' || row_to_json(answer)::text || '}' INTO body
    FROM (
      SELECT changed.id, changed.first_name, changed.last_name, changed.primary_email, changed.primary_phone, changed.company,
        changed.job_title, changed.birthday, changed.city, changed.region, changed.country, changed.street_address,
        changed.postal_code, changed.website_url, changed.network_url, changed.source, changed.notes, changed.owner_user_id,
        changed.lead_status, changed.lifecycle_stage, changed.custom_values, changed.identities, changed.tags,
        iso(changed.last_activity_at) AS last_activity_at, changed.last_activity_preview, changed.last_conversation_id,
        iso(changed.updated_at) AS updated_at
    ) answer;
  END IF;
  INSERT INTO idempotency_keys (organization_id, key, fingerprint, status, body)
  VALUES (organization, record_key, record_fingerprint, update_contact.status, update_contact.body);
END $$;

CREATE FUNCTION send_text(
  organization uuid, record_key text, record_fingerprint bytea, request_id text, conversation uuid, member uuid, send uuid,
  send_text text, created timestamptz, accepted text,
  OUT status integer, OUT body text
) LANGUAGE plpgsql AS $$
DECLARE
  last_inbound timestamptz;
BEGIN
  SELECT last_inbound_at INTO last_inbound FROM conversations WHERE id = conversation AND organization_id = organization;
  IF NOT FOUND THEN
    status := 404;
    body := error_body('not_found', 'There is no such conversation.', NULL, request_id);
  ELSIF last_inbound IS NULL OR last_inbound <= created - interval '24 hours' THEN
    status := 409;
    body := error_body('conflict', 'The reply window is closed. Send a template.', 'type', request_id);
  ELSE
    INSERT INTO sends (id, organization_id, conversation_id, member_id, text, created_at)
    VALUES (send, organization, conversation, member, send_text, created);
    INSERT INTO jobs (id, kind, lane) VALUES (send, 'send', conversation);
    status := 202;
    body := accepted;
  END IF;
  INSERT INTO idempotency_keys (organization_id, key, fingerprint, status, body)
  VALUES (organization, record_key, record_fingerprint, send_text.status, send_text.body);
END $$;
