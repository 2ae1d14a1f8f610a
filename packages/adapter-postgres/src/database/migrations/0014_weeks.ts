import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { build, type Patiently } from "./0009_copies.ts"
import { passes, readSpan } from "./0011_reads.ts"

/** The SQL of the first moment of a week. */
export const weekOf = (at: string): string => `date_bin('7 days', ${at}, '2001-01-01T00:00:00Z')`

/** The condition that a contact is not indexed under its week: that it is new, or changed since it was indexed. */
const unindexed = (contact = "") => `${contact}indexed_week IS DISTINCT FROM ${weekOf(`${contact}updated_at`)}`

const unindexedContacts = {
  name: "contacts_unindexed",
  definition: `contacts (organization_id, updated_at DESC, id DESC) WHERE ${unindexed()}`
}

const column = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`ALTER TABLE contacts ADD COLUMN IF NOT EXISTS indexed_week timestamptz`
})

/**
 * A function that returns the keys of some features in a week: its number, and 47
 * bits of a hash. So the keys of one week, which new entries have, lie together.
 */
const keysOf = (name: string, text: string, features: string) => `
  CREATE FUNCTION ${name}(organization uuid, week timestamptz, ${text} text, filters text[]) RETURNS bigint[]
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
  AS $$
  DECLARE
    seed bigint := uuid_hash_extended(organization, 0);
    number bigint := extract(epoch FROM week - '2001-01-01T00:00:00Z'::timestamptz) / 604800;
  BEGIN
    RETURN ARRAY(
      SELECT (number << 47) + (hashtextextended(feature, seed) & ((1::bigint << 47) - 1))
      FROM (${features} UNION ALL SELECT unnest(filters)) AS n (feature)
    );
  END
  $$
`

/** Every sequence of one, two or three characters is a feature. */
const contactKeys = keysOf(
  "contact_keys",
  "whole",
  `
        SELECT substr(whole, place, length)
        FROM generate_series(1, 3) AS length, generate_series(1, char_length(whole) + 1 - length) AS place
      `
)

/** Of a term some sequences are enough: they leave few texts that do not contain it. */
const termKeys = keysOf(
  "term_keys",
  "term",
  `
        SELECT substr(term, place, 3)
        FROM generate_series(1, greatest(1, char_length(term) - 2), 1 + char_length(term) / 8) AS place
      `
)

/** What filters find a contact by. */
const contactFeatures = `
  CREATE FUNCTION contact_features(tags jsonb, identities jsonb, primary_phone text) RETURNS text[]
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN ARRAY(
    SELECT 'tag ' || (tag ->> 'id')
    FROM jsonb_array_elements(tags) AS tag
    UNION
    SELECT 'channel ' || (identity ->> 'channel_type')
    FROM jsonb_array_elements(identities) AS identity
    UNION
    SELECT 'channel phone_messaging'
    WHERE primary_phone IS NOT NULL
  )
`

/**
 * Moves contacts that are not indexed under their week to it, `most` at most, and
 * returns how many.
 *
 * The new entries are merged into the index together: one at a time they take three
 * times as long, and six times as much of the log. Only the index's owner may merge.
 */
const indexContacts = `
  CREATE FUNCTION index_contacts(most integer) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT
  SET enable_seqscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  AS $$
  DECLARE
    count integer;
  BEGIN
    WITH changed AS MATERIALIZED (
      SELECT organization_id, id, ${weekOf("updated_at")} AS week, search_text, tags, identities, primary_phone
      FROM contacts
      WHERE ${unindexed()}
      LIMIT most
      FOR NO KEY UPDATE SKIP LOCKED
    ), indexed AS (
      INSERT INTO contact_weeks (organization_id, contact_id, week, search_text, features)
      SELECT organization_id, id, week, search_text, contact_features(tags, identities, primary_phone)
      FROM changed
      ON CONFLICT (organization_id, contact_id) DO UPDATE
      SET week = excluded.week, search_text = excluded.search_text, features = excluded.features
    ), marked AS (
      UPDATE contacts c
      SET indexed_week = changed.week
      FROM changed
      WHERE c.organization_id = changed.organization_id AND c.id = changed.id
      RETURNING 1
    )
    SELECT count(*) INTO count FROM marked;
    PERFORM gin_clean_pending_list('contact_weeks_keys');
    RETURN count;
  END
  $$
`

const leaveWeek = `
  CREATE FUNCTION leave_week() RETURNS trigger
  LANGUAGE plpgsql
  AS $$
  BEGIN
    NEW.indexed_week := NULL;
    RETURN NEW;
  END
  $$
`

