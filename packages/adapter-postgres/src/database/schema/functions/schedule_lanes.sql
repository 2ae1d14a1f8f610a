-- Sets when locked lanes are checked next: the last step of `claim_work.sql`. `served` are those of which items were claimed.
-- `work/WorkQueue.ts` describes the columns.
CREATE OR REPLACE FUNCTION schedule_lanes(names text[], served text[], at timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
  UPDATE work_lanes lane
  SET
    closed = found.closed,
    served_at = CASE WHEN found.served THEN at ELSE lane.served_at END,
    emptied_at = CASE
      WHEN coalesce(found.head_due > at, true) AND NOT found.served AND NOT found.closed THEN coalesce(lane.emptied_at, at)
    END,
    next_due = CASE
      -- A settlement or a sweep opens the lane. The minute is a safety net.
      WHEN found.closed AND found.leased > 0 THEN at + interval '1 minute'
      -- The lane is full, but its settlements may not see `closed`.
      WHEN found.head_due IS NOT NULL AND found.leased >= lane.allowed THEN at + interval '1 second'
      -- An item waits for the end of a pause, for the turn of its lane, or, as the first of a fifo lane, for its time. A lane
      -- that gets none, because it holds its share, goes behind the others.
      WHEN found.closed OR found.head_due <= at THEN greatest(
        lane.paused_until,
        CASE
          WHEN found.served THEN at
          WHEN cardinality(schedule_lanes.served) = 0 THEN at + interval '1 millisecond'
          ELSE lane.served_at
        END,
        found.head_due
      )
      -- The last due item was just claimed: the next claim finds none.
      WHEN found.served THEN at
      -- No item is due. The lane is checked twice more, because a commit may add an item that this statement does not see.
      ELSE greatest(
        lane.paused_until,
        least(
          found.head_due,
          CASE
            WHEN lane.emptied_at IS NULL THEN at + interval '100 milliseconds'
            WHEN lane.emptied_at > at - interval '1 second' THEN at + interval '1 second'
            ELSE 'infinity'
          END
        )
      )
    END
  FROM (
    SELECT
      lane.name,
      is_served.served,
      leased.items AS leased,
      head.due_at AS head_due,
      CASE
        WHEN lane.fifo THEN head.due_at IS NOT NULL OR leased.items > 0
        ELSE leased.items >= lane.allowed AND (lane.closed OR is_served.served)
      END AS closed
    FROM work_lanes lane
    CROSS JOIN LATERAL (SELECT lane.name = ANY(served) AS served) is_served
    CROSS JOIN LATERAL leased_items(lane.name) leased
    LEFT JOIN LATERAL waiting_items(lane.name, lane.fifo, 1) head ON true
    WHERE lane.name = ANY(names)
  ) found
  WHERE lane.name = found.name AND lane.name = ANY(names);
END
$$;
