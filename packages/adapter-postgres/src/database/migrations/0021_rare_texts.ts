import { SqlClient } from "effect/sql"
import { passes, readSpan } from "./0011_reads.ts"

/**
 * Returns the ids of a page of contacts that match the filters, as in 0020, but in any order, and also of contacts that
 * match and come before the page, up to `size` in all. First it reads a page of contacts and a quarter, so that a text of nearly all fills the page, and
 * then 1,000.
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
    is_sparse boolean;
    is_asked boolean;
    is_whole boolean := false;
  BEGIN
    LOOP
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
      is_sparse := (next_span / span) * (cardinality(page) - found_before) < size - cardinality(page);
      -- The contacts with a term may have been updated together, so the first span says little about the others.
      is_asked := is_first AND terms IS NOT NULL AND owner IS NULL AND stage IS NULL;
      IF is_sparse OR is_asked THEN
        candidates := few_contacts(
          organization, CASE WHEN owner IS NOT NULL THEN stage END, tag, channel, next_span
        );
        IF candidates IS NULL AND terms IS NOT NULL THEN
          -- To find out that a term is frequent, the index of all texts needs the most time if it is.
          IF NOT (is_asked AND is_frequent(organization, from_at, from_id, terms, patterns)) THEN
            candidates := few_contacts_with(organization, terms, patterns, next_span);
            -- These are all that match. The caller looks them up, and leaves out those before the page.
            is_whole := cardinality(candidates) <= size AND cardinality(terms) = 1
              AND owner IS NULL AND stage IS NULL AND tag IS NULL AND channel IS NULL;
          ELSIF is_sparse THEN
            candidates := find_contacts_by_week(
              organization, from_at, from_id, size - cardinality(page), tag, channel, terms, patterns
            );
          END IF;
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

/** Fewer contacts are read for texts that few contacts have. */
export default SqlClient.SqlClient.use((sql) => sql.unsafe(found))
