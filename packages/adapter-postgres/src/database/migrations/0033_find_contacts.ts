import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Returns the keys of a text in the index of all texts: the hash of every sequence of one, two, or three characters.
 *
 * The organization seeds the hash, so that the entries of an organization are its own. One contact in 256 has each key
 * twice, the second time with another last bit: how many of those contacts have a key tells how frequent it is.
 */
const textKeys = `
  CREATE FUNCTION text_keys(organization uuid, contact uuid, whole text) RETURNS bigint[]
  LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
  AS $$
  DECLARE
    seed bigint := uuid_hash_extended(organization, 0);
    keys bigint[] := '{}';
    first text := '';
    second text := '';
    third text;
  BEGIN
    FOREACH third IN ARRAY string_to_array(whole, NULL) LOOP
      keys := keys || ARRAY[
        hashtextextended(third, seed),
        hashtextextended(second || third, seed),
        hashtextextended(first || second || third, seed)
      ];
      first := second;
      second := third;
    END LOOP;
    IF uuid_hash(contact) & 255 = 0 THEN
      keys := keys || ARRAY(SELECT key # 1 FROM unnest(keys) AS key);
    END IF;
    RETURN keys;
  END
  $$
`

/**
 * The condition that a text `t` has the keys of a term: of every sequence of three characters among the last nine before
 * an @. The beginnings of phone numbers and the domains of email addresses are frequent, and tell little. Every third
 * sequence would do, but then two frequent ones can have many contacts in common that lack the term.
 */
const hasKeys = (last_bit: 0 | 1) => `
  text_keys(t.organization_id, t.contact_id, t.search_text) @> ARRAY(
    SELECT hashtextextended(substr(ending, place, 3), seed) # ${last_bit}
    FROM right(coalesce(nullif(split_part(term, '@', 1), ''), term), 9) AS ending,
      generate_series(1, greatest(1, char_length(ending) - 2)) AS place
  )
`

/** The condition that a contact `c` matches every filter but the owner. Its own row has copies of all filtered values. */
const passes = `
  (stage IS NULL OR c.lifecycle_stage = stage)
  AND (tag IS NULL OR c.tags @> tagged)
  AND (channel IS NULL OR (channel = 'phone_messaging' AND c.primary_phone IS NOT NULL) OR c.identities @> known)
  AND (terms IS NULL OR strpos(c.search_text, terms[1]) > 0 OR strpos(c.search_text, terms[2]) > 0)
`

/** The SQL of all contacts that one filter matches: of one more than `most`, if there are more. */
const someOf = (contact: string, table: string, condition: string) =>
  `ARRAY(SELECT ${contact} FROM ${table} WHERE organization_id = organization AND ${condition} LIMIT most + 1)`

/** The statements that read the next `span` contacts in the list's order, and return those that match. */
const readSpan = (those: string) => {
  const inOrder = `
    FROM contacts c
    WHERE c.organization_id = organization ${those} AND (c.updated_at, c.id) < (from_at, from_id)
    ORDER BY c.updated_at DESC, c.id DESC
  `
  return `
    RETURN QUERY
    SELECT c.*
    FROM (SELECT * ${inOrder} LIMIT span) c
    WHERE ${passes}
    ORDER BY c.updated_at DESC, c.id DESC
    LIMIT size;
    GET DIAGNOSTICS listed = ROW_COUNT;
    IF listed < size THEN
      SELECT c.updated_at, c.id INTO from_at, from_id ${inOrder} OFFSET span - 1 LIMIT 1;
    END IF;
  `
}

/** From how many characters on a term is not short. How frequent a short one is, the contacts that were updated last tell soonest. */
const long_min = 5

/** How many contacts that were updated last are looked at for a short term, and how many with it make it frequent. */
const [latest, latest_min] = [16, 3]

/** How many of one contact in 256 make a term frequent: it has a thousand matches or more. */
const sampled_min = 4

/** How many contacts are looked up by a filter, or read in the list's order, before the other way is tried. */
const [most, span, most_with_text] = [300, 1500, 15_000]

/**
 * Returns a page of contacts that match the filters, in the list's order.
 *
 * The order changes with every message, the filtered values rarely, so no index has
 * both. There are two ways to find a page: to look up all contacts that match one
 * filter, or to read contacts in the list's order and check each. The first is fast
 * when few match, the second when many do. A text is looked up first, unless a sample
 * shows that it is frequent. Then the function takes turns between the two ways, with
 * ten times as many contacts each time, so that it costs at most a few times as much
 * as the better one.
 *
 * Text is compared by `strpos`: `LIKE` backtracks, which takes seconds for a text that is made for it.
 *
 * One generic plan serves all values. It looks contacts up one by one (`OFFSET`),
 * because a table that was small when the plan was made would be read whole for a join.
 */
