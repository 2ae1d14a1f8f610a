-- Claims bodies of callbacks. Organizations take turns in the order of their ids, beginning after the last one of the
-- caller's latest claim. So a claim looks at `most` organizations with due bodies, however many have a backlog. Each row
-- has the last organization of this claim as `served`.
--
-- `waiting` has the bodies that are claimed or postponed, and were received after `ordered_since`: a later body of the same
-- channel and person is left out. It is limited, so that a claim stays fast while very many bodies wait for their files.
--
-- A plpgsql function, because a session keeps its plan. The connection's settings make the plan use indexes even if the
-- table was empty when it was made, and `ctid` makes it update only the claimed rows even if the table had one row.
CREATE OR REPLACE FUNCTION claim_callbacks(
  served_before uuid,
  most integer,
  at timestamptz,
  lease_end timestamptz,
  claim uuid,
  ordered_since timestamptz DEFAULT 'infinity'
) RETURNS TABLE (
  id uuid,
  source text,
  channel_id uuid,
  body bytea,
  received_at timestamptz,
  attempt integer,
  token uuid,
  served uuid
)
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH turns AS (
    SELECT id, ordinal FROM callback_turns(served_before, most, at)
  ), waiting AS MATERIALIZED (
    SELECT callback.id, callback.channel_id, callback.people
    FROM turns
    CROSS JOIN LATERAL (
      SELECT id, channel_id, people
      FROM provider_callbacks
      WHERE organization_id = turns.id AND due_at > at AND received_at > ordered_since
      ORDER BY due_at, id
      LIMIT 1000
    ) callback
  ), due AS (
    SELECT
      callback.row,
      callback.id,
      callback.due_at,
      row_number() OVER (PARTITION BY turns.id ORDER BY callback.due_at, callback.id) AS turn
    FROM turns
    CROSS JOIN LATERAL (
      SELECT ctid AS row, id, due_at
      FROM provider_callbacks unclaimed
      WHERE organization_id = turns.id AND due_at <= at AND NOT EXISTS (
        SELECT FROM waiting earlier
        WHERE earlier.channel_id = unclaimed.channel_id AND earlier.id < unclaimed.id
          AND earlier.people ?| ARRAY(SELECT jsonb_array_elements_text(unclaimed.people))
      )
      ORDER BY due_at, id
      LIMIT most
      FOR UPDATE SKIP LOCKED
    ) callback
    ORDER BY turn, callback.due_at, callback.id
    LIMIT most
  ), taken AS (
    UPDATE provider_callbacks
    SET due_at = lease_end, attempt = attempt + 1, token = claim
    WHERE ctid = ANY(ARRAY(SELECT row FROM due))
    RETURNING *
  )
  SELECT taken.id, taken.source, taken.channel_id, taken.body, taken.received_at, taken.attempt, taken.token,
    (SELECT id FROM turns ORDER BY ordinal DESC LIMIT 1) AS served
  FROM taken
  JOIN due ON due.id = taken.id
  ORDER BY due.turn, due.due_at, taken.id;
END
$$;
