-- Returns a page of contacts that match the filters, in the list's order.
--
-- The order changes with every message, the filtered values rarely, so no index has both. There are two ways to find a
-- page: to look up all contacts that match one filter, or to read contacts in the list's order and check each. The
-- first is fast when few match, the second when many do. A text is looked up first, unless a sample shows that it is
-- frequent. Then the function takes turns between the two ways, with ten times as many contacts each time, so that it
-- costs at most a few times as much as the better one.
--
-- One generic plan serves all values. It looks contacts up one by one (`OFFSET`), because a table that was small when
-- the plan was made would be read whole for a join.
CREATE OR REPLACE FUNCTION find_contacts(
  organization uuid, from_at timestamptz, from_id uuid, size bigint,
  owner uuid, stage text, tag uuid, channel text, terms text[]
) RETURNS SETOF contacts
LANGUAGE plpgsql STABLE ROWS 50
AS $$
DECLARE
  -- A shorter term is short. How frequent it is, the contacts that were updated last tell soonest: `latest` of them are
  -- looked at, and `latest_min` with the term make it frequent.
  long_min CONSTANT integer := 5;
  latest CONSTANT bigint := 16;
  latest_min CONSTANT bigint := 3;
  -- How many of one contact in 256 make a term frequent: it has a thousand matches or more.
  sampled_min CONSTANT bigint := 4;
  -- How many contacts with a text are looked up at least, before the other way is tried.
  most_with_text CONSTANT bigint := 15000;
  -- How many contacts are looked up by another filter, or read in the list's order, before the other way is tried.
  most bigint := 300;
  span bigint := 1500;

  tagged jsonb := CASE WHEN tag IS NOT NULL THEN jsonb_build_array(jsonb_build_object('id', tag)) END;
  known jsonb := jsonb_build_array(jsonb_build_object('channel_type', channel));
  is_frequent boolean := terms IS NULL;
  is_first boolean := true;
  is_sparse boolean := true;
  few uuid[];
  listed bigint;
