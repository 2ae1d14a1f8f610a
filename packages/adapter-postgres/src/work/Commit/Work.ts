/** Work that a commit settles and enqueues, and the lanes that it opens and throttles. `../WorkQueue.ts` describes lanes. */
import { type Enqueued, isThrottled, type Settlement, type Throttle } from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { lanes, type Work, type WorkKind } from "@messaging-crm/core/WorkQueue"
import { anyNumber, exactly, type Owned, type Part, type Traced, type Values } from "./Part.ts"

/** Returns the name of a lane, which begins with its kind. */
export const laneName = ({ kind, lane }: Pick<Work, "kind" | "lane">): string => `${kind}:${lane}`

/**
 * Settles claims of one kind, all with the same outcome.
 *
 * The items are named twice, in a join and in an array. So even a plan that was made
 * while the queue was empty reads only these items of a long one.
 */
export const settleItems = (
  { json, parameter }: Values,
  { kind, outcome }: { readonly kind: WorkKind; readonly outcome: Settlement["outcome"] },
  settlements: ReadonlyArray<Settlement>
): Part => {
  const given = json(settlements.map(({ claimed: { ref, token }, ...settlement }) => ({ ref, token, ...settlement })))
  const claims = `jsonb_to_recordset(${given}) AS c (ref uuid, token uuid, due_at timestamptz)`
  const isLeased = `w.kind = ${parameter(kind)} AND w.ref = ANY(${
    parameter(settlements.map(({ claimed }) => claimed.ref))
  }::uuid[]) AND w.ref = c.ref AND w.token = c.token`
  const remove = `DELETE FROM work w USING ${claims} WHERE ${isLeased} RETURNING 1`
  const releaseWith = (change: string) =>
    `UPDATE work w SET ${change}, leased_until = NULL, token = NULL FROM ${claims} WHERE ${isLeased} RETURNING 1`
  const bodies: Readonly<Record<Settlement["outcome"], string>> = {
    hold: `SELECT 1 FROM work w, ${claims} WHERE ${isLeased} FOR SHARE OF w`,
    finish: remove,
    finish_if_leased: remove,
    postpone: releaseWith("due_at = c.due_at"),
    defect: releaseWith("due_at = c.due_at, defects = w.defects + 1"),
    release: releaseWith("attempt = w.attempt - 1")
  }
  const mayBeLost = outcome === "finish_if_leased"
  return {
    name: "settled",
    body: bodies[outcome],
    requires: mayBeLost ? anyNumber("settled") : exactly("settled", parameter(settlements.length)),
    ...(mayBeLost ? {} : { failure: "lease lost" as const })
  }
}

/** Inserts what `source` selects as work. */
const insertItems = (source: string): Part => ({
  name: "work_inserted",
  body: `
    INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at, trace)
    SELECT organization_id, kind || ':' || lane, kind, lane, ref, due_at, trace
    FROM (${source}) AS given
    ON CONFLICT (kind, ref) DO NOTHING
    RETURNING organization_id, lane_name, due_at`,
  requires: anyNumber("work_inserted")
})

/** The changes that a commit makes in a lane, in addition to the work that it inserts. */
interface LaneChange {
  readonly organization_id: OrganizationId
  readonly name: string
  /** When an item that is released in this lane is due; null without such an item. */
  readonly due_at: unknown
  readonly throttle: Pick<Throttle, "cap" | "until"> | null
  /** Whether the lane is inserted if it does not exist. */
  readonly inserts: boolean
}

const laneChangesOfSettlement = (settlement: Settlement): ReadonlyArray<LaneChange> => {
  const { claimed, outcome } = settlement
  if (outcome === "hold") return []
  const released = outcome === "release" ? "-infinity" : null
  return [{
    organization_id: claimed.organization_id,
    name: laneName(claimed),
    due_at: "due_at" in settlement ? settlement.due_at : released,
    throttle: null,
    inserts: false
  }]
}

const laneChangeOfThrottle = ({ cap, kind, lane, organization_id, until }: Owned<Throttle>): LaneChange => ({
  organization_id,
  name: laneName({ kind, lane }),
  due_at: null,
  throttle: { cap, until },
  inserts: isThrottled({ cap, kind, until })
})

const given_columns = "organization_id uuid, name text, due_at timestamptz, throttle jsonb, inserts boolean"

/** The changes of each lane in one row. */
const gatherLanes = ({ json }: Values, hasInserted: boolean, changes: ReadonlyArray<LaneChange>): Part => {
  const sources = [
    `SELECT *, true AS opens FROM jsonb_to_recordset(${json(changes)}) AS given (${given_columns})`,
    ...(hasInserted ? ["SELECT organization_id, lane_name, due_at, NULL, true, false FROM work_inserted"] : [])
  ]
  return {
    name: "lanes_given",
    body: `
    SELECT organization_id, name, bool_or(opens) AS opens, bool_or(inserts) AS inserts, min(due_at) AS due_at,
      max((throttle ->> 'cap')::integer) AS cap, max((throttle ->> 'until')::timestamptz) AS until
    FROM (${sources.join(" UNION ALL ")}) AS given
    GROUP BY organization_id, name`,
    requires: anyNumber("lanes_given")
  }
}

