-- Returns the first waiting items of a lane, due or not, for the steps of `claim_work.sql`: at most one of a fifo lane, and
-- at most `most` of another. PostgreSQL inlines the function into their plans.
--
-- Two separate queries, so that each reads the first rows of an index.
CREATE OR REPLACE FUNCTION waiting_items(lane_wanted text, fifo boolean, most bigint)
RETURNS TABLE (id tid, due_at timestamptz, seq bigint)
LANGUAGE sql STABLE
AS $$
  (
    SELECT ctid, due_at, seq
    FROM work
    WHERE fifo AND lane_name = lane_wanted AND leased_until IS NULL
    ORDER BY seq
    LIMIT 1
  )
  UNION ALL
  (
    SELECT ctid, due_at, seq
    FROM work
    WHERE NOT fifo AND lane_name = lane_wanted AND leased_until IS NULL
    ORDER BY due_at, seq
    LIMIT most
  )
$$;
