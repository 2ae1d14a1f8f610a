-- Two statements of commits: one part for each kind of change. Their sources are in src/work/Commit.
-- To write this file again: npm test -- packages/adapter-postgres/test/CommitStatement.test.ts --update

-- The start of a conversation with a new person.
WITH responses_recorded AS (
    INSERT INTO idempotency_keys (
      organization_id, key, fingerprint, status, body, sealed, request_id, created_at
    )
    SELECT organization_id, key, fingerprint, status, body, sealed, request_id, created_at
    FROM jsonb_to_recordset($2::jsonb) AS given (
      organization_id uuid, key text, fingerprint text, status smallint, body text, sealed boolean, request_id text,
      created_at timestamptz
    )
    RETURNING 1
),

contacts_inserted AS (
    INSERT INTO contacts (organization_id, first_name, last_name, primary_email, primary_phone, company, job_title, birthday, city, region, country, street_address, postal_code, website_url, network_url, source, notes, owner_user_id, lead_status, lifecycle_stage, custom_values, identities, tags, last_activity_at, last_activity_preview, last_conversation_id, id, updated_at, search_text, email_key)
    SELECT organization_id, first_name, last_name, primary_email, primary_phone, company, job_title, birthday, city, region, country, street_address, postal_code, website_url, network_url, source, notes, owner_user_id, lead_status, lifecycle_stage, custom_values, identities, tags, last_activity_at, last_activity_preview, last_conversation_id, id, updated_at, search_text, email_key
    FROM jsonb_populate_recordset(NULL::contacts, $3::jsonb)
    RETURNING 1
),

contacts_described AS (
    SELECT organization_id, id, search_text, tags
    FROM jsonb_to_recordset($4::jsonb) AS given (organization_id uuid, id uuid, search_text text, tags jsonb)
),

contacts_indexed AS (
    INSERT INTO contact_texts (organization_id, contact_id, search_text)
    SELECT organization_id, id, search_text
    FROM contacts_described
    RETURNING 1
),

contacts_first_tagged AS (
    INSERT INTO contact_tags (organization_id, contact_id, tag_id)
    SELECT organization_id, id, (tag ->> 'id')::uuid
    FROM contacts_described, jsonb_array_elements(tags) AS tag
    RETURNING 1
),

identities_inserted AS (
    INSERT INTO identities (organization_id, id, channel_type, external_id, display_name, username, marketing_opt_out_at, marketing_opt_in_at, contact_id)
    SELECT organization_id, id, channel_type, external_id, display_name, username, marketing_opt_out_at, marketing_opt_in_at, contact_id
    FROM jsonb_populate_recordset(NULL::identities, $5::jsonb)
    RETURNING 1
),

identity_names_inserted AS (
    INSERT INTO identity_names (organization_id, channel_type, name, identity_id)
    SELECT organization_id, channel_type, name, identity_id
    FROM jsonb_populate_recordset(NULL::identity_names, $6::jsonb)
    RETURNING 1
),

conversations_inserted AS (
    INSERT INTO conversations (organization_id, id, channel_id, contact_id, identity_id, status, close_category, assigned_user_id, agent_id, created_at, opened_at, closed_at, last_activity_at, last_activity_preview, last_inbound_at)
    SELECT organization_id, id, channel_id, contact_id, identity_id, status, close_category, assigned_user_id, agent_id, created_at, opened_at, closed_at, last_activity_at, last_activity_preview, last_inbound_at
    FROM jsonb_populate_recordset(NULL::conversations, $7::jsonb)
    RETURNING 1
),

sends_inserted AS (
    INSERT INTO sends (organization_id, id, conversation_id, channel_id, recipient, member_id, status, message_id, failure_reason, created_at, content, first_attempt_at, may_be_sent)
    SELECT organization_id, id, conversation_id, channel_id, recipient, member_id, status, message_id, failure_reason, created_at, content, first_attempt_at, may_be_sent
    FROM jsonb_populate_recordset(NULL::sends, $8::jsonb)
    RETURNING 1
),

events_raised AS (
    SELECT *, (
      SELECT webhook.include_resource FROM webhooks webhook
      WHERE webhook.organization_id = event.organization_id AND webhook.status = 'active' AND event.type = ANY(webhook.event_types)
      ORDER BY webhook.include_resource DESC
      LIMIT 1
    ) AS asks
    FROM jsonb_to_recordset($9::jsonb) AS event (
      organization_id uuid, id uuid, type text, body text, created_at timestamptz, resource jsonb, trace text
    )
),

events_inserted AS (
    INSERT INTO webhook_events (organization_id, id, type, body, created_at, full_body, contact_id, message_id)
    SELECT organization_id, id, type, body, created_at,
      stored ->> 'body', (stored ->> 'contact_id')::uuid, (stored ->> 'message_id')::uuid
    FROM (SELECT *, CASE WHEN asks THEN nullif(resource, 'null') END AS stored FROM events_raised) event
    RETURNING id, full_body IS NOT NULL AS is_full
),

