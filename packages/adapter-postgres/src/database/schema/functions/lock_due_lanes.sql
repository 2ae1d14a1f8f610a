-- Locks due lanes, at most `most`, and returns their names: a step of `claim_work.sql`, which explains the parameters.
--
-- The organizations are found one after the other, each with one step in the index, because one of them may have thousands
-- of due lanes. Of its lanes those that have waited longest are taken, however few items it can get: some of these lanes may
-- hold their share already. More lanes are read than are locked, because concurrent claims may have locked the first ones.
CREATE OR REPLACE FUNCTION lock_due_lanes(
  wanted text,
  most integer,
  at timestamptz,
  holders uuid[],
  held integer[],
  organization_most integer
) RETURNS SETOF text
LANGUAGE plpgsql
AS $$
BEGIN
  RETURN QUERY
  WITH RECURSIVE organizations AS (
    SELECT (
      SELECT organization_id
      FROM work_lanes
      WHERE kind = wanted AND next_due < 'infinity'
      ORDER BY organization_id
      LIMIT 1
    ) AS id
    UNION ALL
    SELECT (
      SELECT organization_id
      FROM work_lanes
      WHERE kind = wanted AND next_due < 'infinity' AND organization_id > organization.id
      ORDER BY organization_id
      LIMIT 1
    )
    FROM organizations organization
    WHERE organization.id IS NOT NULL
  ), due AS (
    SELECT
      lane.name,
      lane.next_due,
      coalesce(holder.items, 0) + row_number() OVER (PARTITION BY organization.id ORDER BY lane.next_due) AS turn
    FROM organizations organization
    LEFT JOIN unnest(holders, held) AS holder (id, items) ON holder.id = organization.id
    CROSS JOIN LATERAL (
      SELECT name, next_due
      FROM work_lanes
      WHERE kind = wanted AND organization_id = organization.id AND next_due <= at AND next_due < 'infinity'
      ORDER BY next_due
      LIMIT CASE WHEN coalesce(holder.items, 0) < organization_most THEN most * 4 ELSE 0 END
    ) lane
    ORDER BY turn, next_due
    LIMIT most * 4
  )
  SELECT locked.name
  FROM due
  CROSS JOIN LATERAL (
    SELECT name
    FROM work_lanes
    WHERE name = due.name AND next_due <= at
    FOR UPDATE SKIP LOCKED
  ) locked
  ORDER BY due.turn, due.next_due
  LIMIT most;
END
$$;
