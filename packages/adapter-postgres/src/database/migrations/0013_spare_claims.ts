import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Claims that know which claims of their caller are spare also when they schedule
 * lanes. So settling a spare item needs no lock of its lane, which claims skip while
 * it is locked: the claimer itself gives the capacity to the next items.
 *
 * `claim_work` and `schedule_lanes` replace those of `0010_claims.ts`, which says how
 * they work. Processes of an earlier version can call the new function.
 */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE OR REPLACE FUNCTION claim_work(
      wanted text,
      most integer,
      at timestamptz,
      lease_end timestamptz,
      claim uuid,
      spare_lanes text[] DEFAULT '{}',
      spare_refs uuid[] DEFAULT '{}',
      spare_tokens uuid[] DEFAULT '{}'
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
        -- Lanes in which spare items have made room that \`next_due\` does not show yet. Empty lanes have their own schedule.
        names := names || ARRAY(
          SELECT name
          FROM work_lanes
          WHERE name = ANY(spare_lanes) AND name <> ALL(names) AND emptied_at IS NULL
          ORDER BY name
          FOR UPDATE SKIP LOCKED
        );
        EXIT WHEN cardinality(names) = 0;
        claimed := claim_items(names, most, at, lease_end, claim, spare_refs, spare_tokens);
        PERFORM schedule_lanes(
          names, ARRAY(SELECT DISTINCT lane_name FROM unnest(claimed)), at, spare_refs, spare_tokens
        );
        -- When a full page of lanes had no item to claim, read the next page.
        EXIT WHEN cardinality(claimed) > 0 OR cardinality(names) < most OR names <@ seen;
        seen := seen || names;
      END LOOP;
      RETURN QUERY SELECT * FROM unnest(claimed);
    END
    $$
  `

  // Spare items do not count towards the cap, so a lane is `closed` only if others fill it. A closed lane with a cap is
  // checked every second: where its claimer has died, nobody else opens it.
  yield* sql`
    CREATE FUNCTION schedule_lanes(
      names text[],
      served_names text[],
      at timestamptz,
      spare_refs uuid[],
      spare_tokens uuid[]
    ) RETURNS void
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
          WHEN s.closed AND l.fifo AND NOT s.waits THEN greatest(s.lease_end, at + interval '1 second')
          WHEN s.closed AND NOT l.fifo THEN at + interval '1 second'
          WHEN s.head_due IS NOT NULL AND s.counted >= l.allowed THEN at + interval '1 second'
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
          held.counted,
          held.lease_end,
          head.due_at AS head_due,
          l.fifo AND held.count = 0 AS waits,
          CASE
            WHEN l.fifo THEN head.due_at IS NOT NULL OR held.count > 0
            ELSE held.counted >= l.allowed AND (l.closed OR l.name = ANY(served_names))
          END AS closed
        FROM work_lanes l
        CROSS JOIN LATERAL (
          SELECT count(*) AS count, min(leased_until) AS lease_end,
            count(*) FILTER (WHERE NOT (ref = ANY(spare_refs) AND token = ANY(spare_tokens))) AS counted
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
  yield* sql`DROP FUNCTION schedule_lanes(text[], text[], timestamptz)`
})