work_inserted AS (
    INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at, trace)
    SELECT organization_id, kind || ':' || lane, kind, lane, ref, due_at, trace
    FROM (
      SELECT *
      FROM jsonb_to_recordset($10::jsonb) AS enqueued (
        organization_id uuid, kind text, lane uuid, ref uuid, due_at timestamptz, trace text
      )
      UNION ALL
      SELECT organization_id, 'webhook_event' AS kind, organization_id AS lane, id AS ref, created_at AS due_at, trace
      FROM events_raised
      WHERE asks IS NOT NULL
    ) AS items
    ON CONFLICT (kind, ref) DO NOTHING
    RETURNING organization_id, lane_name, due_at
),

lane_changes AS (
    SELECT organization_id, name, bool_or(opens) AS opens, bool_or(inserts) AS inserts, min(due_at) AS due_at,
      max(allowed) AS allowed, max(paused_until) AS paused_until
    FROM (
      SELECT organization_id, name, true AS opens, inserts, due_at, allowed, paused_until
      FROM jsonb_to_recordset($11::jsonb) AS given (
        organization_id uuid, name text, inserts boolean, due_at timestamptz, allowed integer, paused_until timestamptz
      )
      UNION ALL
      SELECT organization_id, lane_name, false, true, due_at, NULL, NULL
      FROM work_inserted
    ) all_changes
    GROUP BY organization_id, name
),

lanes_locked AS (
    SELECT lane.name, change.opens, change.due_at, change.allowed, change.paused_until
    FROM work_lanes lane
    JOIN lane_changes change ON change.name = lane.name
    WHERE lane.name = ANY(ARRAY(SELECT name FROM lane_changes))
      AND (
        change.allowed IS NOT NULL
        OR (change.opens AND (lane.closed OR lane.fifo))
        OR (
          change.due_at IS NOT NULL AND NOT lane.closed
          AND (lane.emptied_at IS NOT NULL OR lane.next_due > greatest(lane.paused_until, change.due_at))
        )
      )
    ORDER BY lane.name
    FOR UPDATE OF lane
),

lanes_written AS (
    UPDATE work_lanes lane
    SET
      cap = greatest(lane.cap, change.allowed),
      allowed = coalesce(change.allowed, lane.allowed),
      paused_until = CASE WHEN change.allowed IS NULL THEN lane.paused_until ELSE change.paused_until END,
      closed = lane.closed AND NOT change.opens,
      emptied_at = CASE WHEN change.due_at IS NULL THEN lane.emptied_at END,
      next_due = greatest(
        CASE WHEN change.allowed IS NULL THEN lane.paused_until END,
        lane.served_at,
        CASE
          WHEN change.opens THEN '-infinity'
          WHEN lane.closed THEN lane.next_due
          ELSE least(lane.next_due, change.due_at)
        END
      )
    FROM lanes_locked change
    WHERE lane.name = change.name AND lane.name = ANY(ARRAY(SELECT name FROM lanes_locked))
    RETURNING lane.name
),

lanes_inserted AS (
    INSERT INTO work_lanes (organization_id, name, cap, allowed, fifo, next_due, paused_until)
    SELECT change.organization_id, change.name, kinds.cap, least(kinds.cap, change.allowed),
      kinds.fifo, coalesce(greatest(change.due_at, change.paused_until), '-infinity'), change.paused_until
    FROM lane_changes change
    JOIN (VALUES ('send', 1, true), ('send_outcome', 1, true), ('webhook_event', 16, false), ('webhook_delivery', 16, false), ('webhook_replay', 1, true), ('callback', 32, false)) AS kinds (kind, cap, fifo) ON kinds.kind = split_part(change.name, ':', 1)
    WHERE change.inserts AND (SELECT count(*) FROM lanes_written) >= 0
    ORDER BY change.name
    ON CONFLICT (name) DO NOTHING
    RETURNING name
),

audited AS (
    INSERT INTO audit_records (organization_id, id, at, operation, resource_id, key_id, member_id, request_id)
    SELECT organization_id, id, at, operation, resource_id, key_id, member_id, request_id
    FROM jsonb_populate_recordset(NULL::audit_records, $12::jsonb)
    RETURNING 1
)

