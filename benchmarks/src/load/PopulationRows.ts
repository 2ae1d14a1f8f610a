/**
 * Fills the measured database with its rows, which PostgreSQL generates. It uses `pg`, because the rows need one session with
 * its own settings and a temporary table, without the service's limits on the time of a statement.
 */
import { Scope } from "@messaging-crm/core/ApiKeys"
import { readFile } from "node:fs/promises"
import { Client } from "pg"
import { GeneratedRows } from "../harness/Fixtures.ts"
import { id, idOf, key_count, long_count, named_count, stages, step, words } from "../load/Population.ts"

const { spread } = GeneratedRows

const pick = (seed: number, values: ReadonlyArray<string>): string =>
  `(ARRAY['${values.join("', '")}'])[1 + ${spread(seed, values.length)}]`

const scopes = JSON.stringify(Scope.literals)

/** The rows of one database, as SQL. */
interface Shape {
  /** The numbers of the first and the last organization. */
  readonly first: number
  readonly last: number
  /** The number of the last contact. */
  readonly total: number
  /** A table of contacts with `n`, `organization`, and `named`: the number of a contact that requests name, else NULL. */
  readonly people: string
  /** A table of API keys with `n` and `organization`. */
  readonly keys: string
  /** Whether a contact has a conversation. */
  readonly has_conversation: string
}

/** Contacts of the first organization, and a tenth as many of another one. */
const compared = (contacts: number): Shape => {
  const total = Math.floor(contacts * 1.1)
  const distance = step(contacts)
  return {
    first: 1,
    last: 2,
    total,
    people: `
      SELECT n, CASE WHEN n > ${contacts} THEN 2 ELSE 1 END AS organization,
        CASE WHEN n % ${distance} = 0 AND n <= ${named_count * distance} THEN n / ${distance} - 1 END AS named
      FROM generate_series(1, ${total}) n`,
    keys: `SELECT n, 1 AS organization FROM generate_series(1, ${key_count}) n`,
    has_conversation: "n % 5 = 0 OR named IS NOT NULL"
  }
}

/** Organizations with their numbers, and as many contacts in each. */
export interface Organizations {
  readonly first: number
  readonly last: number
  readonly contacts: number
}

/** Organizations of equal size, each with the key of its number. Only named contacts have conversations. */
const equal = ({ contacts, first, last }: Organizations): Shape => {
  const distance = step(contacts)
  return {
    first,
    last,
    total: last * contacts,
    people: `
      SELECT n, organization,
        CASE WHEN place % ${distance} = 0 AND place <= ${
      named_count * distance
    } THEN place / ${distance} - 1 END AS named
      FROM generate_series(${(first - 1) * contacts + 1}, ${last * contacts}) n
      CROSS JOIN LATERAL (SELECT 1 + (n - 1) / ${contacts}, 1 + (n - 1) % ${contacts}) AS at (organization, place)`,
    keys: `SELECT n, n AS organization FROM generate_series(${first}, ${last}) n`,
    has_conversation: "named IS NOT NULL"
  }
}

/** Creates a table with a row for each contact, from which the rows of the other tables are derived. */
const people = ({ people, total }: Shape): string => `
  CREATE TEMPORARY TABLE people AS
  SELECT *,
    lower(first_name || '.' || last_name || '.' || n) || '@customers.example' AS email,
    '+316' || lpad(n::text, 8, '0') AS phone
  FROM (
    SELECT n, organization, named,
      ${pick(1, ["Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo", "Ida", "Jonas", "Klara", "Leon"])}
        AS first_name,
      ${pick(2, ["Alba", "Bergo", "Doru", "Falke", "Gunne", "Helmo", "Koris", "Linka", "Mirow", "Nowak"])}
        || ${pick(3, ["berg", "feld", "hof", "mann", "ner", "sen", "ski", "son", "stein", "wald"])} AS last_name,
      ${pick(4, ["Nordwind", "Hafen", "Kupfer", "Linden", "Morgen", "Silber", "Ufer", "Wiesen"])}
        || ${pick(5, [" Logistik", " Handel", " Medien", " Energie", " Reisen", " Möbel"])} AS company,
      ARRAY[1 + ${spread(6, 10)}, 11 + ${spread(7, 10)}, 21 + ${spread(8, 10)}] AS tags,
      ${pick(9, stages)} AS stage,
      date_trunc('milliseconds', now()) - interval '20 s' * (${total} - n) - interval '1 hour' AS updated_at
    FROM (${people}) numbered
  ) person`

/** The SQL of the number of a tag in the names of its organization. */
const tagNumber = (n: string): string => `lpad((1 + (${n} - 1) % 30)::text, 2, '0')`

