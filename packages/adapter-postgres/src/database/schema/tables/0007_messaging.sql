-- Conversations, messages with their files, sends, and callbacks of the networks.

CREATE TABLE conversations (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  channel_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  identity_id uuid NOT NULL,
  status text NOT NULL CHECK (status IN ('open', 'closed')),
  close_category text CHECK (char_length(close_category) BETWEEN 1 AND 64),
  assigned_user_id uuid,
  agent_id text,
  created_at timestamptz(3) NOT NULL,
  opened_at timestamptz(3) NOT NULL,
  closed_at timestamptz(3),
  last_activity_at timestamptz(3) NOT NULL,
  last_activity_preview text CHECK (char_length(last_activity_preview) <= 140),
  last_inbound_at timestamptz(3),
  version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organization_id, id),
  CONSTRAINT conversations_thread_unique UNIQUE (organization_id, channel_id, identity_id),
  FOREIGN KEY (organization_id, channel_id) REFERENCES channels,
  FOREIGN KEY (organization_id, contact_id) REFERENCES contacts,
  FOREIGN KEY (organization_id, contact_id, identity_id) REFERENCES identities (organization_id, contact_id, id),
  FOREIGN KEY (organization_id, assigned_user_id) REFERENCES members,
  CHECK ((status = 'closed') = (closed_at IS NOT NULL)),
  CHECK (status = 'closed' OR close_category IS NULL)
);
CREATE INDEX conversations_recent ON conversations (organization_id, last_activity_at DESC, id DESC);
CREATE INDEX conversations_status ON conversations (organization_id, status, last_activity_at DESC, id DESC);
CREATE INDEX conversations_assigned
ON conversations (organization_id, assigned_user_id, channel_id, status, last_activity_at DESC, id DESC);
CREATE INDEX conversations_of_channel ON conversations (organization_id, channel_id, status, last_activity_at DESC, id DESC);

-- A message that was read has no `delivered_at` if the provider reported no delivery. `STORAGE EXTERNAL` turns compression off,
-- so that lists know the length of a value without reading it.
CREATE TABLE messages (
  organization_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  id uuid NOT NULL,
  channel_id uuid NOT NULL,
  direction text NOT NULL CHECK (direction IN ('inbound', 'outbound')),
  type text NOT NULL CHECK (char_length(type) BETWEEN 1 AND 40),
  text text,
  sender jsonb NOT NULL,
  status text NOT NULL CHECK (status IN ('received', 'sent', 'delivered', 'read', 'failed')),
  media jsonb STORAGE EXTERNAL,
  provider_message_id text COLLATE "C" CHECK (char_length(provider_message_id) BETWEEN 1 AND 500),
  created_at timestamptz(3) NOT NULL,
  sent_at timestamptz(3),
  delivered_at timestamptz(3),
  read_at timestamptz(3),
  failed_at timestamptz(3),
  edited_at timestamptz(3),
  deleted_at timestamptz(3),
  version integer NOT NULL DEFAULT 1,
  details jsonb STORAGE EXTERNAL,
  PRIMARY KEY (organization_id, conversation_id, id),
  FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations,
  CHECK ((direction = 'inbound') = (status = 'received'))
);
CREATE INDEX messages_recent ON messages (organization_id, conversation_id, created_at DESC, id DESC);
CREATE INDEX messages_age ON messages (created_at);

-- One row for a message, or for updates that arrived before it. Both have this key, so they conflict.
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
);
CREATE INDEX provider_messages_early ON provider_messages (created_at) WHERE message_id IS NULL;

-- The files of messages. A file without a size is incomplete.
CREATE TABLE media (
  organization_id uuid NOT NULL REFERENCES organizations,
  id uuid NOT NULL,
  mime_type text,
  filename text,
  byte_size integer CHECK (byte_size BETWEEN 0 AND 16000000),
  begun_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX media_unfinished ON media (begun_at) WHERE byte_size IS NULL;

-- The bytes of files, so that no process holds a whole file. They are compressed already, so `STORAGE EXTERNAL` turns
-- compression off.
CREATE TABLE media_slices (
  organization_id uuid NOT NULL,
  media_id uuid NOT NULL,
  start integer NOT NULL CHECK (start >= 0),
  bytes bytea STORAGE EXTERNAL NOT NULL CHECK (octet_length(bytes) <= 16000000),
  PRIMARY KEY (organization_id, media_id, start),
  FOREIGN KEY (organization_id, media_id) REFERENCES media ON DELETE CASCADE
);

-- No foreign key refers to messages, because each removal of a message would have to search all sends. Sends are removed
-- before their messages.
CREATE TABLE sends (
  organization_id uuid NOT NULL,
  id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  channel_id uuid NOT NULL,
  recipient text NOT NULL,
  member_id uuid,
  content jsonb STORAGE EXTERNAL NOT NULL,
  status text NOT NULL CHECK (status IN ('queued', 'sending', 'sent', 'failed', 'unknown')),
  message_id uuid,
  failure_reason text,
  created_at timestamptz(3) NOT NULL,
  first_attempt_at timestamptz(3),
  version integer NOT NULL DEFAULT 1,
  may_be_sent boolean NOT NULL DEFAULT false,
  PRIMARY KEY (organization_id, id),
  FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations,
  CHECK ((status = 'sent') = (message_id IS NOT NULL)),
  CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
);
CREATE INDEX sends_age ON sends (created_at);

CREATE INDEX sends_recent ON sends (organization_id, created_at DESC, id DESC);
CREATE INDEX sends_of_conversation ON sends (organization_id, conversation_id, created_at DESC, id DESC);
-- No index has `status`, so that the updates at the beginning of an attempt write no index.
CREATE INDEX sends_open ON sends (organization_id, created_at DESC, id DESC)
WHERE message_id IS NULL AND failure_reason IS NULL;
CREATE INDEX sends_failed ON sends (organization_id, created_at DESC, id DESC) WHERE failure_reason IS NOT NULL;

-- Bodies of callbacks, from before the network is answered until they are processed. Erasures find them by channel and
-- people.
CREATE TABLE provider_callbacks (
  id uuid PRIMARY KEY,
  source text NOT NULL,
  body bytea NOT NULL,
  received_at timestamptz(3) NOT NULL,
  channel_id uuid,
  -- Zeros for a body without a connected channel.
  organization_id uuid NOT NULL,
  people jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(people) = 'array'),
  version integer NOT NULL DEFAULT 1
);
-- Commits lock rows in the order of this index.
CREATE UNIQUE INDEX provider_callbacks_key ON provider_callbacks (organization_id, id);