/** Returns contacts that are indexed under a week and match the filters, `most` for each term at most. */
const weekMatches = `
  CREATE FUNCTION week_matches(
    organization uuid, this_week timestamptz, filters text[], terms text[], patterns text[], most integer
  ) RETURNS uuid[]
  LANGUAGE plpgsql STABLE
  AS $$
  DECLARE
    keys bigint[];
    matches uuid[] := '{}';
  BEGIN
    FOR i IN 1 .. coalesce(cardinality(terms), 1) LOOP
      keys := term_keys(organization, this_week, terms[i], filters);
      matches := matches || ARRAY(
        SELECT w.contact_id
        FROM contact_weeks w
        WHERE contact_keys(w.organization_id, w.week, w.search_text, w.features) @> keys
          -- The keys are those of the organization and the week, but two may have one number.
          AND (w.organization_id, w.week) IS NOT DISTINCT FROM (organization, this_week)
          AND (terms IS NULL OR w.search_text LIKE patterns[i])
        LIMIT most
      );
    END LOOP;
    RETURN matches;
  END
  $$
`

/** Returns the first week of an organization's contacts. */
const firstWeek = `
  CREATE FUNCTION first_week(organization uuid) RETURNS timestamptz
  LANGUAGE sql STABLE
  RETURN (
    SELECT ${weekOf("updated_at")}
    FROM contacts
    WHERE organization_id = organization
    ORDER BY updated_at, id
    LIMIT 1
  )
`

/** How many contacts that are not indexed a search checks at most. */
const unindexed_max = 5000
/** How many contacts of a week are looked up by their ids. If more match, reading the week in the list's order is faster. */
const looked_up_max = 3000

/**
 * Returns the ids of a page of contacts, or null if too many are not indexed. It
 * reads one week after the other, until the page is full.
 */
const findByWeek = `
  CREATE FUNCTION find_contacts_by_week(
    organization uuid, from_at timestamptz, from_id uuid, size integer,
    tag uuid, channel text, terms text[], patterns text[]
  ) RETURNS uuid[]
  LANGUAGE plpgsql STABLE
  AS $$
  DECLARE
    owner uuid;
    stage text;
    tagged jsonb := jsonb_build_array(jsonb_build_object('id', tag));
    known jsonb := jsonb_build_array(jsonb_build_object('channel_type', channel));
    filters text[] := array_remove(ARRAY['tag ' || tag, 'channel ' || channel], NULL);
    page uuid[];
    matches uuid[];
    indexed uuid[] := '{}';
    this_week timestamptz;
    earliest timestamptz;
  BEGIN
    PERFORM 1
    FROM contacts c
    WHERE c.organization_id = organization AND ${unindexed("c.")} AND (c.updated_at, c.id) < (from_at, from_id)
    ORDER BY c.updated_at DESC, c.id DESC
    OFFSET ${unindexed_max}
    LIMIT 1;
    IF FOUND THEN RETURN NULL; END IF;
    page := ARRAY(
      SELECT c.id
      FROM contacts c
      WHERE c.organization_id = organization AND ${unindexed("c.")} AND (c.updated_at, c.id) < (from_at, from_id)
        AND ${passes}
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT size
    );
    SELECT ${weekOf("c.updated_at")} INTO this_week
    FROM contacts c
    WHERE c.organization_id = organization AND (c.updated_at, c.id) < (from_at, from_id)
    ORDER BY c.updated_at DESC, c.id DESC
    LIMIT 1;
    earliest := first_week(organization);
    WHILE this_week >= earliest AND cardinality(indexed) < size LOOP
      matches := week_matches(organization, this_week, filters, terms, patterns, ${looked_up_max} + 1);
      IF cardinality(matches) > ${looked_up_max} THEN
        indexed := indexed || ARRAY(
          SELECT c.id
          FROM contacts c
          WHERE c.organization_id = organization AND c.updated_at >= this_week AND (c.updated_at, c.id) < (from_at, from_id)
            AND c.indexed_week = this_week
            AND ${passes}
          ORDER BY c.updated_at DESC, c.id DESC
          LIMIT size - cardinality(indexed)
        );
      ELSIF cardinality(matches) > 0 THEN
        indexed := indexed || ARRAY(
          SELECT c.id
          FROM contacts c
          WHERE c.organization_id = organization AND c.id = ANY (matches) AND (c.updated_at, c.id) < (from_at, from_id)
            AND c.indexed_week = this_week AND ${weekOf("c.updated_at")} = this_week
            AND ${passes}
        );
      END IF;
      -- No contact that is left was updated later than this.
      IF from_at > this_week THEN
        from_at := this_week;
        from_id := '00000000-0000-0000-0000-000000000000';
      END IF;
      this_week := this_week - interval '168 hours';
    END LOOP;
    RETURN page || indexed;
  END
  $$
`

/** A term is frequent if so many contacts of the first or of this week match it: a thousand or more in a year. */
const frequent_min = 20

/**
 * Returns the ids of a page of contacts that match the filters, in the list's order:
 * as in 0011, but by the weeks if neither the 1,000 most recent contacts fill the
 * page nor one filter matches few. With an owner or a stage, the contacts are read in
 * the order of that filter's index.
 */