/**
 * Locks the lanes that are opened or throttled. All statements lock lanes in the same order.
 *
 * The lanes are named twice, in a join and in an array, so that no estimate of the
 * planner makes it read all lanes.
 */
const lanesLocked: Part = {
  name: "lanes_locked",
  body: `
    SELECT l.name, g.opens, g.due_at, g.cap, g.until
    FROM work_lanes l
    JOIN lanes_given g ON g.name = l.name
    WHERE l.name = ANY(ARRAY(SELECT name FROM lanes_given))
      AND (
        g.cap IS NOT NULL
        OR (g.opens AND (l.closed OR l.fifo))
        OR (
          g.due_at IS NOT NULL AND NOT l.closed
          AND (l.emptied_at IS NOT NULL OR l.next_due > greatest(l.paused_until, g.due_at))
        )
      )
    ORDER BY l.name
    FOR UPDATE OF l`,
  requires: anyNumber("lanes_locked")
}

/** Opens and throttles the locked lanes. */
const lanesWritten: Part = {
  name: "lanes_written",
  body: `
    UPDATE work_lanes l
    SET
      allowed = CASE WHEN g.cap IS NULL THEN l.allowed ELSE least(l.cap, g.cap) END,
      paused_until = CASE WHEN g.cap IS NULL THEN l.paused_until ELSE g.until END,
      closed = l.closed AND NOT g.opens,
      emptied_at = CASE WHEN g.due_at IS NULL THEN l.emptied_at END,
      next_due = greatest(
        CASE WHEN g.cap IS NULL THEN l.paused_until END,
        l.served_at,
        CASE
          WHEN g.opens THEN '-infinity'
          WHEN l.closed THEN l.next_due
          ELSE least(l.next_due, g.due_at)
        END
      )
    FROM lanes_locked g
    WHERE l.name = g.name AND l.name = ANY(ARRAY(SELECT name FROM lanes_locked))
    RETURNING l.name`,
  requires: anyNumber("lanes_written")
}

const rules = Object.entries(lanes).map(([kind, { cap, fifo }]) => `('${kind}', ${cap}, ${fifo})`).join(", ")

/** A lane that another commit inserted meanwhile, without the throttle, is a conflict. */
const has_throttles = `
  NOT EXISTS (
    SELECT FROM lanes_given g
    WHERE g.inserts AND g.cap IS NOT NULL
      AND NOT EXISTS (SELECT FROM lanes_locked l WHERE l.name = g.name)
      AND NOT EXISTS (SELECT FROM lanes_inserted i WHERE i.name = g.name)
  )`

/** Inserts the lanes that do not exist. It runs after the locks, so a lane that was deleted meanwhile is inserted again. */
const insertLanes = (hasThrottle: boolean): Part => ({
  name: "lanes_inserted",
  body: `
    INSERT INTO work_lanes (organization_id, name, cap, allowed, fifo, next_due, paused_until)
    SELECT g.organization_id, g.name, k.cap, coalesce(least(k.cap, g.cap), k.cap), k.fifo,
      coalesce(greatest(g.due_at, g.until), '-infinity'), g.until
    FROM lanes_given g
    JOIN (VALUES ${rules}) AS k (kind, cap, fifo) ON k.kind = split_part(g.name, ':', 1)
    WHERE g.inserts AND (SELECT count(*) FROM lanes_written) >= 0
    ORDER BY g.name
    ON CONFLICT (name) DO NOTHING
    RETURNING name`,
  requires: hasThrottle ? `${anyNumber("lanes_inserted")} AND ${has_throttles}` : anyNumber("lanes_inserted")
})

/** Enqueues the work of the changes and of the raised events, and changes the lanes. */
export const queueWork = (
  values: Values,
  { enqueue, raises, settle, throttle }: {
    readonly enqueue: ReadonlyArray<Owned<Enqueued> & Traced>
    readonly raises: boolean
    readonly settle: ReadonlyArray<Settlement>
    readonly throttle: ReadonlyArray<Owned<Throttle>>
  }
): ReadonlyArray<Part> => {
  const sources = [
    ...(enqueue.length === 0 ? [] : [
      `SELECT * FROM jsonb_to_recordset(${
        values.json(enqueue)
      }) AS g (organization_id uuid, kind text, lane uuid, ref uuid, due_at timestamptz, trace text)`
    ]),
    ...(raises
      ? [`SELECT organization_id, 'webhook_delivery' AS kind, webhook_id AS lane, delivery_id AS ref,
          created_at AS due_at, trace
        FROM deliveries_raised`]
      : [])
  ]
  const throttles = new Map(throttle.map((each) => [laneName(each), laneChangeOfThrottle(each)]))
  const changes = [...settle.flatMap(laneChangesOfSettlement), ...throttles.values()]
  const hasWork = sources.length > 0
  return [
    ...(hasWork ? [insertItems(sources.join(" UNION ALL "))] : []),
    ...(hasWork || changes.length > 0 ? [gatherLanes(values, hasWork, changes), lanesLocked, lanesWritten] : []),
    ...(hasWork || changes.some(({ inserts }) => inserts) ? [insertLanes(throttles.size > 0)] : [])
  ]
}
