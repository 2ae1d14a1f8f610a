import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Conversations, messages and sends. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
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
      PRIMARY KEY (organization_id, id),
      CONSTRAINT conversations_thread_unique UNIQUE (organization_id, channel_id, identity_id),
      FOREIGN KEY (organization_id, channel_id) REFERENCES channels (organization_id, id),
      FOREIGN KEY (organization_id, contact_id) REFERENCES contacts (organization_id, id),
      FOREIGN KEY (organization_id, contact_id, identity_id) REFERENCES identities (organization_id, contact_id, id),
      FOREIGN KEY (organization_id, assigned_user_id) REFERENCES members (organization_id, id),
      CHECK ((status = 'closed') = (closed_at IS NOT NULL)),
      CHECK (status = 'closed' OR close_category IS NULL)
    )
  `
  yield* sql`
    CREATE INDEX conversations_recent ON conversations (organization_id, last_activity_at DESC, id DESC)
  `
  yield* sql`
    CREATE INDEX conversations_status ON conversations (organization_id, status, last_activity_at DESC, id DESC)
  `
  yield* sql`
    CREATE INDEX conversations_assigned
    ON conversations (organization_id, assigned_user_id, last_activity_at DESC, id DESC)
  `
  yield* sql`
    CREATE INDEX conversations_assigned_status
    ON conversations (organization_id, assigned_user_id, status, last_activity_at DESC, id DESC)
  `
  yield* sql`
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
      media jsonb,
      provider_message_id text COLLATE "C" CHECK (char_length(provider_message_id) BETWEEN 1 AND 500),
      created_at timestamptz(3) NOT NULL,
      sent_at timestamptz(3),
      delivered_at timestamptz(3),
      read_at timestamptz(3),
      failed_at timestamptz(3),
      edited_at timestamptz(3),
      deleted_at timestamptz(3),
      PRIMARY KEY (organization_id, conversation_id, id),
      CONSTRAINT messages_provider_message_id_unique UNIQUE (organization_id, channel_id, provider_message_id),
      FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations (organization_id, id),
      FOREIGN KEY (organization_id, channel_id) REFERENCES channels (organization_id, id),
      CHECK ((direction = 'inbound') = (status = 'received')),
      CHECK (status <> 'read' OR delivered_at IS NOT NULL)
    )
  `
  yield* sql`
    CREATE INDEX messages_recent ON messages (organization_id, conversation_id, created_at DESC, id DESC)
  `
  yield* sql`
    CREATE TABLE parked_reports (
      organization_id uuid NOT NULL,
      channel_id uuid NOT NULL,
      provider_message_id text COLLATE "C" NOT NULL,
      status text NOT NULL CHECK (status IN ('sent', 'delivered', 'read', 'failed', 'edited', 'deleted')),
      text text,
      at timestamptz(3) NOT NULL,
      parked_at timestamptz(3) NOT NULL,
      PRIMARY KEY (organization_id, channel_id, provider_message_id, status, at),
      FOREIGN KEY (organization_id, channel_id) REFERENCES channels (organization_id, id)
    )
  `
  yield* sql`CREATE INDEX parked_reports_age ON parked_reports (parked_at)`
  yield* sql`
    CREATE TABLE sends (
      organization_id uuid NOT NULL,
      id uuid NOT NULL,
      conversation_id uuid NOT NULL,
      channel_id uuid NOT NULL,
      recipient text NOT NULL,
      member_id uuid,
      content jsonb NOT NULL,
      status text NOT NULL CHECK (status IN ('queued', 'sending', 'sent', 'failed', 'unknown')),
      message_id uuid,
      failure_reason text,
      created_at timestamptz(3) NOT NULL,
      first_attempt_at timestamptz(3),
      PRIMARY KEY (organization_id, id),
      FOREIGN KEY (organization_id, conversation_id) REFERENCES conversations (organization_id, id),
      FOREIGN KEY (organization_id, channel_id) REFERENCES channels (organization_id, id),
      FOREIGN KEY (organization_id, member_id) REFERENCES members (organization_id, id),
      FOREIGN KEY (organization_id, conversation_id, message_id) REFERENCES messages (organization_id, conversation_id, id),
      CHECK ((status = 'sent') = (message_id IS NOT NULL)),
      CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
    )
  `
})