const findContacts = `
  CREATE FUNCTION find_contacts(
    organization uuid, from_at timestamptz, from_id uuid, size bigint,
    owner uuid, stage text, tag uuid, channel text, terms text[]
  ) RETURNS SETOF contacts
  LANGUAGE plpgsql STABLE ROWS 50
  AS $$
  DECLARE
    tagged jsonb := jsonb_build_array(jsonb_build_object('id', tag));
    known jsonb := jsonb_build_array(jsonb_build_object('channel_type', channel));
    seed bigint := uuid_hash_extended(organization, 0);
    is_frequent boolean := terms IS NULL;
    is_first boolean := true;
    is_sparse boolean := true;
    few uuid[];
    most bigint := ${most};
    span bigint := ${span};
    listed bigint;
  BEGIN
    IF char_length(terms[1]) < ${long_min} OR char_length(terms[2]) < ${long_min} THEN
      SELECT count(*) >= ${latest_min} INTO is_frequent
      FROM (
        SELECT c.search_text
        FROM contacts c
        WHERE c.organization_id = organization AND (c.updated_at, c.id) < (from_at, from_id)
        ORDER BY c.updated_at DESC, c.id DESC
        LIMIT ${latest}
      ) c
      WHERE strpos(c.search_text, terms[1]) > 0 OR strpos(c.search_text, terms[2]) > 0;
    END IF;
    IF NOT is_frequent THEN
      is_frequent := EXISTS (
        SELECT
        FROM unnest(terms) AS term
        WHERE EXISTS (SELECT FROM contact_texts t WHERE ${hasKeys(1)} OFFSET ${sampled_min - 1})
      );
    END IF;
    LOOP
      IF NOT is_frequent OR (is_sparse AND NOT is_first AND terms IS NOT NULL) THEN
        -- The keys are those of the organization, but two may have one hash.
        few := ARRAY(
          SELECT found.contact_id
          FROM unnest(terms) AS term
          CROSS JOIN LATERAL (
            SELECT t.contact_id
            FROM contact_texts t
            WHERE ${hasKeys(0)}
              AND t.organization_id IS NOT DISTINCT FROM organization
              AND strpos(t.search_text, term) > 0
            LIMIT greatest(most, ${most_with_text}) + 1
          ) found
        );
        EXIT WHEN cardinality(few) <= greatest(most, ${most_with_text});
      END IF;
      IF is_sparse AND tag IS NOT NULL THEN
        few := ${someOf("contact_id", "contact_tags", "tag_id = tag")};
        EXIT WHEN cardinality(few) <= most;
      END IF;
      IF is_sparse AND channel IS NOT NULL THEN
        few := ${someOf("contact_id", "identities", "channel_type = channel")};
        IF channel = 'phone_messaging' THEN
          few := few || ${someOf("id", "contacts", "primary_phone IS NOT NULL")};
        END IF;
        EXIT WHEN cardinality(few) <= most;
      END IF;
      IF is_sparse AND owner IS NOT NULL AND stage IS NOT NULL THEN
        few := ${someOf("id", "contacts", "lifecycle_stage = stage")};
        EXIT WHEN cardinality(few) <= most;
      END IF;
      few := NULL;
      IF owner IS NOT NULL THEN ${readSpan("AND c.owner_user_id = owner")}
      ELSIF stage IS NOT NULL THEN ${readSpan("AND c.lifecycle_stage = stage")}
      ELSE ${readSpan("")}
      END IF;
      size := size - listed;
      EXIT WHEN size = 0 OR from_id IS NULL;
      -- If contacts match at the rate of this span, the next one, ten times as long, would not fill the page.
      is_sparse := 10 * listed < size;
      is_first := false;
      span := 10 * span;
      most := span;
    END LOOP;
    IF few IS NOT NULL THEN
      RETURN QUERY
      SELECT c.*
      FROM (
        SELECT c.id
        FROM (SELECT DISTINCT unnest(few) AS id) found
        CROSS JOIN LATERAL (SELECT * FROM contacts WHERE organization_id = organization AND id = found.id OFFSET 0) c
        WHERE (c.updated_at, c.id) < (from_at, from_id) AND (owner IS NULL OR c.owner_user_id = owner) AND ${passes}
        ORDER BY c.updated_at DESC, c.id DESC
        LIMIT size
      ) found
      CROSS JOIN LATERAL (SELECT * FROM contacts WHERE organization_id = organization AND id = found.id OFFSET 0) c
      ORDER BY c.updated_at DESC, c.id DESC;
    END IF;
  END
  $$
`

/** What searched contacts in an earlier version of this schema. */
const earlier = [
  "TRIGGER IF EXISTS leave_week ON contacts",
  "FUNCTION IF EXISTS find_contacts(uuid, timestamptz, uuid, integer, uuid, text, uuid, text, text[])",
  "FUNCTION IF EXISTS find_contacts_by_week, rare_contacts, is_frequent, few_contacts, few_contacts_with, first_week, week_matches, index_contacts, leave_week",
  "TABLE IF EXISTS contact_weeks",
  "INDEX IF EXISTS contacts_unindexed, contact_texts_trigrams, contact_texts_grams",
  "FUNCTION IF EXISTS contact_keys, contact_features, term_keys, text_grams"
]

/** Contacts are found by one function, with one index of all texts. Texts are folded as `foldCase` and `searchText` fold them now. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  for (const statement of earlier) yield* sql.unsafe(`DROP ${statement}`)
  yield* sql`ALTER TABLE contacts DROP COLUMN IF EXISTS indexed_week`

  // A line break inside a field becomes a separator too, until the contact's name or company changes.
  for (const table of ["contacts", "contact_texts"]) {
    yield* sql`UPDATE ${
      sql(table)
    } SET search_text = translate(search_text, ${"\nς"}, 'Xσ') WHERE search_text ~ ${"[\nς]"}`
  }
  yield* sql`UPDATE tags SET name_key = replace(name_key, 'ς', 'σ') WHERE name_key LIKE '%ς%'`
  yield* sql`UPDATE members SET email_key = replace(email_key, 'ς', 'σ') WHERE email_key LIKE '%ς%'`

  yield* sql.unsafe(textKeys)
  // A small pending list: every search reads all of it, and one writer has to merge all of it at once.
  yield* sql`
    CREATE INDEX contact_texts_keys ON contact_texts
    USING gin (text_keys(organization_id, contact_id, search_text))
    WITH (gin_pending_list_limit = 256)
  `
  // To analyze the keys would take seconds, and no plan depends on them.
  yield* sql`ALTER INDEX contact_texts_keys ALTER COLUMN 1 SET STATISTICS 0`
  yield* sql.unsafe(findContacts)
})
