import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { passes, readSpan } from "./0011_reads.ts"

/** Returns all contacts whose text contains one of the search terms, or null if a term is frequent or there are more than `most`. */
const rare = `
  CREATE FUNCTION rare_contacts(
    organization uuid, from_at timestamptz, from_id uuid, terms text[], patterns text[], most bigint
  ) RETURNS uuid[]
  LANGUAGE plpgsql STABLE
  AS $$
  BEGIN
    -- A frequent text takes the index of all texts the longest.
    IF is_frequent(organization, from_at, from_id, terms, patterns) THEN RETURN NULL; END IF;
    RETURN few_contacts_with(organization, terms, patterns, most);
  END
  $$
`

/** How many of the contacts that were updated last are looked at first, and from how many matches on a text is left to the page. */
const [looked_at, most] = [16, 12]

/** The SQL of whether few of the contacts that were updated last match. */
const matchesFew = `(
  SELECT count(*) < ${most}
  FROM (
    SELECT *
    FROM contacts c
    WHERE c.organization_id = organization AND (c.updated_at, c.id) < (from_at, from_id)
    ORDER BY c.updated_at DESC, c.id DESC
    LIMIT ${looked_at}
  ) c
  WHERE ${passes}
)`

/**
 * Returns the ids of a page of contacts that match the filters, as in 0021, but a text is looked up before a page and a
 * quarter of the contacts that were updated last is read, unless most of the first ones have it: how frequent such a text
 * is costs the most to find out, and it is likely to fill the page.
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
    span bigint := size + size / 4;
    next_span bigint := greatest(1000, 10 * span);
    is_first boolean := true;
    found_before integer;
    is_text boolean := terms IS NOT NULL AND owner IS NULL AND stage IS NULL;
    is_asked boolean := false;
    is_whole boolean := false;
  BEGIN
    LOOP
      IF is_text AND NOT is_asked THEN
        is_asked := NOT is_first OR ${matchesFew};
        IF is_asked THEN
          candidates := rare_contacts(organization, from_at, from_id, terms, patterns, next_span);
          -- These are all that match. The caller looks them up, and leaves out those before the page.
          is_whole := cardinality(candidates) <= size AND cardinality(terms) = 1 AND tag IS NULL AND channel IS NULL;
          EXIT WHEN candidates IS NOT NULL;
        END IF;
      END IF;
      found_before := cardinality(page);
      IF owner IS NOT NULL THEN ${readSpan("c.owner_user_id = owner")}
      ELSIF stage IS NOT NULL THEN ${readSpan("c.lifecycle_stage = stage")}
      ELSE ${readSpan("true")}
      END IF;
      EXIT WHEN cardinality(page) >= size OR from_id IS NULL;
      IF NOT is_first AND owner IS NULL AND stage IS NULL THEN
        candidates := find_contacts_by_week(
          organization, from_at, from_id, size - cardinality(page), tag, channel, terms, patterns
        );
        EXIT WHEN candidates IS NOT NULL;
      END IF;
      -- If contacts match at the rate of this span, the next one would not fill the page.
      IF (next_span / span) * (cardinality(page) - found_before) < size - cardinality(page) THEN
        candidates := few_contacts(
          organization, CASE WHEN owner IS NOT NULL THEN stage END, tag, channel, next_span
        );
        IF candidates IS NULL AND terms IS NOT NULL THEN
          candidates := CASE
            WHEN is_first AND is_text THEN find_contacts_by_week(
              organization, from_at, from_id, size - cardinality(page), tag, channel, terms, patterns
            )
            ELSE few_contacts_with(organization, terms, patterns, next_span)
          END;
        END IF;
        EXIT WHEN candidates IS NOT NULL;
      END IF;
      span := next_span;
      next_span := 10 * span;
      is_first := false;
    END LOOP;
    IF is_whole THEN
      page := candidates;
    ELSIF candidates IS NOT NULL THEN
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

/** A text that few contacts have costs a seventh less. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [rare, found]) yield* sql.unsafe(statement)
})