const catalogs = ({ first, keys, last }: Shape) => [
  `INSERT INTO organizations (id, name, created_at)
   SELECT ${idOf("organization", "n")}, 'Organization ' || n, now() FROM generate_series(${first}, ${last}) n`,
  // Ten of each organization; the tenth is its owner.
  `INSERT INTO members (organization_id, id, name, email, email_key, role, created_at)
   SELECT ${idOf("organization", "n / 10")}, ${idOf("member", "n")}, 'Member ' || n, 'member' || n || '@crm.example',
     'member' || n || '@crm.example', CASE WHEN n % 10 = 0 THEN 'owner' ELSE 'admin' END, now()
   FROM generate_series(${10 * first}, ${10 * last + 9}) n`,
  `INSERT INTO api_keys (organization_id, id, digest, name, scopes, created_by, created_at, expires_at)
   SELECT ${idOf("organization", "organization")}, ${idOf("api_key", "n")},
     encode(sha256(('svc_live_' || lpad(n::text, 43, '0'))::bytea), 'hex'), 'Key ' || n, '${scopes}',
     ${idOf("member", "10 * organization")}, now(), now() + interval '1 year'
   FROM (${keys}) key`,
  `INSERT INTO channels
     (organization_id, id, type, name, address, phone_messaging_business_account_id, connected_at)
   SELECT ${idOf("organization", "n")}, ${idOf("channel", "n")}, 'phone_messaging', 'Channel', '+31205550' || n,
     'account', now()
   FROM generate_series(${first}, ${last}) n`,
  // Three of each organization; those of the first are 1 to 3.
  `INSERT INTO contact_fields (organization_id, id, key, name, type, created_at)
   SELECT ${idOf("organization", "1 + (n - 1) / 3")}, ${idOf("field", "n")}, 'field_' || n, 'Field ' || n, 'text', now()
   FROM generate_series(${3 * first - 2}, ${3 * last}) n`,
  // Thirty of each organization; those of the first are 1 to 30.
  `INSERT INTO tags (organization_id, id, name, name_key, color)
   SELECT ${idOf("organization", "1 + (n - 1) / 30")}, ${idOf("tag", "n")}, 'Tag ' || ${tagNumber("n")},
     'tag ' || ${tagNumber("n")}, 'teal'
   FROM generate_series(${30 * first - 29}, ${30 * last}) n`
]

const fieldOf = (number: number): string => idOf("field", `3 * (organization - 1) + ${number}`)

const contacts = [
  `UPDATE people SET company = initcap((ARRAY['${words.join("', '")}'])[1 + named % ${words.length}]) || ' Works'
   WHERE named IS NOT NULL`,
  `INSERT INTO contacts
     (organization_id, id, first_name, last_name, primary_email, primary_phone, company, job_title, birthday, city, country,
      street_address, postal_code, website_url, source, notes, owner_user_id, lead_status, lifecycle_stage, custom_values,
      identities, tags, search_text, last_activity_at, last_activity_preview, last_conversation_id, updated_at)
   SELECT ${idOf("organization", "organization")}, ${
    idOf("contact", "n")
  }, first_name, last_name, email, phone, company,
     'Head of operations', (date '1960-01-01' + ${spread(10, 15000)})::text, 'Rotterdam', 'Netherlands',
     'Havenstraat ' || n % 400, (1000 + n % 9000) || ' AB', 'https://customers.example/' || n, 'import',
     'Asked for an offer in spring; would rather be called after three.',
     CASE WHEN ${spread(11, 10)} < 4 THEN ${idOf("member", `10 * organization + ${spread(12, 10)}`)} END, 'open', stage,
     jsonb_build_object(
       ${fieldOf(1)}::text, 'value ' || n % 1000, ${fieldOf(2)}::text, 'note ' || n % 50, ${fieldOf(3)}::text, 'plan'
     ),
     jsonb_build_array(jsonb_build_object(
       'id', ${idOf("identity", "n")}, 'channel_type', 'phone_messaging', 'external_id', phone,
       'display_name', first_name || ' ' || last_name, 'username', NULL,
       'marketing_opt_out_at', NULL, 'marketing_opt_in_at', NULL
     )),
     (SELECT jsonb_agg(jsonb_build_object(
        'id', ${idOf("tag", "tag + 30 * (organization - 1)")},
        'name', 'Tag ' || ${tagNumber("tag")}, 'color', 'teal'
      )) FROM unnest(tags) tag),
     concat_ws('X', lower(first_name || ' ' || last_name), phone, email, lower(company)),
     updated_at, 'We are open from nine to half past five.', ${idOf("conversation", "n")}, updated_at
   FROM people`,
  `INSERT INTO contact_texts (organization_id, contact_id, search_text)
   SELECT organization_id, id, search_text FROM contacts`,
  `INSERT INTO contact_tags (organization_id, contact_id, tag_id)
   SELECT ${idOf("organization", "organization")}, ${idOf("contact", "n")}, ${
    idOf("tag", "tag + 30 * (organization - 1)")
  }
   FROM people, unnest(tags) tag`,
  `INSERT INTO identities (organization_id, id, contact_id, channel_type, external_id, display_name)
   SELECT ${idOf("organization", "organization")}, ${idOf("identity", "n")}, ${idOf("contact", "n")}, 'phone_messaging',
     phone, first_name || ' ' || last_name
   FROM people`,
  `INSERT INTO identity_names (organization_id, channel_type, name, identity_id)
   SELECT organization_id, channel_type, external_id, id FROM identities`
]

