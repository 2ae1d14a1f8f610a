-- Sets when locked lanes are checked next: the last step of `claim_work.sql`. `served` are those of which items were claimed.
CREATE OR REPLACE FUNCTION schedule_lanes(names text[], served text[], at timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
#variable_conflict use_column
BEGIN
  UPDATE work_lanes l
  SET
    closed = s.closed,
    served_at = CASE WHEN s.served THEN at ELSE l.served_at END,
    emptied_at = CASE
      WHEN s.head_due IS NULL AND NOT s.served AND NOT s.closed THEN coalesce(l.emptied_at, at)
    END,
    next_due = CASE
      -- A settlement or a sweep opens the lane. The minute is a safety net.
      WHEN s.closed AND s.leased > 0 THEN at + interval '1 minute'
      -- The lane is full, but its settlements may not see `closed`.
      WHEN s.head_due IS NOT NULL AND s.leased >= l.allowed THEN at + interval '1 second'
      -- An item waits for the end of a pause, for the turn of its lane, or for its time.
      WHEN s.head_due IS NOT NULL THEN greatest(
        l.paused_until,
        CASE WHEN s.served THEN at ELSE l.served_at END,
        s.head_due
      )
      -- The last waiting item was just claimed: the next claim finds the lane empty.
      WHEN s.leased > 0 AND s.served THEN at
      -- The lane is empty: it is checked twice more, because a commit may add an item that this statement does not see.
      WHEN l.emptied_at IS NULL THEN at + interval '100 milliseconds'
      WHEN l.emptied_at > at - interval '1 second' THEN at + interval '1 second'
      ELSE 'infinity'
    END
  FROM (
    SELECT
      l.name,
      is_served.served,
      leased.items AS leased,
      head.due_at AS head_due,
      CASE
        WHEN l.fifo THEN head.due_at IS NOT NULL OR leased.items > 0
        ELSE leased.items >= l.allowed AND (l.closed OR is_served.served)
      END AS closed
    FROM work_lanes l
    CROSS JOIN LATERAL (SELECT l.name = ANY(served) AS served) is_served
    CROSS JOIN LATERAL leased_items(l.name) leased
    LEFT JOIN LATERAL waiting_items(l.name, l.fifo, 1) head ON true
    WHERE l.name = ANY(names)
  ) s
  WHERE l.name = s.name AND l.name = ANY(names);
END
$$;
