import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * How work is claimed. A function, so that a claim is one round trip, while each
 * step is a statement with a snapshot of its own.
 *
 * Organizations take turns, and within an organization its lanes do. The row of a
 * lane is the lock under which its items are claimed. It is locked by an earlier
 * statement than the one that reads the items: a statement's snapshot is older than
 * the locks that it waits for.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`ALTER TABLE work_lanes ADD COLUMN organization_id uuid`
  yield* sql`UPDATE work_lanes l SET organization_id = work.organization_id FROM work WHERE work.lane_name = l.name`
  // A lane without items has nothing to remember: it is inserted with its next item.
  yield* sql`DELETE FROM work_lanes WHERE organization_id IS NULL`
  yield* sql`ALTER TABLE work_lanes ALTER COLUMN organization_id SET NOT NULL`
  yield* sql`DROP INDEX work_lanes_due`
  yield* sql`CREATE INDEX work_lanes_due ON work_lanes (kind, organization_id, next_due) WHERE next_due < 'infinity'`
  // An earlier version of this schema had other functions of these names.
  yield* sql`
    DROP FUNCTION IF EXISTS
      claim_work(text, integer, timestamptz, timestamptz, uuid),
      claim_work(text, integer, timestamptz, timestamptz, uuid, text[], uuid[], uuid[]),
      claim_items(text[], integer, timestamptz, timestamptz, uuid),
      claim_items(text[], integer, timestamptz, timestamptz, uuid, uuid[], uuid[]),
      schedule_lanes(text[], text[], timestamptz),
      schedule_lanes(text[], text[], timestamptz, uuid[], uuid[])
  `

  // `holders` are the organizations of which the caller holds items, `held` how many, and `organization_most` how many it
  // may hold of one.
  //
  // These settings make the plans independent of table sizes: the queue may be empty when they are made, and long a
  // second later. Each lane's items are read in the order of an index, only as many as are needed. The settings also
  // apply to the functions that this one calls.
  yield* sql`
    CREATE FUNCTION claim_work(
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
    DECLARE
      names text[];
      seen text[] := '{}';
      claimed work[];
    BEGIN
      LOOP
        names := lock_lanes(wanted, most, at, holders, held, organization_most);
        EXIT WHEN cardinality(names) = 0;
        claimed := claim_items(names, most, at, lease_end, claim, holders, held, organization_most);
        PERFORM schedule_lanes(names, ARRAY(SELECT DISTINCT lane_name FROM unnest(claimed)), at);
        -- When a full page of lanes had no item to claim, read the next page.
        EXIT WHEN cardinality(claimed) > 0 OR cardinality(names) < most OR names <@ seen;
        seen := seen || names;
      END LOOP;
      RETURN QUERY
        SELECT c.organization_id, c.kind, c.lane, l.allowed::integer, c.ref, c.attempt, c.defects, c.token, c.trace
        FROM unnest(claimed) c
        JOIN work_lanes l ON l.name = c.lane_name;
    END
    $$
  `

  // The organizations are found one after the other, each with one step in the index, because one of them may have
  // thousands of due lanes. Of its lanes those that have waited longest are taken. More lanes are read than are locked,
  // because concurrent claims may have locked the first ones. Idle lanes are due at infinity, and not in the index.
  yield* sql`
    CREATE FUNCTION lock_lanes(
      wanted text,
      most integer,
      at timestamptz,
      holders uuid[],
      held integer[],
      organization_most integer
    ) RETURNS text[]
    LANGUAGE plpgsql
    AS $$
    BEGIN
      RETURN ARRAY(
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
    END
    $$
  `

  // The organization of which the caller holds the fewest items is served first, and of an organization the lane with the
  // fewest claimed items. SKIP LOCKED: a settlement locks its item before the lane, even if its lease has ended. Such an
  // item is left out.
  yield* sql`
    CREATE FUNCTION claim_items(
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
    $$
  `

  // A lane is `closed` if settling one of its items will schedule it again: the first item of a fifo lane, or those that
  // were just claimed and fill it. A lane without waiting items is checked twice more before it becomes idle, because
  // writers that saw it as due may not have committed yet. From then on (`emptied_at`) a writer that adds an item wakes it.
  yield* sql`
    CREATE FUNCTION schedule_lanes(names text[], served_names text[], at timestamptz) RETURNS void
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
    $$
  `
})