/** Conversations with an open reply window. */
const conversations = ({ first, has_conversation }: Shape) => [
  `INSERT INTO conversations
     (organization_id, id, channel_id, contact_id, identity_id, status, created_at, opened_at, last_activity_at,
      last_inbound_at)
   SELECT ${idOf("organization", "organization")}, ${idOf("conversation", "n")}, ${idOf("channel", "organization")},
     ${idOf("contact", "n")}, ${idOf("identity", "n")}, 'open', updated_at, updated_at, updated_at, now()
   FROM people
   WHERE ${has_conversation}`,
  `INSERT INTO messages
     (organization_id, conversation_id, id, channel_id, direction, type, text, sender, status, provider_message_id,
      created_at, sent_at, delivered_at, read_at)
   SELECT ${idOf("organization", "organization")}, ${idOf("conversation", "n")}, ${idOf("message", "n * 100 + k")},
     ${idOf("channel", "organization")}, CASE WHEN k % 2 = 0 THEN 'inbound' ELSE 'outbound' END, 'text',
     'We are open on weekdays from nine to half past five. ' || k,
     CASE WHEN k % 2 = 0
       THEN jsonb_build_object('type', 'contact', 'name', first_name || ' ' || last_name)
       ELSE '{"type":"member","name":"Member 10"}'
     END,
     CASE WHEN k % 2 = 0 THEN 'received' ELSE 'read' END, 'message-' || n * 100 + k, said_at, said_at,
     CASE WHEN k % 2 = 1 THEN said_at + interval '1 s' END, CASE WHEN k % 2 = 1 THEN said_at + interval '4 s' END
   FROM people
   CROSS JOIN LATERAL generate_series(1, CASE WHEN named < ${long_count} THEN 60 ELSE 6 END) k
   CROSS JOIN LATERAL (SELECT updated_at - interval '95 s' * (60 - k)) AS said (said_at)
   WHERE ${has_conversation}`,
  // Without rows, PostgreSQL would plan for an empty table.
  `INSERT INTO idempotency_keys (organization_id, key, fingerprint, status, body, sealed, request_id, created_at)
   SELECT '${id("organization", first)}', 'earlier-key-' || n, repeat('a', 64), 200, '{}', false, 'request',
     now() - interval '1 day'
   FROM generate_series(1, 5000) n`
]

/** Statements without a time limit, and without checks of foreign keys. */
const session = `
  SET session_replication_role = 'replica';
  SET maintenance_work_mem = '512MB';
  SET work_mem = '64MB';
  SET synchronous_commit = 'off';
  SET timezone = 'UTC';
`

const readSql = (name: string): Promise<string> =>
  readFile(new URL(`../../baseline/${name}.sql`, import.meta.url), "utf8")

/** Runs statements on a separate connection. */
const inSession = async (database_url: string, use: (client: Client) => Promise<void>): Promise<void> => {
  const client = new Client(database_url)
  await client.connect()
  await use(client).finally(() => client.end())
}

/** Does the work of autovacuum and of the checkpointer, so that neither runs during a measurement. */
export const tidy = (database_url: string): Promise<void> =>
  inSession(database_url, async (client) => {
    await client.query("VACUUM (ANALYZE)")
    await client.query("CHECKPOINT")
  })

const insert = async (client: Client, shape: Shape): Promise<void> => {
  await client.query(session)
  const { rows } = await client.query<GeneratedRows.Index>(GeneratedRows.secondary_indexes)
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`)
  for (const statement of [people(shape), ...catalogs(shape), ...contacts, ...conversations(shape)]) {
    await client.query(statement)
  }
  for (const { definition } of rows) await client.query(definition)
}

/** Fills the service's migrated tables with organizations. */
export const fillOrganizations = async (database_url: string, organizations: Organizations): Promise<void> => {
  await inSession(database_url, (client) => insert(client, equal(organizations)))
  await tidy(database_url)
}

/** Fills the service's migrated tables, and the baseline's with the same rows. */
export const fill = async (database_url: string, count: number): Promise<void> => {
  await inSession(database_url, async (client) => {
    await insert(client, compared(count))
    for (const name of ["tables", "rows", "indexes", "functions"]) await client.query(await readSql(name))
  })
  await tidy(database_url)
}
