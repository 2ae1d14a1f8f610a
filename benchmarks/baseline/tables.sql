-- The baseline's tables, in a schema of their own. A contact's row contains copies of its tags and identities, so that no read
-- joins. Its search text is in another table, so that an edit of something else does not touch the trigram index. The rate
-- windows are unlogged, because a crash may empty them.
CREATE SCHEMA baseline;
SET search_path = baseline, public;

CREATE TABLE members (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  name text NOT NULL,
  role text NOT NULL,
  removed_at timestamptz(3)
);

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  member_id uuid NOT NULL REFERENCES members,
  digest bytea NOT NULL UNIQUE,
  scopes text[] NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3)
);

-- Leaves space for new versions of a row on its page.
CREATE UNLOGGED TABLE rate_windows (
  key_id uuid PRIMARY KEY,
  opened_at timestamptz NOT NULL,
  used integer NOT NULL
) WITH (fillfactor = 10);

CREATE TABLE contact_fields (id uuid PRIMARY KEY, organization_id uuid NOT NULL);

CREATE TABLE tags (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  name text NOT NULL,
  color text NOT NULL
);

CREATE TABLE contacts (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  first_name text,
  last_name text,
  primary_email text,
  primary_phone text,
  company text,
  job_title text,
  birthday date,
  city text,
  region text,
  country text,
  street_address text,
  postal_code text,
  website_url text,
  network_url text,
  source text,
  notes text,
  owner_user_id uuid,
  lead_status text,
  lifecycle_stage text,
  custom_values jsonb NOT NULL,
  identities json NOT NULL,
  tags json NOT NULL,
  tag_ids uuid[] NOT NULL,
  last_activity_at timestamptz(3),
  last_activity_preview text,
  last_conversation_id uuid,
  updated_at timestamptz(3) NOT NULL
) WITH (fillfactor = 90);

CREATE TABLE contact_texts (
  contact_id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  search_text text COLLATE "C" NOT NULL
);

CREATE TABLE contact_tags (contact_id uuid NOT NULL, tag_id uuid NOT NULL, PRIMARY KEY (contact_id, tag_id));

CREATE TABLE conversations (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  last_inbound_at timestamptz(3)
);

CREATE TABLE messages (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  direction text NOT NULL,
  type text NOT NULL,
  text text,
  sender_type text NOT NULL,
  sender_name text,
  status text NOT NULL,
  media json,
  details json,
  provider_message_id text,
  created_at timestamptz(3) NOT NULL,
  sent_at timestamptz(3),
  delivered_at timestamptz(3),
  read_at timestamptz(3),
  failed_at timestamptz(3),
  edited_at timestamptz(3),
  deleted_at timestamptz(3)
);

CREATE TABLE sends (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  member_id uuid NOT NULL,
  text text NOT NULL,
  status text NOT NULL DEFAULT 'queued',
  created_at timestamptz(3) NOT NULL
);

-- The queue, from which workers would claim with FOR UPDATE SKIP LOCKED.
CREATE TABLE jobs (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  lane uuid NOT NULL,
  due_at timestamptz NOT NULL DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,
  leased_until timestamptz
);

CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  status text NOT NULL,
  event_types text[] NOT NULL
);

CREATE TABLE events (
  id uuid PRIMARY KEY,
  organization_id uuid NOT NULL,
  type text NOT NULL,
  body text NOT NULL,
  created_at timestamptz(3) NOT NULL
);

CREATE TABLE deliveries (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL,
  event_id uuid NOT NULL,
  status text NOT NULL DEFAULT 'pending',
  created_at timestamptz(3) NOT NULL
);

CREATE TABLE idempotency_keys (
  organization_id uuid NOT NULL,
  key text COLLATE "C" NOT NULL,
  fingerprint bytea NOT NULL,
  status smallint NOT NULL,
  body text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, key)
);