const found = `
  CREATE OR REPLACE FUNCTION find_contacts(
    organization uuid, from_at timestamptz, from_id uuid, size integer,
    owner uuid, stage text, tag uuid, channel text, terms text[]
  ) RETURNS SETOF uuid
  LANGUAGE plpgsql STABLE ROWS 50
  SET enable_seqscan = off
  SET enable_sort = off
  SET plan_cache_mode = force_generic_plan
  AS $$
  DECLARE
    tagged jsonb := jsonb_build_array(jsonb_build_object('id', tag));
    known jsonb := jsonb_build_array(jsonb_build_object('channel_type', channel));
    patterns text[] := ARRAY(
      SELECT '%' || regexp_replace(term, '([\\\\%_])', '\\\\\\1', 'g') || '%'
      FROM unnest(terms) WITH ORDINALITY AS n (term, place)
      ORDER BY place
    );
    page uuid[] := '{}';
    candidates uuid[];
    span bigint := 100;
    found_before integer;
  BEGIN
    LOOP
      found_before := cardinality(page);
      IF owner IS NOT NULL THEN ${readSpan("c.owner_user_id = owner")}
      ELSIF stage IS NOT NULL THEN ${readSpan("c.lifecycle_stage = stage")}
      ELSE ${readSpan("true")}
      END IF;
      EXIT WHEN cardinality(page) >= size OR from_id IS NULL;
      IF span > 100 AND owner IS NULL AND stage IS NULL THEN
        candidates := find_contacts_by_week(
          organization, from_at, from_id, size - cardinality(page), tag, channel, terms, patterns
        );
        EXIT WHEN candidates IS NOT NULL;
      END IF;
      -- If contacts match at the rate of this span, the next one, ten times as long, would not fill the page.
      IF 10 * (cardinality(page) - found_before) < size - cardinality(page) THEN
        candidates := few_contacts(
          organization, CASE WHEN owner IS NOT NULL THEN stage END, tag, channel, 10 * span
        );
        IF candidates IS NULL AND terms IS NOT NULL THEN
          -- To find out that a term is frequent, the index of all texts needs the most time if it is.
          IF span = 100 AND owner IS NULL AND stage IS NULL AND ${frequent_min} <= greatest(
            cardinality(week_matches(organization, ${weekOf("from_at")}, '{}', terms, patterns, ${frequent_min})),
            cardinality(week_matches(organization, first_week(organization), '{}', terms, patterns, ${frequent_min}))
          ) THEN
            candidates := find_contacts_by_week(
              organization, from_at, from_id, size - cardinality(page), tag, channel, terms, patterns
            );
          ELSE
            candidates := few_contacts_with(organization, terms, patterns, 10 * span);
          END IF;
        END IF;
        EXIT WHEN candidates IS NOT NULL;
      END IF;
      span := 10 * span;
    END LOOP;
    IF candidates IS NOT NULL THEN
      page := page || ARRAY(
        WITH passing AS MATERIALIZED (
          SELECT c.id, c.updated_at
          FROM contacts c
          WHERE c.organization_id = organization
            AND c.id = ANY (candidates)
            AND (c.updated_at, c.id) < (from_at, from_id)
            AND ${passes}
        )
        SELECT id
        FROM passing
        ORDER BY updated_at DESC, id DESC
        LIMIT size - cardinality(page)
      );
    END IF;
    RETURN QUERY SELECT unnest(page);
  END
  $$
`

/**
 * An index of contacts by their text, tags, channels and the week of their last
 * update, for lists that match many contacts, but none of the recent ones.
 *
 * An entry has about a hundred keys, too many to write with every message. So
 * `index_contacts` writes it later. `contacts.indexed_week` is the week under which a
 * contact is indexed; the contacts for which it is not right have an index of their
 * own. A list checks each of these, so it is exact at any time.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* column
  yield* sql`CREATE INDEX IF NOT EXISTS ${sql(unindexedContacts.name)} ON ${sql.literal(unindexedContacts.definition)}`
  yield* sql`
    CREATE TABLE contact_weeks (
      organization_id uuid NOT NULL,
      contact_id uuid NOT NULL,
      week timestamptz NOT NULL,
      search_text text COLLATE "C" NOT NULL,
      features text[] NOT NULL,
      PRIMARY KEY (organization_id, contact_id)
    )
  `
  for (const statement of [contactKeys, termKeys, contactFeatures]) yield* sql.unsafe(statement)
  yield* sql`
    CREATE INDEX contact_weeks_keys ON contact_weeks
    USING gin (contact_keys(organization_id, week, search_text, features))
  `
  for (const statement of [indexContacts, leaveWeek, weekMatches, firstWeek, findByWeek, found]) {
    yield* sql.unsafe(statement)
  }
  yield* sql`
    CREATE TRIGGER leave_week
    BEFORE UPDATE OF search_text, tags, identities, primary_phone ON contacts
    FOR EACH ROW
    WHEN (
      (OLD.search_text, OLD.tags, OLD.identities, OLD.primary_phone)
        IS DISTINCT FROM (NEW.search_text, NEW.tags, NEW.identities, NEW.primary_phone)
    )
    EXECUTE FUNCTION leave_week()
  `
})

/** Prepares 0014: makes the index of all contacts while other processes write. */
export const prepare = Effect.fnUntraced(function*(patiently: Patiently) {
  yield* patiently(column)
  yield* build(unindexedContacts.name, unindexedContacts.definition)
})
