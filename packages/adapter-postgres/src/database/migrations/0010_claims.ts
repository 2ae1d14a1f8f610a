import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * How work is claimed. A function, so that a claim is one round trip, while each
 * step is a statement with a snapshot of its own.
 *
 * The row of a lane is the lock under which its items are claimed. It is locked by
 * an earlier statement than the one that reads the items: a statement's snapshot
 * is older than the locks that it waits for.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  // These settings make the plans independent of table sizes: the queue may be empty when they are made, and long a
  // second later. Each lane's items are read in the order of an index, only as many as are needed. The settings also
  // apply to the functions that this one calls.
  yield* sql`
    CREATE FUNCTION claim_work(
      wanted text,
      most integer,
      at timestamptz,
      lease_end timestamptz,
      claim uuid
    ) RETURNS SETOF work
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
        -- The lanes that are due, those that have waited longest first.
        names := ARRAY(
          SELECT name
          FROM work_lanes
          WHERE kind = wanted AND next_due <= at
          ORDER BY next_due
          LIMIT most
          FOR UPDATE SKIP LOCKED
        );
        EXIT WHEN cardinality(names) = 0;
        claimed := claim_items(names, most, at, lease_end, claim);
        PERFORM schedule_lanes(names, ARRAY(SELECT DISTINCT lane_name FROM unnest(claimed)), at);
        -- When a full page of lanes had no item to claim, read the next page.
        EXIT WHEN cardinality(claimed) > 0 OR cardinality(names) < most OR names <@ seen;
        seen := seen || names;
      END LOOP;
      RETURN QUERY SELECT * FROM unnest(claimed);
    END
    $$
  `

  // SKIP LOCKED: a settlement locks its item before the lane, even if its lease has ended. Such an item is left out.
  yield* sql`
    CREATE FUNCTION claim_items(
      names text[],
      most integer,
      at timestamptz,
      lease_end timestamptz,
      claim uuid
    ) RETURNS work[]
    LANGUAGE plpgsql
    AS $$
    DECLARE
      claimed work[];
    BEGIN
      WITH due AS (
        SELECT item.kind, item.ref, 1 AS round, l.next_due
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
        SELECT item.kind, item.ref, item.round, l.next_due
        FROM work_lanes l
        CROSS JOIN LATERAL (
          SELECT kind, ref, row_number() OVER (ORDER BY due_at, seq) AS round
          FROM work
          WHERE lane_name = l.name AND leased_until IS NULL AND due_at <= at
          ORDER BY due_at, seq
          LIMIT greatest(
            0,
            l.allowed - (
              SELECT count(*)
              FROM work
              WHERE lane_name = l.name AND leased_until IS NOT NULL
            )
          )
        ) item
        WHERE l.name = ANY(names) AND coalesce(l.paused_until <= at, true) AND NOT l.fifo
        ORDER BY round, next_due
        LIMIT most
      ), free AS (
        SELECT work.kind, work.ref
        FROM due
        JOIN work ON work.kind = due.kind AND work.ref = due.ref
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

  // A lane is \`closed\` if settling one of its items will schedule it again: the first item of a fifo lane, or those that
  // were just claimed and fill it. A lane without waiting items is checked twice more before it becomes idle, because
  // writers that saw it as due may not have committed yet. From then on (\`emptied_at\`) a writer that adds an item wakes it.
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
