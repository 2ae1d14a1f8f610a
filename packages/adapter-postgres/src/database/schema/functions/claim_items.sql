-- Claims items of locked lanes, and returns them.
--
-- The organization of which the caller holds the fewest items is served first, and of an organization the lane with the
-- fewest claimed items. SKIP LOCKED: a settlement locks its item before the lane, even if its lease has ended. Such an
-- item is left out.
CREATE OR REPLACE FUNCTION claim_items(
  names text[],
  most integer,
  at timestamptz,
  lease_end timestamptz,
  claim uuid,
  holders uuid[],
  held integer[],
  organization_most integer
) RETURNS work[]
LANGUAGE plpgsql
AS $$
DECLARE
  claimed work[];
BEGIN
  WITH due AS (
    SELECT item.kind, item.ref, 1 AS round, l.organization_id, l.next_due
    FROM work_lanes l
    CROSS JOIN LATERAL (
      SELECT kind, ref, due_at, leased_until
      FROM work
      WHERE lane_name = l.name
      ORDER BY seq
      LIMIT 1
    ) item
    WHERE l.name = ANY(names) AND coalesce(l.paused_until <= at, true)
      AND l.fifo AND item.leased_until IS NULL AND item.due_at <= at
      AND NOT EXISTS (SELECT FROM work WHERE lane_name = l.name AND leased_until IS NOT NULL)
    UNION ALL
    SELECT item.kind, item.ref, item.round, l.organization_id, l.next_due
    FROM work_lanes l
    CROSS JOIN LATERAL (
      SELECT count(*) AS items
      FROM work
      WHERE lane_name = l.name AND leased_until IS NOT NULL
    ) leased
    CROSS JOIN LATERAL (
      SELECT kind, ref, leased.items + row_number() OVER (ORDER BY due_at, seq) AS round
      FROM work
      WHERE lane_name = l.name AND leased_until IS NULL AND due_at <= at
      ORDER BY due_at, seq
      LIMIT greatest(0, l.allowed - leased.items)
    ) item
    WHERE l.name = ANY(names) AND coalesce(l.paused_until <= at, true) AND NOT l.fifo
  ), turns AS (
    SELECT
      due.kind,
      due.ref,
      due.next_due,
      coalesce(h.items, 0) + row_number() OVER (PARTITION BY due.organization_id ORDER BY round, next_due) AS turn
    FROM due
    LEFT JOIN unnest(holders, held) AS h (id, items) ON h.id = due.organization_id
  ), next AS (
    SELECT kind, ref
    FROM turns
    WHERE turn <= organization_most
    ORDER BY turn, next_due
    LIMIT most
  ), free AS (
    SELECT work.kind, work.ref
    FROM next
    JOIN work ON work.kind = next.kind AND work.ref = next.ref
    WHERE work.leased_until IS NULL
    FOR UPDATE OF work SKIP LOCKED
  ), taken AS (
    UPDATE work
    SET leased_until = lease_end, token = claim, attempt = work.attempt + 1
    FROM free
    WHERE work.kind = free.kind AND work.ref = free.ref
    RETURNING work.*
  )
  SELECT array_agg(taken::work) INTO claimed FROM taken;
  RETURN coalesce(claimed, '{}');
END
$$;
