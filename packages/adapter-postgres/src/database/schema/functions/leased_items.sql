-- Counts the leased items of a lane, for the steps of `claim_work.sql`. PostgreSQL inlines the function into their plans.
CREATE OR REPLACE FUNCTION leased_items(lane_wanted text) RETURNS TABLE (items bigint)
LANGUAGE sql STABLE
AS $$
  SELECT count(*)
  FROM (
    SELECT
    FROM work
    WHERE lane_name = lane_wanted AND leased_until IS NOT NULL
    ORDER BY leased_until
  ) item
$$;
