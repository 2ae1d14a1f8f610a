-- Sets when locked lanes are due next.
--
-- A lane is `closed` if settling one of its items will schedule it again: the first item of a fifo lane, or those that
-- were just claimed and fill it. A lane without waiting items is checked twice more before it becomes idle, because
-- writers that saw it as due may not have committed yet. From then on (`emptied_at`) a writer that adds an item wakes it.
CREATE OR REPLACE FUNCTION schedule_lanes(names text[], served_names text[], at timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
  UPDATE work_lanes l
  SET
    closed = s.closed,
    -- Throttles last for as long as the lane has items.
    allowed = CASE WHEN s.head_due IS NULL AND s.held = 0 THEN l.cap ELSE l.allowed END,
    paused_until = CASE WHEN s.head_due IS NULL AND s.held = 0 THEN NULL ELSE l.paused_until END,
    served_at = CASE WHEN s.served THEN at ELSE l.served_at END,
    emptied_at = CASE
      WHEN s.head_due IS NULL AND NOT s.served AND NOT s.closed THEN coalesce(l.emptied_at, at)
    END,
    next_due = CASE
      WHEN s.closed AND NOT s.waits THEN greatest(s.lease_end, at + interval '1 second')
      WHEN s.head_due IS NOT NULL AND s.held >= l.allowed THEN at + interval '1 second'
      WHEN s.head_due IS NOT NULL THEN greatest(
        l.paused_until,
        CASE WHEN s.served THEN at ELSE l.served_at END,
        s.head_due
      )
      WHEN s.held > 0 AND s.served THEN at
      WHEN l.emptied_at IS NULL THEN at + interval '100 milliseconds'
      WHEN l.emptied_at > at - interval '1 second' THEN at + interval '1 second'
      WHEN s.held > 0 THEN greatest(s.lease_end, at + interval '1 second')
      ELSE 'infinity'
    END
  FROM (
    SELECT
      l.name,
      l.name = ANY(served_names) AS served,
      held.count AS held,
      held.lease_end,
      head.due_at AS head_due,
      l.fifo AND held.count = 0 AS waits,
      CASE
        WHEN l.fifo THEN head.due_at IS NOT NULL OR held.count > 0
        ELSE held.count >= l.allowed AND (l.closed OR l.name = ANY(served_names))
      END AS closed
    FROM work_lanes l
    CROSS JOIN LATERAL (
      SELECT count(*) AS count, min(leased_until) AS lease_end
      FROM work
      WHERE lane_name = l.name AND leased_until IS NOT NULL
    ) held
    -- Two separate queries, so that each reads the first row of an index.
    LEFT JOIN LATERAL (
      (
        SELECT due_at
        FROM work
        WHERE l.fifo AND lane_name = l.name AND leased_until IS NULL
        ORDER BY seq
        LIMIT 1
      )
      UNION ALL
      (
        SELECT due_at
        FROM work
        WHERE NOT l.fifo AND lane_name = l.name AND leased_until IS NULL
        ORDER BY due_at, seq
        LIMIT 1
      )
    ) head ON true
    WHERE l.name = ANY(names)
  ) s
  WHERE l.name = s.name AND l.name = ANY(names);
END
$$;
