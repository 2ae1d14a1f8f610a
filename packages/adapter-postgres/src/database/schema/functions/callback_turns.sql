-- Returns the organizations with due callbacks, at most `most`, in the order in which `claim_callbacks.sql` serves them. PostgreSQL
-- inlines the function into its plan.
--
-- `ring` visits the organizations in the order of their ids, beginning after the one served last, and wraps around once. It
-- stops when the limit is reached. `first` is materialized, because a scan from the start of the index passes the dead
-- entries of finished bodies.
CREATE OR REPLACE FUNCTION callback_turns(served_before uuid, most integer, at timestamptz)
RETURNS TABLE (id uuid, ordinal bigint)
LANGUAGE sql STABLE
AS $$
  WITH RECURSIVE first AS MATERIALIZED (
    SELECT organization_id AS id, due_at
    FROM provider_callbacks
    ORDER BY organization_id, due_at, id
    LIMIT 1
  ), ring (id, due_at) AS (
    SELECT served_before, NULL::timestamptz
    UNION
    SELECT next.id, next.due_at
    FROM ring
    CROSS JOIN LATERAL (
      (
        SELECT organization_id AS id, due_at
        FROM provider_callbacks
        WHERE organization_id > ring.id
        ORDER BY organization_id, due_at, id
        LIMIT 1
      )
      UNION ALL
      SELECT id, due_at FROM first
      LIMIT 1
    ) next
  )
  SELECT id, row_number() OVER ()
  FROM ring
  WHERE due_at <= at
  LIMIT most
$$;