BEGIN
  IF char_length(terms[1]) < long_min OR char_length(terms[2]) < long_min THEN
    SELECT count(*) >= latest_min INTO is_frequent
    FROM (
      SELECT c.search_text
      FROM contacts c
      WHERE c.organization_id = organization AND (c.updated_at, c.id) < (from_at, from_id)
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT latest
    ) c
    WHERE strpos(c.search_text, terms[1]) > 0 OR strpos(c.search_text, terms[2]) > 0;
  END IF;
  IF NOT is_frequent THEN
    is_frequent := EXISTS (
      SELECT
      FROM unnest(terms) AS term
      WHERE EXISTS (
        SELECT
        FROM contact_texts t
        WHERE text_keys(t.organization_id, t.contact_id, t.search_text) @> term_keys(organization, term, 1)
        OFFSET sampled_min - 1
      )
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
          WHERE text_keys(t.organization_id, t.contact_id, t.search_text) @> term_keys(organization, term, 0)
            AND t.organization_id IS NOT DISTINCT FROM organization
            AND strpos(t.search_text, term) > 0
          LIMIT greatest(most, most_with_text) + 1
        ) found
      );
      EXIT WHEN cardinality(few) <= greatest(most, most_with_text);
    END IF;
    IF is_sparse AND tag IS NOT NULL THEN
      few := ARRAY(
        SELECT contact_id FROM contact_tags WHERE organization_id = organization AND tag_id = tag LIMIT most + 1
      );
      EXIT WHEN cardinality(few) <= most;
    END IF;
    IF is_sparse AND channel IS NOT NULL THEN
      few := ARRAY(
        SELECT contact_id FROM identities WHERE organization_id = organization AND channel_type = channel LIMIT most + 1
      );
      IF channel = 'phone_messaging' THEN
        few := few || ARRAY(
          SELECT id FROM contacts WHERE organization_id = organization AND primary_phone IS NOT NULL LIMIT most + 1
        );
      END IF;
      EXIT WHEN cardinality(few) <= most;
    END IF;
    IF is_sparse AND owner IS NOT NULL AND stage IS NOT NULL THEN
      few := ARRAY(
        SELECT id FROM contacts WHERE organization_id = organization AND lifecycle_stage = stage LIMIT most + 1
      );
      EXIT WHEN cardinality(few) <= most;
    END IF;

    -- Each of these three statements reads the next contacts by an index of its own.
    few := NULL;
    IF owner IS NOT NULL THEN
      RETURN QUERY
      SELECT c.*
      FROM (
        SELECT *
        FROM contacts c
        WHERE c.organization_id = organization AND c.owner_user_id = owner AND (c.updated_at, c.id) < (from_at, from_id)
        ORDER BY c.updated_at DESC, c.id DESC
        LIMIT span
      ) c
      WHERE contact_matches(
        c.lifecycle_stage, c.tags, c.identities, c.primary_phone, c.search_text, stage, tagged, channel, known, terms
      )
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT size;
    ELSIF stage IS NOT NULL THEN
      RETURN QUERY
      SELECT c.*
      FROM (
        SELECT *
        FROM contacts c
        WHERE c.organization_id = organization AND c.lifecycle_stage = stage
          AND (c.updated_at, c.id) < (from_at, from_id)
        ORDER BY c.updated_at DESC, c.id DESC
        LIMIT span
      ) c
      WHERE contact_matches(
        c.lifecycle_stage, c.tags, c.identities, c.primary_phone, c.search_text, stage, tagged, channel, known, terms
      )
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT size;
    ELSE
      RETURN QUERY
      SELECT c.*
      FROM (
        SELECT *
        FROM contacts c
        WHERE c.organization_id = organization AND (c.updated_at, c.id) < (from_at, from_id)
        ORDER BY c.updated_at DESC, c.id DESC
        LIMIT span
      ) c
      WHERE contact_matches(
        c.lifecycle_stage, c.tags, c.identities, c.primary_phone, c.search_text, stage, tagged, channel, known, terms
      )
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT size;
    END IF;
    GET DIAGNOSTICS listed = ROW_COUNT;
    size := size - listed;
    EXIT WHEN size = 0;

    -- The place of the last contact that was read.
    IF owner IS NOT NULL THEN
      SELECT c.updated_at, c.id INTO from_at, from_id
      FROM contacts c
      WHERE c.organization_id = organization AND c.owner_user_id = owner AND (c.updated_at, c.id) < (from_at, from_id)
      ORDER BY c.updated_at DESC, c.id DESC
      OFFSET span - 1 LIMIT 1;
    ELSIF stage IS NOT NULL THEN
      SELECT c.updated_at, c.id INTO from_at, from_id
      FROM contacts c
      WHERE c.organization_id = organization AND c.lifecycle_stage = stage AND (c.updated_at, c.id) < (from_at, from_id)
      ORDER BY c.updated_at DESC, c.id DESC
      OFFSET span - 1 LIMIT 1;
    ELSE
      SELECT c.updated_at, c.id INTO from_at, from_id
      FROM contacts c
      WHERE c.organization_id = organization AND (c.updated_at, c.id) < (from_at, from_id)
      ORDER BY c.updated_at DESC, c.id DESC
      OFFSET span - 1 LIMIT 1;
    END IF;
    EXIT WHEN from_id IS NULL;
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
      WHERE (c.updated_at, c.id) < (from_at, from_id)
        AND (owner IS NULL OR c.owner_user_id = owner)
        AND contact_matches(
          c.lifecycle_stage, c.tags, c.identities, c.primary_phone, c.search_text, stage, tagged, channel, known, terms
        )
      ORDER BY c.updated_at DESC, c.id DESC
      LIMIT size
    ) found
    CROSS JOIN LATERAL (SELECT * FROM contacts WHERE organization_id = organization AND id = found.id OFFSET 0) c
    ORDER BY c.updated_at DESC, c.id DESC;
  END IF;
END
$$;
