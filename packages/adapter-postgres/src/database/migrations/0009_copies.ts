import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * The preparation of 0009, which runs while processes of the earlier version still
 * write. It copies the identities, tags and search text of a contact into the
 * contact's row, and makes one row for each provider message id. Triggers apply all
 * new writes to these copies, so that the existing rows can be copied in slices.
 *
 * Every step is idempotent.
 */

/** Indexes of contacts by owner and stage, and of conversations by member, without the many rows that have none. */
export const partial = {
  contacts_owner: {
    name: "contacts_owned",
    definition: `contacts (organization_id, owner_user_id, updated_at DESC, id DESC) WHERE owner_user_id IS NOT NULL`
  },
  contacts_stage: {
    name: "contacts_staged",
    definition: `contacts (organization_id, lifecycle_stage, updated_at DESC, id DESC)
      WHERE lifecycle_stage IS NOT NULL`
  },
  conversations_assigned: {
    name: "conversations_of_member",
    definition: `conversations (organization_id, assigned_user_id, last_activity_at DESC, id DESC)
      WHERE assigned_user_id IS NOT NULL`
  },
  conversations_assigned_status: {
    name: "conversations_of_member_by_status",
    definition: `conversations (organization_id, assigned_user_id, status, last_activity_at DESC, id DESC)
      WHERE assigned_user_id IS NOT NULL`
  }
}

