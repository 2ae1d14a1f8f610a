-- Claims work. A function, so that a claim is one round trip, while each step is a statement with a snapshot of its own.
--
-- Organizations take turns, and within an organization its lanes do. The row of a lane is the lock under which its items
-- are claimed. It is locked by an earlier statement than the one that reads the items: a statement's snapshot is older
-- than the locks that it waits for.
--
-- `holders` are the organizations of which the caller holds items, `held` how many, and `organization_most` how many it
-- may hold of one.
--
-- These settings make the plans independent of table sizes: the queue may be empty when they are made, and long a second
-- later. Each lane's items are read in the order of an index, only as many as are needed. The settings also apply to the
-- functions that this one calls.
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
$$;
