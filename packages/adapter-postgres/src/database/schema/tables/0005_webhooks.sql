-- Webhooks, events, and their deliveries.

CREATE TABLE webhooks (
  organization_id uuid NOT NULL REFERENCES organizations,
  id uuid NOT NULL,
  url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2048),
  event_types text[] NOT NULL CHECK (cardinality(event_types) BETWEEN 1 AND 5),
  include_resource boolean NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'disabled')),
  sealed_secret text COLLATE "C" NOT NULL,
  consecutive_failures integer NOT NULL CHECK (consecutive_failures >= 0),
  first_failure_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  disabled_at timestamptz(3),
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id),
  CHECK ((status = 'disabled') = (disabled_at IS NOT NULL)),
  CHECK ((consecutive_failures = 0) = (first_failure_at IS NULL))
);
CREATE INDEX webhooks_recent ON webhooks (organization_id, created_at DESC, id DESC);
CREATE INDEX webhooks_active ON webhooks (organization_id, include_resource DESC) WHERE status = 'active';

-- An event has a full body and the contact that it is about only if a webhook with `include_resource` subscribed to it.
CREATE TABLE webhook_events (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  body text NOT NULL,
  created_at timestamptz(3) NOT NULL,
  full_body text,
  contact_id uuid,
  message_id uuid,
  -- The transaction that committed the event. Followers read events in the order of these numbers.
  committed_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
  -- Its numbers in the databases that the organization has left, so that the cursors of followers stay valid.
  earlier_commits xid8[],
  PRIMARY KEY (organization_id, id),
  CHECK ((full_body IS NULL) = (contact_id IS NULL)),
  CHECK (full_body IS NOT NULL OR message_id IS NULL)
);
CREATE INDEX webhook_events_age ON webhook_events (created_at);
CREATE INDEX webhook_events_recent ON webhook_events (organization_id, type, created_at, id);
CREATE INDEX webhook_events_committed ON webhook_events (organization_id, committed_in, id);
CREATE INDEX webhook_events_contact ON webhook_events (organization_id, contact_id) WHERE contact_id IS NOT NULL;
CREATE INDEX webhook_events_message ON webhook_events (organization_id, message_id) WHERE message_id IS NOT NULL;

CREATE TABLE webhook_replays (
  organization_id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  id uuid NOT NULL,
  since timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL,
  position_at timestamptz(3) NOT NULL,
  position_id uuid NOT NULL,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, webhook_id),
  FOREIGN KEY (organization_id, webhook_id) REFERENCES webhooks
);

CREATE TABLE webhook_deliveries (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  webhook_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
  attempt_count integer NOT NULL CHECK (attempt_count >= 0),
  response_status integer,
  response_body text,
  failure_code text,
  duration_ms integer CHECK (duration_ms >= 0),
  last_attempt_at timestamptz(3),
  next_attempt_at timestamptz(3),
  created_at timestamptz(3) NOT NULL,
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id),
  FOREIGN KEY (organization_id, event_id) REFERENCES webhook_events ON DELETE CASCADE,
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
);
CREATE INDEX webhook_deliveries_recent ON webhook_deliveries (organization_id, webhook_id, created_at DESC, id DESC);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (organization_id, webhook_id, created_at DESC, id DESC)
WHERE status = 'pending';
CREATE INDEX webhook_deliveries_event ON webhook_deliveries (organization_id, event_id);
