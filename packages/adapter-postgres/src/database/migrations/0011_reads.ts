import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** The condition that a contact `c` matches every filter. Its own row has copies of all filtered values. */
export const passes = `
  (owner IS NULL OR c.owner_user_id = owner)
  AND (stage IS NULL OR c.lifecycle_stage = stage)
  AND (tag IS NULL OR c.tags @> tagged)
  AND (
    channel IS NULL
    OR (channel = 'phone_messaging' AND c.primary_phone IS NOT NULL)
    OR c.identities @> known
  )
  AND (terms IS NULL OR c.search_text LIKE ANY (patterns))
`

/** The statements that read the next `span` contacts in the list's order, and append those that match to the page. */
export const readSpan = (those: string) => `
  page := page || ARRAY(
    SELECT c.id
    FROM (
      SELECT *
      FROM contacts c
      WHERE c.organization_id = organization AND ${those} AND (c.updated_at, c.id) < (from_at, from_id)
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT span
    ) c
    WHERE ${passes}
    ORDER BY c.updated_at DESC, c.id DESC
    LIMIT size - cardinality(page)
  );
  IF cardinality(page) < size THEN
    SELECT c.updated_at, c.id INTO from_at, from_id
    FROM contacts c
    WHERE c.organization_id = organization AND ${those} AND (c.updated_at, c.id) < (from_at, from_id)
    ORDER BY c.updated_at DESC, c.id DESC
    OFFSET span - 1
    LIMIT 1;
  END IF;
`

/** The SQL of the contacts that match a condition: of one more than `most`, if there are more. */
const someOf = (contact: string, table: string, condition: string) =>
  `ARRAY(
  SELECT ${contact}
  FROM ${table}
  WHERE organization_id = organization AND ${condition}
  LIMIT most + 1
)`

/** Returns all contacts that match one of the filters, or null if each filter matches more than `most`. */
const few = `
  CREATE FUNCTION few_contacts(organization uuid, stage text, tag uuid, channel text, most bigint) RETURNS uuid[]
  LANGUAGE plpgsql STABLE
  AS $$
  DECLARE
    found uuid[];
  BEGIN
    IF stage IS NOT NULL THEN
      found := ${someOf("id", "contacts", "lifecycle_stage = stage")};
      IF cardinality(found) <= most THEN RETURN found; END IF;
    END IF;
    IF tag IS NOT NULL THEN
      found := ${someOf("contact_id", "contact_tags", "tag_id = tag")};
      IF cardinality(found) <= most THEN RETURN found; END IF;
    END IF;
    IF channel IS NOT NULL THEN
      found := ${someOf("contact_id", "identities", "channel_type = channel")};
      IF channel = 'phone_messaging' AND cardinality(found) <= most THEN
        found := found || ${someOf("id", "contacts", "primary_phone IS NOT NULL")};
      END IF;
      IF cardinality(found) <= most THEN RETURN found; END IF;
    END IF;
    RETURN NULL;
  END
  $$
`

/**
 * Returns all contacts whose text contains one of the search terms, or null if
 * there are more than `most`.
 *
 * Trigrams need three letters or digits in a row, and the database's locale decides
 * which characters outside of ASCII are letters. So a term without three such ASCII
 * characters is found by its pairs of characters.
 */
const fewTexts = `
  CREATE FUNCTION few_contacts_with(organization uuid, terms text[], patterns text[], most bigint) RETURNS uuid[]
  LANGUAGE plpgsql STABLE
  AS $$
  DECLARE
    found uuid[] := '{}';
    grams text[];
  BEGIN
    FOR i IN 1 .. cardinality(terms) LOOP
      IF terms[i] ~ '[a-z0-9]{3}' THEN
        found := found || ${someOf("contact_id", "contact_texts", "search_text LIKE patterns[i]")};
      ELSE
        grams := CASE
          WHEN char_length(terms[i]) = 1 THEN ARRAY[terms[i]]
          ELSE ARRAY(
            SELECT DISTINCT substr(terms[i], place, 2)
            FROM generate_series(1, char_length(terms[i]) - 1) AS place
          )
        END;
        -- Appending '' prevents the use of the trigram index, which would be read completely.
        found := found || ${
  someOf("contact_id", "contact_texts", "text_grams(search_text) @> grams AND search_text || '' LIKE patterns[i]")
};
      END IF;
      IF cardinality(found) > most THEN RETURN NULL; END IF;
    END LOOP;
    RETURN found;
  END
  $$
`

/**
 * Returns the ids of a page of contacts that match the filters, in the list's order.
 *
 * The order changes with every message, the filtered values rarely, so no index has
 * both. There are two ways to find a page: to read the contacts in the list's order
 * and check each, or to read all contacts that match one filter. The first is fast
 * when many contacts match, the second when few do. The function alternates between
 * them and reads ten times as many contacts each time, so a search costs at most a
 * few times as much as the better way.
 *
 * One generic plan serves all values, so sequential scans and sorts are off, which
 * the planner would otherwise prefer for a small table.
 */
const found = `
  CREATE FUNCTION find_contacts(
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
      -- If contacts match at the rate of this span, the next one, ten times as long, would not fill the page.
      IF 10 * (cardinality(page) - found_before) < size - cardinality(page) THEN
        candidates := few_contacts(
          organization, CASE WHEN owner IS NOT NULL THEN stage END, tag, channel, 10 * span
        );
        IF candidates IS NULL AND terms IS NOT NULL THEN
          candidates := few_contacts_with(organization, terms, patterns, 10 * span);
          IF candidates IS NOT NULL THEN terms := NULL; END IF;
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

/** Indexes and functions that make reads as fast with a million contacts as with a thousand. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE INDEX webhooks_listed ON webhooks (organization_id, (status = 'active') DESC, created_at DESC, id DESC)
  `
  yield* sql`DROP INDEX webhooks_recent`

  // A small pending list: every search reads all of it, and one writer has to merge all of it at once.
  for (const name of ["contact_texts_trigrams", "contact_texts_grams"]) {
    yield* sql`ALTER INDEX ${sql(name)} SET (gin_pending_list_limit = 256)`
  }

  yield* sql.unsafe(few)
  yield* sql.unsafe(fewTexts)
  yield* sql.unsafe(found)
})