/** The columns and the table that hold the copies. */
export const places = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    ALTER TABLE contacts
    ADD COLUMN IF NOT EXISTS identities jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN IF NOT EXISTS tags jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN IF NOT EXISTS search_text text COLLATE "C" NOT NULL DEFAULT ''
  `
  // One row for a message, or for updates that arrived before it. Both have this key, so they conflict.
  yield* sql`
    CREATE TABLE IF NOT EXISTS provider_messages (
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
    CREATE INDEX IF NOT EXISTS provider_messages_early ON provider_messages (created_at) WHERE message_id IS NULL
  `
})

// SECURITY DEFINER: a writing process may have no privileges on the new table. The rows are locked by a separate
// statement, so that the next one sees what was committed while it waited for the locks.
const copyContacts = `
  CREATE OR REPLACE FUNCTION copy_to_contacts(organizations uuid[], ids uuid[]) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
  AS $$
  BEGIN
    PERFORM 1
    FROM contacts c
    JOIN unnest(organizations, ids) AS k (organization_id, id) USING (organization_id, id)
    ORDER BY c.organization_id, c.id
    FOR NO KEY UPDATE OF c;
    UPDATE contacts c
    SET
      search_text = coalesce((
        SELECT search_text
        FROM contact_texts t
        WHERE t.organization_id = c.organization_id AND t.contact_id = c.id
      ), ''),
      identities = coalesce((
        SELECT jsonb_agg(
          jsonb_build_object(
            'id', i.id, 'channel_type', i.channel_type, 'external_id', i.external_id,
            'display_name', i.display_name, 'username', i.username
          )
          ORDER BY i.id
        )
        FROM identities i
        WHERE i.organization_id = c.organization_id AND i.contact_id = c.id
      ), '[]'),
      tags = coalesce((
        SELECT jsonb_agg(jsonb_build_object('id', t.id, 'name', t.name, 'color', t.color) ORDER BY t.name_key)
        FROM contact_tags ct
        JOIN tags t ON t.organization_id = ct.organization_id AND t.id = ct.tag_id
        WHERE ct.organization_id = c.organization_id AND ct.contact_id = c.id
      ), '[]')
    FROM unnest(organizations, ids) AS k (organization_id, id)
    WHERE c.organization_id = k.organization_id AND c.id = k.id;
  END
  $$
`

const copyOne = `
  CREATE OR REPLACE FUNCTION copy_one_to_contacts() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
  AS $$
  BEGIN
    IF TG_OP <> 'INSERT' THEN
      PERFORM copy_to_contacts(ARRAY[OLD.organization_id], ARRAY[OLD.contact_id]);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      PERFORM copy_to_contacts(ARRAY[NEW.organization_id], ARRAY[NEW.contact_id]);
    END IF;
    RETURN NULL;
  END
  $$
`

const copyMessage = `
  CREATE OR REPLACE FUNCTION copy_to_provider_messages() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT
  AS $$
  BEGIN
    INSERT INTO provider_messages
      (organization_id, channel_id, provider_message_id, conversation_id, message_id, early_updates, created_at)
    VALUES (
      NEW.organization_id, NEW.channel_id, NEW.provider_message_id, NEW.conversation_id, NEW.id, '[]', NEW.created_at
    )
    ON CONFLICT DO NOTHING;
    RETURN NULL;
  END
  $$
`

/** Keep the copies current while the existing rows are copied. */
const triggers = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [copyContacts, copyOne, copyMessage]) yield* sql.unsafe(statement)
  for (const table of ["identities", "contact_tags", "contact_texts"]) {
    yield* sql`
      CREATE OR REPLACE TRIGGER copied AFTER INSERT OR UPDATE OR DELETE ON ${sql(table)}
      FOR EACH ROW EXECUTE FUNCTION copy_one_to_contacts()
    `
  }
  yield* sql`
    CREATE OR REPLACE TRIGGER copied AFTER INSERT OR UPDATE OF provider_message_id ON messages
    FOR EACH ROW WHEN (NEW.provider_message_id IS NOT NULL) EXECUTE FUNCTION copy_to_provider_messages()
  `
})

/** Removes the triggers. */
export const removeTriggers = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  for (const name of ["copy_one_to_contacts", "copy_to_contacts", "copy_to_provider_messages"]) {
    yield* sql`DROP FUNCTION IF EXISTS ${sql(name)} CASCADE`
  }
})

const first = "00000000-0000-0000-0000-000000000000"

interface ContactKey {
  readonly organization_id: string
  readonly id: string
}

/** Fills the copies of the next 1,000 contacts, and returns the last of them. */
const copySlice = Effect.fnUntraced(function*(after: ContactKey) {
  const sql = yield* SqlClient.SqlClient
  const slice = yield* sql<ContactKey>`
    SELECT organization_id, id
    FROM contacts
    WHERE (organization_id, id) > (${after.organization_id}::uuid, ${after.id}::uuid)
    ORDER BY organization_id, id
    LIMIT 1000
  `
  if (slice.length > 0) {
    yield* sql`
      SELECT copy_to_contacts(
        ${slice.map((key) => key.organization_id)}::text[]::uuid[], ${slice.map((key) => key.id)}::text[]::uuid[]
      )
    `
  }
  return slice.at(-1)
})

interface MessageKey extends ContactKey {
  readonly conversation_id: string
}

/** Inserts the rows of the next 5,000 messages, and returns the last of them. */
const messageSlice = Effect.fnUntraced(function*(after: MessageKey) {
  const sql = yield* SqlClient.SqlClient
  const [last] = yield* sql<MessageKey>`
    WITH slice AS (
      SELECT organization_id, conversation_id, id, channel_id, provider_message_id, created_at
      FROM messages
      WHERE (organization_id, conversation_id, id) >
        (${after.organization_id}::uuid, ${after.conversation_id}::uuid, ${after.id}::uuid)
      ORDER BY organization_id, conversation_id, id
      LIMIT 5000
    ), copied AS (
      INSERT INTO provider_messages
        (organization_id, channel_id, provider_message_id, conversation_id, message_id, early_updates, created_at)
      SELECT organization_id, channel_id, provider_message_id, conversation_id, id, '[]', created_at
      FROM slice
      WHERE provider_message_id IS NOT NULL
      ON CONFLICT DO NOTHING
    )
    SELECT organization_id, conversation_id, id
    FROM slice
    ORDER BY organization_id DESC, conversation_id DESC, id DESC
    LIMIT 1
  `
  return last
})

/** Creates an index concurrently with writes. An invalid index of an interrupted run is created again. */
export const build = Effect.fnUntraced(function*(name: string, definition: string) {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly valid: boolean }>`
    SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass(${name})
  `
  if (found?.valid === true) return
  // No timeout: it waits for all older transactions, and blocks no other statement meanwhile.
  yield* sql`SET lock_timeout = 0`
  if (found !== undefined) yield* sql`DROP INDEX CONCURRENTLY ${sql(name)}`.unprepared
  yield* sql`CREATE INDEX CONCURRENTLY ${sql(name)} ON ${sql.literal(definition)}`.unprepared
})

export type Patiently = <A, E>(
  step: Effect.Effect<A, E, SqlClient.SqlClient>
) => Effect.Effect<A, E, SqlClient.SqlClient>

/** Prepares 0009. `patiently` retries a step whose table is locked. */
export const prepare = Effect.fnUntraced(function*(patiently: Patiently) {
  yield* patiently(places)
  yield* patiently(triggers)
  let contact: ContactKey | undefined = { organization_id: first, id: first }
  while (contact !== undefined) contact = yield* patiently(copySlice(contact))
  let message: MessageKey | undefined = { organization_id: first, conversation_id: first, id: first }
  while (message !== undefined) message = yield* patiently(messageSlice(message))
  for (const { definition, name } of Object.values(partial)) yield* build(name, definition)
})
