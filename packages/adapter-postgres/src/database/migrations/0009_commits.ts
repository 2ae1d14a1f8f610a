import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * What commits need: versions, copies of identities and tags in the contact's row,
 * one row for each provider message id, and lanes that a commit changes only when
 * they are idle.
 *
 * Processes of an earlier version cannot write to this schema: stop them first.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  const versioned = [
    "organizations",
    "members",
    "api_keys",
    "channels",
    "tags",
    "contact_fields",
    "contacts",
    "identities",
    "identity_names",
    "conversations",
    "messages",
    "media",
    "sends",
    "webhooks",
    "webhook_deliveries"
  ]
  for (const table of versioned) {
    yield* sql`ALTER TABLE ${sql(table)} ADD COLUMN version integer NOT NULL DEFAULT 1`
  }

  // Raises an error that undoes the statement around it; `MC001` where the lease of the claimed work was lost.
  yield* sql`
    CREATE FUNCTION commit_requires(held boolean, stands boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
    BEGIN
      IF NOT held THEN
        RAISE EXCEPTION 'the claim no longer holds its item' USING ERRCODE = 'MC001';
      END IF;
      IF NOT stands THEN
        RAISE EXCEPTION 'a row has changed since it was loaded' USING ERRCODE = 'serialization_failure';
      END IF;
    END
    $$
  `
  // As core's \`deliveryIdOf\`: the event's id with the last 48 bits of both.
  yield* sql`
    CREATE FUNCTION webhook_delivery_id(event_id uuid, webhook_id uuid) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (
      left(event_id::text, 24) || lpad(
        to_hex((
          ('x' || right(event_id::text, 12))::bit(48) # ('x' || right(webhook_id::text, 12))::bit(48)
        )::bigint),
        12,
        '0'
      )
    )::uuid
  `

  yield* sql`
    ALTER TABLE contacts
    ADD COLUMN identities jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN tags jsonb NOT NULL DEFAULT '[]'
  `
  yield* sql`
    UPDATE contacts c
    SET identities = i.identities
    FROM (
      SELECT organization_id, contact_id, jsonb_agg(
        jsonb_build_object(
          'id', id, 'channel_type', channel_type, 'external_id', external_id,
          'display_name', display_name, 'username', username
        )
        ORDER BY id
      ) AS identities
      FROM identities
      GROUP BY organization_id, contact_id
    ) i
    WHERE c.organization_id = i.organization_id AND c.id = i.contact_id
  `
  yield* sql`
    UPDATE contacts c
    SET tags = t.tags
    FROM (
      SELECT ct.organization_id, ct.contact_id, jsonb_agg(
        jsonb_build_object('id', t.id, 'name', t.name, 'color', t.color)
        ORDER BY t.name_key
      ) AS tags
      FROM contact_tags ct
      JOIN tags t ON t.organization_id = ct.organization_id AND t.id = ct.tag_id
      GROUP BY ct.organization_id, ct.contact_id
    ) t
    WHERE c.organization_id = t.organization_id AND c.id = t.contact_id
  `

  // One row for a message and for the updates that arrived before it, so that they conflict on the primary key.
  yield* sql`
    CREATE TABLE provider_messages (
      organization_id uuid NOT NULL,
      channel_id uuid NOT NULL,
      provider_message_id text COLLATE "C" NOT NULL CHECK (char_length(provider_message_id) BETWEEN 1 AND 500),
      conversation_id uuid,
      message_id uuid,
      early_updates jsonb NOT NULL,
      created_at timestamptz(3) NOT NULL,
      version integer NOT NULL DEFAULT 1,
      PRIMARY KEY (organization_id, channel_id, provider_message_id),
      CHECK ((conversation_id IS NULL) = (message_id IS NULL))
    )
  `
  yield* sql`
    INSERT INTO provider_messages
      (organization_id, channel_id, provider_message_id, conversation_id, message_id, early_updates, created_at)
    SELECT organization_id, channel_id, provider_message_id, conversation_id, id, '[]', created_at
    FROM messages
    WHERE provider_message_id IS NOT NULL
    UNION ALL
    SELECT organization_id, channel_id, provider_message_id, NULL, NULL, jsonb_agg(
      jsonb_build_object(
        'status', status,
        'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      ) || CASE WHEN status = 'edited' THEN jsonb_build_object('text', text) ELSE '{}' END
      ORDER BY at
    ), min(parked_at)
    FROM parked_reports
    GROUP BY organization_id, channel_id, provider_message_id
    ON CONFLICT DO NOTHING
  `
  yield* sql`CREATE INDEX provider_messages_early ON provider_messages (created_at) WHERE message_id IS NULL`
  yield* sql`DROP TABLE parked_reports`
  yield* sql`ALTER TABLE messages DROP CONSTRAINT messages_provider_message_id_unique`
  // Of a message that was read, `delivered_at` is now null where the provider reported no delivery.
  yield* sql`ALTER TABLE messages DROP CONSTRAINT messages_check1`

  yield* sql`ALTER TABLE sends ADD COLUMN may_be_sent boolean NOT NULL DEFAULT false`
  yield* sql`UPDATE sends SET may_be_sent = true WHERE status = 'unknown'`
  // Nothing reads this table: the API shows the last attempt, which is stored in the delivery.
  yield* sql`DROP TABLE webhook_attempts`

  // The rows referred to are never deleted, and core has read them. Each check of a foreign key would lock a row for nothing.
  yield* sql`ALTER TABLE work DROP CONSTRAINT work_organization_id_fkey`
  yield* sql`ALTER TABLE idempotency_keys DROP CONSTRAINT idempotency_keys_organization_id_fkey`
  yield* sql`ALTER TABLE sends DROP CONSTRAINT sends_organization_id_channel_id_fkey`
  yield* sql`ALTER TABLE sends DROP CONSTRAINT sends_organization_id_member_id_fkey`

  yield* sql`
    ALTER TABLE work
    DROP COLUMN id,
    DROP CONSTRAINT work_ref_unique,
    ADD PRIMARY KEY (kind, ref),
    ADD COLUMN defects integer NOT NULL DEFAULT 0
  `
  yield* sql`
    UPDATE work
    SET kind = 'webhook_delivery', lane_name = 'webhook_' || lane_name
    WHERE kind = 'delivery'
  `
  yield* sql`DROP INDEX work_lanes_due`
  // \`closed\`: settling the lane's claimed items schedules its next turn, so adding an item does not have to.
  yield* sql`
    ALTER TABLE work_lanes
    DROP COLUMN inflight,
    ADD COLUMN closed boolean NOT NULL DEFAULT false,
    ADD COLUMN emptied_at timestamptz(3)
  `
  yield* sql`UPDATE work_lanes SET name = 'webhook_' || name WHERE kind = 'delivery'`
  yield* sql`UPDATE work_lanes SET next_due = '-infinity'`
  yield* sql`CREATE INDEX work_lanes_due ON work_lanes (kind, next_due)`
  yield* sql`CREATE INDEX work_lanes_empty ON work_lanes (emptied_at) WHERE emptied_at IS NOT NULL`
})