SELECT
  commit_requires(
    true,
    true
    AND (SELECT count(*) FROM responses_recorded) = $13::integer
    AND (SELECT count(*) FROM contacts_inserted) = $14::integer
    AND (SELECT count(*) FROM contacts_described) >= 0
    AND (SELECT count(*) FROM contacts_indexed) >= 0
    AND (SELECT count(*) FROM contacts_first_tagged) >= 0
    AND (SELECT count(*) FROM identities_inserted) = $15::integer
    AND (SELECT count(*) FROM identity_names_inserted) = $16::integer
    AND (SELECT count(*) FROM conversations_inserted) = $17::integer
    AND (SELECT count(*) FROM sends_inserted) = $18::integer
    AND (SELECT count(*) FROM events_raised) >= 0
    AND (SELECT count(*) FROM events_inserted) >= 0
    AND (SELECT count(*) FROM work_inserted) >= 0
    AND (SELECT count(*) FROM lane_changes) >= 0
    AND (SELECT count(*) FROM lanes_locked) >= 0
    AND (SELECT count(*) FROM lanes_written) >= 0
    AND (SELECT count(*) FROM lanes_inserted) >= 0
    AND (SELECT count(*) FROM audited) = $19::integer
  ),
  (
    SELECT coalesce(jsonb_agg(jsonb_build_object('id', id, 'deliveries', 0, 'is_full', is_full)), '[]')
    FROM events_inserted
    JOIN events_raised USING (id)
    WHERE asks IS NOT NULL
  ) AS subscribed
WHERE set_config('lock_timeout', coalesce($1, current_setting('lock_timeout')), true) IS NOT NULL;

-- The update of a conversation by a message, which also touches its contact.
WITH contacts_written AS (
    UPDATE contacts stored
    SET (last_activity_at, updated_at, last_activity_preview, last_conversation_id, version) = ROW (
        CASE WHEN stored.last_activity_at IS NULL THEN (given.touch ->> 'at')::timestamptz
          ELSE greatest(stored.last_activity_at, stored.last_activity_at, (given.touch ->> 'at')::timestamptz) END,
        CASE WHEN stored.updated_at IS NULL THEN (given.touch ->> 'at')::timestamptz
          ELSE greatest(stored.updated_at, stored.updated_at, (given.touch ->> 'at')::timestamptz) END,
        CASE WHEN given.touch IS NULL OR stored.last_activity_at > (given.touch ->> 'at')::timestamptz THEN stored.last_activity_preview
          ELSE (given.touch ->> 'preview')::text END,
        CASE WHEN given.touch IS NULL OR stored.last_activity_at > (given.touch ->> 'at')::timestamptz THEN stored.last_conversation_id
          ELSE (given.touch ->> 'conversation_id')::uuid END,
        stored.version + (given.fields IS NOT NULL)::integer
    )
    FROM jsonb_to_recordset($6::jsonb) AS given (organization_id uuid, id uuid, version integer, fields jsonb, touch jsonb)
    WHERE stored.organization_id = given.organization_id AND stored.id = given.id
      AND stored.organization_id = ANY($7::uuid[])
      AND stored.id = ANY($8::uuid[])
      AND (given.version IS NULL OR stored.version = given.version)
    RETURNING given.organization_id, stored.id, given.version AS found, given.fields
),

conversations_written AS (
    UPDATE conversations stored
    SET (channel_id, contact_id, identity_id, status, close_category, assigned_user_id, agent_id, created_at, opened_at, closed_at, last_activity_at, last_activity_preview, last_inbound_at, version) = (
      SELECT
        updated.channel_id,
        updated.contact_id,
        updated.identity_id,
        updated.status,
        updated.close_category,
        updated.assigned_user_id,
        updated.agent_id,
        updated.created_at,
        updated.opened_at,
        updated.closed_at,
        CASE WHEN updated.last_activity_at IS NULL THEN (given.touch ->> 'at')::timestamptz
          ELSE greatest(stored.last_activity_at, updated.last_activity_at, (given.touch ->> 'at')::timestamptz) END,
        CASE WHEN given.touch IS NULL OR stored.last_activity_at > (given.touch ->> 'at')::timestamptz THEN updated.last_activity_preview
          ELSE (given.touch ->> 'preview')::text END,
        CASE WHEN updated.last_inbound_at IS NULL THEN (given.touch ->> 'last_inbound_at')::timestamptz
          ELSE greatest(stored.last_inbound_at, updated.last_inbound_at, (given.touch ->> 'last_inbound_at')::timestamptz) END,
        stored.version + (given.fields IS NOT NULL)::integer
      FROM jsonb_populate_record(stored, coalesce(given.fields, '{}')) updated
    )
    FROM jsonb_to_recordset($2::jsonb) AS given (organization_id uuid, id uuid, version integer, fields jsonb, touch jsonb)
    WHERE stored.organization_id = given.organization_id AND stored.id = given.id
      AND stored.organization_id = ANY($3::uuid[])
      AND stored.id = ANY($4::uuid[])
      AND (given.version IS NULL OR stored.version = given.version)
    RETURNING given.organization_id, stored.id, given.version AS found, given.fields
)

SELECT
  commit_requires(
    true,
    true
    AND (SELECT count(found) FROM contacts_written) = $9::integer
    AND (SELECT count(found) FROM conversations_written) = $5::integer
  )
WHERE set_config('lock_timeout', coalesce($1, current_setting('lock_timeout')), true) IS NOT NULL;
