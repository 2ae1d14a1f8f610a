-- Claims work. `work/WorkQueue.ts` describes the states and columns of lanes.
--
-- A function, so that a claim is one round trip, while each of its three steps is a statement with a snapshot of its own:
-- a statement's snapshot is older than the locks that it waits for, so the items are read after their lanes are locked.
--
-- It claims at most `most` items of the kind `wanted`, with the token `claim`. `holders` are the organizations of which the
-- caller holds items, `held` how many, and `organization_most` how many more it can hold, if all were of one organization.
-- `lane_cap` is the lane's `allowed`, not its `cap`.
--
-- The plans must not depend on table sizes: the queue may be empty when they are made, and long a second later. The
-- settings below make the steps use indexes. LATERAL, ORDER BY inside a count, and `ctid` make them use the right ones:
-- if a table had one row when its statistics were collected, all indexes cost the same.
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
  claimed work[];
BEGIN
  LOOP
    names := ARRAY(SELECT lock_due_lanes(wanted, most, at, holders, held, organization_most));
    EXIT WHEN cardinality(names) = 0;
    claimed := ARRAY(SELECT claim_items(names, most, at, lease_end, claim, holders, held, organization_most));
    PERFORM schedule_lanes(names, ARRAY(SELECT lane_name FROM unnest(claimed)), at);

    -- When a full page of lanes had no item to claim, read the next page: none of these lanes is due any more.
    EXIT WHEN cardinality(claimed) > 0 OR cardinality(names) < most;
  END LOOP;
  RETURN QUERY
    SELECT
      item.organization_id,
      item.kind,
      item.lane,
      (SELECT allowed::integer FROM work_lanes WHERE name = item.lane_name),
      item.ref,
      item.attempt,
      item.defects,
      item.token,
      item.trace
    FROM unnest(claimed) item;
END
$$;
