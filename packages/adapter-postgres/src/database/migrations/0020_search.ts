import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { passes, readSpan } from "./0011_reads.ts"
import { weekOf } from "./0014_weeks.ts"

/** From how many matches in all weeks on a term is frequent. Fewer are all looked up in a millisecond. */
const frequent_min = 500

/**
 * Returns whether a term is frequent, judged by the week of a position and by the
 * first one: by as many matches there as each week has of 500, but 20 at least.
 */
const frequent = `
  CREATE FUNCTION is_frequent(
    organization uuid, from_at timestamptz, from_id uuid, terms text[], patterns text[]
  ) RETURNS boolean
  LANGUAGE plpgsql STABLE
  AS $$
  DECLARE
    earliest timestamptz := first_week(organization);
    latest timestamptz;
    enough integer;
  BEGIN
    SELECT ${weekOf("c.updated_at")} INTO latest
    FROM contacts c
    WHERE c.organization_id = organization AND (c.updated_at, c.id) < (from_at, from_id)
    ORDER BY c.updated_at DESC, c.id DESC
    LIMIT 1;
    enough := greatest(20, ${frequent_min} / (1 + extract(epoch FROM latest - earliest) / 604800));
    RETURN cardinality(week_matches(organization, latest, '{}', terms, patterns, enough)) >= enough
      OR latest > earliest
        AND cardinality(week_matches(organization, earliest, '{}', terms, patterns, enough)) >= enough;
  END
  $$
`

/**
 * Returns the ids of a page of contacts that match the filters, in the list's order:
 * as in 0014, but a term is frequent by the number of weeks that the organization has.
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
    is_sparse boolean;
    is_asked boolean;
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
      is_sparse := 10 * (cardinality(page) - found_before) < size - cardinality(page);
      -- The contacts with a term may have been updated together, so the first span says little about the others.
      is_asked := span = 100 AND terms IS NOT NULL AND owner IS NULL AND stage IS NULL;
      IF is_sparse OR is_asked THEN
        candidates := few_contacts(
          organization, CASE WHEN owner IS NOT NULL THEN stage END, tag, channel, 10 * span
        );
        IF candidates IS NULL AND terms IS NOT NULL THEN
          -- To find out that a term is frequent, the index of all texts needs the most time if it is.
          IF NOT (is_asked AND is_frequent(organization, from_at, from_id, terms, patterns)) THEN
            candidates := few_contacts_with(organization, terms, patterns, 10 * span);
          ELSIF is_sparse THEN
            candidates := find_contacts_by_week(
              organization, from_at, from_id, size - cardinality(page), tag, channel, terms, patterns
            );
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

/** Texts that few contacts have are found by the index of all texts while contacts are not indexed by week yet. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  for (const statement of [frequent, found]) yield* sql.unsafe(statement)
})
