import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { partial, places, removeTriggers } from "./0009_copies.ts"

/**
 * What commits need: versions, copies of identities and tags in the contact's row,
 * one row for each provider message id, and lanes that a commit changes only when
 * they are idle.
 *
 * Processes of an earlier version cannot write to this schema. Stop them first.
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

  // Raises an error that rolls back its statement: `MC001` if the lease of the claimed work was lost.
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
  // The same as core's \`deliveryIdOf\`: the event's id, its last 48 bits XORed with those of the webhook's id.
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

  // In a database with data the preparation has already made all of this.
  yield* places
  yield* removeTriggers
  yield* sql`ALTER TABLE contacts ALTER COLUMN search_text DROP DEFAULT`
  for (const [former, { definition, name }] of Object.entries(partial)) {
    yield* sql`CREATE INDEX IF NOT EXISTS ${sql(name)} ON ${sql.literal(definition)}`
    yield* sql`DROP INDEX ${sql(former)}`
  }

  yield* sql`
    INSERT INTO provider_messages
      (organization_id, channel_id, provider_message_id, conversation_id, message_id, early_updates, created_at)
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
  yield* sql`DROP TABLE parked_reports`
  yield* sql`ALTER TABLE messages DROP CONSTRAINT messages_provider_message_id_unique`
  // A message that was read now has a null `delivered_at` if the provider reported no delivery.
  yield* sql`ALTER TABLE messages DROP CONSTRAINT messages_check1`

  yield* sql`ALTER TABLE sends ADD COLUMN may_be_sent boolean NOT NULL DEFAULT false`
  yield* sql`UPDATE sends SET may_be_sent = true WHERE status = 'unknown'`
  // Nothing reads this table: the API shows the last attempt, which is stored in the delivery.
  yield* sql`DROP TABLE webhook_attempts`

  // The referenced rows are never deleted, and core has read them. The checks of these keys only cost row locks: many at
  // once on one row cost more than the statement itself.
  const unneeded = {
    work: ["organization_id"],
    idempotency_keys: ["organization_id"],
    media: ["organization_id"],
    messages: ["organization_id_channel_id"],
    sends: ["organization_id_channel_id", "organization_id_member_id"],
    webhook_events: ["organization_id"],
    webhook_deliveries: ["organization_id_webhook_id"]
  }
  for (const [table, keys] of Object.entries(unneeded)) {
    for (const key of keys) yield* sql`ALTER TABLE ${sql(table)} DROP CONSTRAINT ${sql(`${table}_${key}_fkey`)}`
  }

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
  // \`closed\`: settling the lane's claimed items schedules its next claim, so that adding an item does not have to.
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
