-- Claims work. `work/WorkQueue.ts` describes the states of lanes.
--
-- A function, so that a claim is one round trip, while each of its three steps is a statement with a snapshot of its own:
-- a statement's snapshot is older than the locks that it waits for, so the items are read after their lanes are locked.
--
-- `holders` are the organizations of which the caller holds items, `held` how many, and `organization_most` how many
-- items of one organization it may hold.
--
-- These settings make the plans independent of table sizes: the queue may be empty when they are made, and long a second
-- later. Each lane's items are read in the order of an index, only as many as are needed.
CREATE OR REPLACE FUNCTION claim_work(
  wanted text,
  most integer,
  at timestamptz,
  lease_end timestamptz,
  claim uuid,
  holders uuid[],
  held integer[],
  organization_most integer
) RETURNS TABLE (
  organization_id uuid,
  kind text,
  lane uuid,
  lane_cap integer,
  ref uuid,
  attempt integer,
  defects integer,
  token uuid,
  trace text
)
LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
AS $$
#variable_conflict use_column
DECLARE
  names text[];
  seen text[] := '{}';
  claimed work[];
BEGIN
  LOOP
    -- 1. Lock due lanes. The organizations are found one after the other, each with one step in the index, because one of
    -- them may have thousands of due lanes. Of its lanes those that have waited longest are taken. More lanes are read
    -- than are locked, because concurrent claims may have locked the first ones.
    names := ARRAY(
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
          WHERE kind = wanted AND next_due < 'infinity' AND organization_id > o.id
          ORDER BY organization_id
          LIMIT 1
        )
        FROM organizations o
        WHERE o.id IS NOT NULL
      ), due AS (
        SELECT
          lane.name,
          lane.next_due,
          coalesce(h.items, 0) + row_number() OVER (PARTITION BY o.id ORDER BY lane.next_due) AS turn
        FROM organizations o
        LEFT JOIN unnest(holders, held) AS h (id, items) ON h.id = o.id
        CROSS JOIN LATERAL (
          SELECT name, next_due
          FROM work_lanes
          WHERE kind = wanted AND organization_id = o.id AND next_due <= at AND next_due < 'infinity'
          ORDER BY next_due
          LIMIT greatest(0, least(most * 4, organization_most - coalesce(h.items, 0)))
        ) lane
        ORDER BY turn, next_due
        LIMIT most * 4
      )
      SELECT l.name
      FROM due
      JOIN work_lanes l ON l.name = due.name
      WHERE l.next_due <= at
      ORDER BY due.turn, due.next_due
      LIMIT most
      FOR UPDATE OF l SKIP LOCKED
    );
    EXIT WHEN cardinality(names) = 0;

    -- 2. Claim items of these lanes: first of the organization of which the caller holds the fewest, and of an
    -- organization first those of the lane with the fewest claimed items (`round`). SKIP LOCKED: a settlement locks its
    -- item before the lane, even if its lease has ended, so waiting for the item here could be a deadlock.
    WITH due AS (
      SELECT
        item.kind,
        item.ref,
        l.organization_id,
        l.next_due,
        l.allowed,
        leased.items + row_number() OVER (PARTITION BY l.name ORDER BY item.due_at, item.seq) AS round
      FROM work_lanes l
      CROSS JOIN LATERAL (
        SELECT count(*) AS items
        FROM work
        WHERE lane_name = l.name AND leased_until IS NOT NULL
      ) leased
      -- Two separate queries, so that each reads the first rows of an index.
      CROSS JOIN LATERAL (
        (
          SELECT kind, ref, due_at, seq
          FROM work
          WHERE l.fifo AND lane_name = l.name AND leased_until IS NULL
          ORDER BY seq
          LIMIT 1
        )
        UNION ALL
        (
          SELECT kind, ref, due_at, seq
          FROM work
          WHERE NOT l.fifo AND lane_name = l.name AND leased_until IS NULL
          ORDER BY due_at, seq
          LIMIT greatest(0, l.allowed - leased.items)
        )
      ) item
      WHERE l.name = ANY(names) AND coalesce(l.paused_until <= at, true) AND item.due_at <= at
    ), turns AS (
      SELECT
        due.kind,
        due.ref,
        due.next_due,
        coalesce(h.items, 0) + row_number() OVER (PARTITION BY due.organization_id ORDER BY round, next_due) AS turn
      FROM due
      LEFT JOIN unnest(holders, held) AS h (id, items) ON h.id = due.organization_id
      WHERE due.round <= due.allowed
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
    SELECT coalesce(array_agg(taken::work), '{}') INTO claimed FROM taken;

    -- 3. Set when these lanes are checked next.
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
      CROSS JOIN LATERAL (SELECT l.name IN (SELECT lane_name FROM unnest(claimed)) AS served) is_served
      CROSS JOIN LATERAL (
        SELECT count(*) AS items
        FROM work
        WHERE lane_name = l.name AND leased_until IS NOT NULL
      ) leased
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

    -- When a full page of lanes had no item to claim, read the next page.
    EXIT WHEN cardinality(claimed) > 0 OR cardinality(names) < most OR names <@ seen;
    seen := seen || names;
  END LOOP;
  RETURN QUERY
    SELECT c.organization_id, c.kind, c.lane, l.allowed::integer, c.ref, c.attempt, c.defects, c.token, c.trace
    FROM unnest(claimed) c
    JOIN work_lanes l ON l.name = c.lane_name;
END
$$;
