/**
 * Fills a database as after a year of use: 100,000 contacts of three organizations, and their conversations, messages, sends,
 * webhooks, and queued work. Every run inserts the same rows.
 */
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { kind_rules } from "@messaging-crm/core/WorkQueue"
import { Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { StatementDeadline } from "../src/database/StatementDeadline.ts"
import { idsOf, type Index, secondary_indexes, spread } from "./GeneratedRows.ts"

export const contact_count = 100_000
export const conversation_count = 50_000

export const { id, idOf } = idsOf([
  "organization",
  "member",
  "channel",
  "tag",
  "contact",
  "identity",
  "conversation",
  "message",
  "send",
  "work",
  "lane",
  "api_key",
  "webhook",
  "event"
])

/** The organizations with 90 %, 9 %, and 1 % of the contacts. */
export const [large, medium, small] = [1, 2, 3].map((number) => id("organization", number) as OrganizationId) as [ // made above
  OrganizationId,
  OrganizationId,
  OrganizationId
]

/** The current time of the tests. No row was created later. */
export const now = "2026-11-20T12:00:00.000Z"

const organizations = [
  `INSERT INTO organizations (id, name, created_at)
   SELECT ${idOf("organization", "n")}, 'Organization ' || n, '${now}'
   FROM generate_series(1, 3) n`,
  // 20 of each organization; 0 to 19 are those of the large one.
  `INSERT INTO members (organization_id, id, name, email, email_key, role, created_at)
   SELECT ${idOf("organization", "1 + n / 20")}, ${idOf("member", "n")}, 'Member ' || n,
     'member' || n || '@crowd.example', 'member' || n || '@crowd.example', 'admin', '${now}'
   FROM generate_series(0, 59) n`,
  `INSERT INTO api_keys (organization_id, id, digest, name, scopes, created_by, created_at, expires_at)
   SELECT ${idOf("organization", "1 + n / 200")}, ${idOf("api_key", "n")}, encode(sha256(n::text::bytea), 'hex'), 'Key',
     '["contacts:read"]', ${idOf("member", "20 * (n / 200)")}, '${now}', 'infinity'
   FROM generate_series(0, 599) n`,
  `INSERT INTO api_key_windows (key_id, opened_at, count)
   SELECT id, now(), 1 FROM api_keys`,
  // One of each type and organization; 3 to 5 are those of the large one.
  `INSERT INTO channels
     (organization_id, id, type, name, address, phone_messaging_business_account_id, connected_at)
   SELECT ${idOf("organization", "n / 3")}, ${idOf("channel", "n")},
     (ARRAY['phone_messaging', 'photo_social', 'page_messaging'])[1 + n % 3], 'Channel', 'address-' || n,
     CASE WHEN n % 3 = 0 THEN 'account' END, '${now}'
   FROM generate_series(3, 11) n`,
  // 10 of each organization; 10 to 19 are those of the large one.
  `INSERT INTO tags (organization_id, id, name, name_key, color)
   SELECT ${idOf("organization", "n / 10")}, ${idOf("tag", "n")}, 'Tag ' || n, 'tag ' || n, 'red'
   FROM generate_series(10, 39) n`
]

/**
 * Creates a temporary table with a row for each contact, from which the rows of the other tables are derived: its number `n`,
 * the number of its `organization`, its names, its `phone` (null for one in ten), its `company` (null for three in five), and
 * its `age` in days, which determines `updated_at`.
 */
const peopleOf = (contacts: number) => `
  CREATE TEMPORARY TABLE people AS
  SELECT n, CASE WHEN n % 100 < 90 THEN 1 WHEN n % 100 < 99 THEN 2 ELSE 3 END AS organization,
    (ARRAY['Anna', 'Ben', 'Clara', 'David', 'Emma', 'Felix', 'Greta', 'Hugo', 'Ida', 'Jonas', 'Klara', 'Leon', 'Mia',
      'Noah', 'Olga', 'Paul', 'Rosa', 'Simon', 'Tilda', 'Viktor'])[1 + ${spread(1, 20)}] AS first_name,
    (ARRAY['Al', 'Ber', 'Dor', 'Fal', 'Gun', 'Hel', 'Kor', 'Lin', 'Mar', 'Nor'])[1 + ${spread(2, 10)}]
      || (ARRAY['ba', 'de', 'go', 'ka', 'li', 'mo', 'ne', 'ri', 'sa', 'tu'])[1 + ${spread(3, 10)}]
      || (ARRAY['berg', 'feld', 'hof', 'mann', 'ner', 'sen', 'ski', 'son', 'stein', 'wald'])[1 + ${spread(4, 10)}]
      AS last_name,
    CASE WHEN ${spread(5, 10)} < 9 THEN '+4915' || lpad(${spread(6, 1_000_000_000)}::text, 9, '0') END AS phone,
    CASE WHEN ${spread(8, 5)} < 2 THEN
      (ARRAY['Nordwind', 'Hafen', 'Kupfer', 'Linden', 'Morgen'])[1 + ${spread(7, 5)}]
      || (ARRAY[' GmbH', ' AG', ' KG'])[1 + ${spread(9, 3)}]
    END AS company,
    ${spread(10, 365)} AS age,
    '${now}'::timestamptz - interval '1 day' * ${spread(10, 365)}
      - interval '1 ms' * ${spread(11, 86_400_000)} AS updated_at
  FROM generate_series(1, ${contacts}) n
`

/** The statements that rename people, so that some values are rare. */
const renamePeople = [
  // Each of these three names belongs to about ten contacts.
  `UPDATE people SET first_name = 'Zanzibar' WHERE n % 9973 = 1`,
  `UPDATE people SET last_name = 'Qx' WHERE n % 9973 = 2`,
  `UPDATE people SET first_name = '漢字' WHERE n % 9973 = 3`,
  `UPDATE people SET company = 'Vergessen' WHERE age > 300 AND n % 2 = 1`,
  `UPDATE people SET company = 'Elsewhere' WHERE organization = 2`
]

/**
 * Two fifths of the contacts have tag 0, a twentieth have tag 1, about fifty have tag 2, half of those older than 300 days have
 * tag 3, and a quarter have each of the tags 4 to 8. No contact has tag 9.
 */
const insertTags = `INSERT INTO contact_tags (organization_id, contact_id, tag_id)
   SELECT ${idOf("organization", "organization")}, ${idOf("contact", "n")}, ${idOf("tag", "10 * organization + tag")}
   FROM people,
     LATERAL (VALUES
       (0, ${spread(15, 5)} < 2),
       (1, ${spread(16, 20)} = 0),
       (2, n % 1999 = 1),
       (3, age > 300 AND n % 2 = 0),
       (4, ${spread(24, 4)} = 0),
       (5, ${spread(25, 4)} = 0),
       (6, ${spread(26, 4)} = 0),
       (7, ${spread(27, 4)} = 0),
       (8, ${spread(28, 4)} = 0)
     ) AS tagged (tag, holds)
   WHERE holds`

/**
 * Three of five contacts have an identity of the first type, one of twelve has one of the second type, and about fifty have one
 * of the third type.
 */
const insertIdentities = [
  `INSERT INTO identities (organization_id, id, contact_id, channel_type, external_id)
   SELECT ${idOf("organization", "organization")}, ${idOf("identity", "n * 3 + type")}, ${idOf("contact", "n")},
     (ARRAY['phone_messaging', 'photo_social', 'page_messaging'])[1 + type], 'person-' || n
   FROM people,
     LATERAL (VALUES
       (0, ${spread(17, 5)} < 3),
       (1, ${spread(18, 12)} = 0),
       (2, n % 1997 = 1)
     ) AS known (type, holds)
   WHERE holds`,
  `INSERT INTO identity_names (organization_id, channel_type, name, identity_id)
   SELECT organization_id, channel_type, external_id, id
   FROM identities`
]

const insertContacts = `INSERT INTO contacts
     (organization_id, id, first_name, last_name, primary_email, email_key, primary_phone, company, owner_user_id,
      lifecycle_stage, custom_values, search_text, updated_at, identities, tags)
   SELECT ${idOf("organization", "organization")}, ${idOf("contact", "n")}, first_name, last_name,
     CASE WHEN ${spread(19, 2)} = 0 THEN lower(last_name) || n || '@crowd.example' END,
     CASE WHEN ${spread(19, 2)} = 0 THEN lower(last_name) || n || '@crowd.example' END, phone, company,
     -- Of each organization, the first member owns a fifth and the last one about ten. Half of the contacts have no owner.
     CASE
       WHEN n % 9001 = 1 THEN ${idOf("member", "20 * organization - 1")}
       WHEN ${spread(12, 10)} < 2 THEN ${idOf("member", "20 * (organization - 1)")}
       WHEN ${spread(12, 10)} < 5 THEN ${idOf("member", `20 * (organization - 1) + 1 + ${spread(13, 18)}`)}
     END,
     CASE
       WHEN n % 9001 = 2 THEN 'evangelist'
       ELSE (ARRAY['lead', 'lead', 'lead', 'customer', 'customer', 'subscriber', NULL])[1 + ${spread(14, 7)}]
     END,
     '{}',
     concat_ws('X', lower(first_name || ' ' || last_name), phone,
       CASE WHEN ${spread(19, 2)} = 0 THEN lower(last_name) || n || '@crowd.example' END, lower(company)),
     updated_at,
     -- The row of a contact contains copies of its identities and tags.
     coalesce((
       SELECT jsonb_agg(
         jsonb_build_object(
           'id', id, 'channel_type', channel_type, 'external_id', external_id, 'display_name', display_name,
           'username', username
         )
         ORDER BY id
       )
       FROM identities
       WHERE organization_id = ${idOf("organization", "organization")} AND contact_id = ${idOf("contact", "n")}
     ), '[]'),
     coalesce((
       SELECT jsonb_agg(jsonb_build_object('id', tag.id, 'name', tag.name, 'color', tag.color) ORDER BY tag.name_key)
       FROM contact_tags held
       JOIN tags tag ON tag.organization_id = held.organization_id AND tag.id = held.tag_id
       WHERE held.organization_id = ${idOf("organization", "organization")} AND held.contact_id = ${
  idOf("contact", "n")
}
     ), '[]')
   FROM people`

const contactsOf = (contacts: number) => [
  peopleOf(contacts),
  ...renamePeople,
  insertTags,
  ...insertIdentities,
  insertContacts,
  `INSERT INTO contact_texts (organization_id, contact_id, search_text)
   SELECT organization_id, id, search_text
   FROM contacts`
]

const conversationsOf = (conversations: number) => [
  `INSERT INTO conversations
     (organization_id, id, channel_id, contact_id, identity_id, status, closed_at, assigned_user_id, created_at, opened_at,
      last_activity_at)
   SELECT organization_id, ${idOf("conversation", "n")}, ${idOf("channel", "3 * organization")}, contact_id, id,
     CASE WHEN ${spread(20, 10)} < 3 THEN 'open' ELSE 'closed' END,
     CASE WHEN ${spread(20, 10)} >= 3 THEN updated_at END,
     -- Member 19 has about five conversations, member 1 has closed ones and a few open ones, and member 18 has most open
     -- ones. Nearly half of all conversations are unassigned, and few of these are open.
     CASE
       WHEN n % 9001 = 1 THEN ${idOf("member", "20 * organization - 1")}
       WHEN ${spread(21, 10)} < 4 AND (${spread(20, 10)} >= 3 OR n % 5003 = 1)
         THEN ${idOf("member", "20 * organization - 19")}
       WHEN ${spread(21, 10)} = 5 THEN ${idOf("member", `20 * organization - 18 + ${spread(22, 16)}`)}
       WHEN ${spread(20, 10)} < 3 AND n % 5003 <> 2 THEN ${idOf("member", "20 * organization - 2")}
     END,
     updated_at, updated_at, updated_at
   FROM (
     SELECT identity.*, person.organization, person.updated_at, row_number() OVER (ORDER BY person.n) AS n
     FROM people person
     JOIN identities identity ON identity.id = ${idOf("identity", "person.n * 3")}
     LIMIT ${conversations}
   ) thread`,
  // Four in each conversation, and 20,000 more in the first one.
  `INSERT INTO messages
     (organization_id, conversation_id, id, channel_id, direction, type, text, sender, status, provider_message_id,
      created_at)
   SELECT conversation.organization_id, conversation.id, ${idOf("message", "n")}, conversation.channel_id,
     CASE WHEN n % 2 = 0 THEN 'inbound' ELSE 'outbound' END, 'text', 'What was said: ' || n,
     '{"type":"contact","name":null}', CASE WHEN n % 2 = 0 THEN 'received' ELSE 'sent' END, 'message-' || n,
     conversation.last_activity_at - interval '1 minute' * n
   FROM generate_series(1, ${conversations * 4 + 20_000}) n
   JOIN conversations conversation ON conversation.id = ${
    idOf("conversation", `CASE WHEN n > ${conversations * 4} THEN 1 ELSE 1 + n / 4 END`)
  }`,
  // Of 97 sends, one failed, one is queued, and the outcome of one is unknown.
  `INSERT INTO sends
     (organization_id, id, conversation_id, channel_id, recipient, content, status, message_id, failure_reason, created_at)
   SELECT organization_id, ${idOf("send", "n")}, conversation_id, channel_id, '+491511234567',
     '{"type":"text","text":"What was said"}', coalesce(state, 'sent'), CASE WHEN state IS NULL THEN id END,
     CASE state WHEN 'failed' THEN 'recipient_unreachable' END, created_at
   FROM (
     SELECT *, CASE n % 97 WHEN 1 THEN 'failed' WHEN 2 THEN 'queued' WHEN 3 THEN 'unknown' END AS state
     FROM (SELECT *, row_number() OVER () AS n FROM messages WHERE direction = 'outbound') numbered
   ) sent`,
  `INSERT INTO provider_messages
     (organization_id, channel_id, provider_message_id, conversation_id, message_id, early_updates, created_at)
   SELECT organization_id, channel_id, provider_message_id, conversation_id, id, '[]', created_at
   FROM messages`,
  // Updates of messages that are not stored yet.
  `INSERT INTO provider_messages (organization_id, channel_id, provider_message_id, early_updates, created_at)
   SELECT ${idOf("organization", "1")}, ${idOf("channel", "3")}, 'unknown-' || n,
     '[{"status":"read","at":"${now}"}]', '${now}'::timestamptz - interval '1 minute' * n
   FROM generate_series(1, 50000) n`
]

/**
 * Due deliveries (20,000 of one webhook and one of each of 100 others), three due sends of each of 500 conversations, and
 * 20,000 sends whose outcome is due later.
 */
const work = [
  `INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at)
   SELECT ${idOf("organization", "1")}, kind || ':' || lane, kind, lane, ${idOf("work", "n")}, due_at
   FROM (
     SELECT n, 'webhook_delivery' AS kind,
       CASE WHEN n > 20000 THEN ${idOf("lane", "n - 20000")} ELSE ${idOf("webhook", "2")} END AS lane,
       '${now}'::timestamptz - interval '1 minute' AS due_at
     FROM generate_series(1, 20100) n
     UNION ALL
     SELECT n, 'send', ${idOf("lane", "1000 + n % 500")}, '${now}'::timestamptz - interval '1 minute'
     FROM generate_series(20101, 21600) n
     UNION ALL
     SELECT n, 'send_outcome', ${idOf("lane", "n")}, '${now}'::timestamptz + interval '15 minutes'
     FROM generate_series(30001, 50000) n
   ) item`,
  `INSERT INTO work_lanes (organization_id, name, cap, allowed, fifo, next_due)
   SELECT organization_id, lane_name, cap, cap, kind <> 'webhook_delivery', min(due_at)
   FROM work
   CROSS JOIN LATERAL (SELECT CASE kind WHEN 'webhook_delivery' THEN ${kind_rules.webhook_delivery.cap} ELSE 1 END) AS kind_cap (cap)
   GROUP BY organization_id, lane_name, kind, cap`,
  `INSERT INTO idempotency_keys (organization_id, key, fingerprint, status, body, sealed, request_id, created_at)
   SELECT ${idOf("organization", "1")}, 'crowd-key-' || n, repeat('a', 64), 201, '{}', false, 'request',
     '${now}'::timestamptz - interval '5 s' * n
   FROM generate_series(1, 100000) n`
]

/** Two webhooks of each organization. The first of the large one has three deliveries of five events, including all pending ones. */
const webhooksOf = (events: number) => [
  `INSERT INTO webhooks
     (organization_id, id, url, event_types, include_resource, status, sealed_secret, consecutive_failures, created_at)
   SELECT ${idOf("organization", "n / 2")}, ${idOf("webhook", "n")}, 'https://crowd.example/' || n, '{message.sent}',
     false, 'active', 'sealed', 0, '${now}'
   FROM generate_series(2, 7) n`,
  `INSERT INTO webhook_events (organization_id, id, type, body, created_at)
   SELECT ${idOf("organization", "1")}, ${idOf("event", "n")}, 'message.sent', '{}',
     '${now}'::timestamptz - interval '1 minute' * n
   FROM generate_series(1, ${events}) n`,
  `INSERT INTO webhook_deliveries
     (organization_id, id, webhook_id, event_id, event_type, status, attempt_count, next_attempt_at, created_at)
   SELECT ${idOf("organization", "1")}, ${idOf("work", "n")}, ${idOf("webhook", "2")}, ${idOf("event", "n")},
     'message.sent', CASE WHEN n <= 20000 THEN 'pending' ELSE 'succeeded' END, 1,
     CASE WHEN n <= 20000 THEN '${now}'::timestamptz END, '${now}'::timestamptz - interval '1 minute' * n
   FROM generate_series(1, ${events * 3 / 5}) n`
]

const tables = [
  "organizations",
  "members",
  "api_keys",
  "api_key_windows",
  "channels",
  "tags",
  "contacts",
  "contact_texts",
  "contact_tags",
  "identities",
  "identity_names",
  "conversations",
  "messages",
  "sends",
  "provider_messages",
  "work",
  "work_lanes",
  "idempotency_keys",
  "webhooks",
  "webhook_events",
  "webhook_deliveries"
]

/** Removes time limits, and checks of foreign keys, which the inserted rows satisfy by construction. */
const session_settings = [
  `SET statement_timeout = 0`,
  `SET transaction_timeout = 0`,
  `SET session_replication_role = 'replica'`,
  `SET maintenance_work_mem = '256MB'`
]

/** Fills an empty schema with a number of contacts, half as many conversations, and their related rows. */
export const fillWith = Effect.fnUntraced(
  function*(contacts: number) {
    const sql = yield* SqlClient.SqlClient
    const session = yield* sql.reserve
    const run = (statement: string) => session.executeUnprepared(statement, [], undefined)
    const indexes = yield* sql.unsafe<Index>(secondary_indexes)
    for (const statement of session_settings) yield* run(statement)
    for (const { name } of indexes) yield* run(`DROP INDEX ${name}`)
    const conversations = conversationsOf(contacts * conversation_count / contact_count)
    const rows = [...organizations, ...contactsOf(contacts), ...conversations, ...work, ...webhooksOf(contacts)]
    for (const statement of rows) yield* run(statement)
    yield* run(`DROP TABLE people`)
    for (const { definition } of indexes) yield* run(definition)
    // The definition of an index does not include this setting of its migration.
    yield* run(`ALTER INDEX contact_texts_keys ALTER COLUMN 1 SET STATISTICS 0`)
    for (const table of tables) yield* run(`VACUUM (ANALYZE) ${table}`)
    yield* run(`RESET ALL`)
  },
  Effect.scoped,
  Effect.provideService(StatementDeadline, Duration.infinity)
)

/** Fills an empty schema with 100,000 contacts. */
export const fill = fillWith(contact_count)
