-- Ends the leases that are over, opens the lanes of these and of items due before the lane is checked, and deletes the
-- lanes that have long been empty, except throttled ones. `work/WorkQueue.ts` describes the columns.
--
-- Like `claim_work.sql`, a function of several statements: each sees what was committed before the lanes were locked.
CREATE OR REPLACE FUNCTION sweep_lanes(at timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
  -- Longer than any statement runs that may add an item to the lane.
  emptied_before CONSTANT timestamptz := at - interval '15 seconds';
  names text[];
BEGIN
  names := ARRAY(
    SELECT name
    FROM work_lanes
    WHERE name = ANY(ARRAY(
      SELECT lane_name FROM work WHERE leased_until <= at
      UNION
      SELECT name
      FROM work_lanes lane
      WHERE emptied_at <= emptied_before
        AND (
          EXISTS (SELECT FROM work WHERE lane_name = lane.name AND due_at < lane.next_due)
          OR (allowed = cap AND paused_until IS NULL AND NOT EXISTS (SELECT FROM work WHERE lane_name = lane.name))
        )
    ))
    ORDER BY name
    -- The next sweep takes the others: a statement has 5 seconds.
    LIMIT 10000
    FOR UPDATE SKIP LOCKED
  );

  -- It skips locked items: a concurrent settlement has locked one, and waits for its lane.
  UPDATE work
  SET leased_until = NULL, token = NULL
  WHERE ctid = ANY(ARRAY(
    SELECT ctid
    FROM work
    WHERE lane_name = ANY(names) AND leased_until <= at
    FOR UPDATE SKIP LOCKED
  ));

  DELETE FROM work_lanes lane
  WHERE name = ANY(names) AND emptied_at <= emptied_before AND allowed = cap AND paused_until IS NULL
    AND NOT EXISTS (SELECT FROM work WHERE lane_name = lane.name);

  UPDATE work_lanes lane
  SET closed = false, emptied_at = NULL, next_due = greatest(paused_until, served_at, '-infinity')
  WHERE name = ANY(names) AND EXISTS (SELECT FROM work WHERE lane_name = lane.name);
END
$$;
