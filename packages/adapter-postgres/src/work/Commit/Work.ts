/**
 * Work that a commit settles, expedites, and enqueues, and the lanes that it opens, throttles, and inserts, in the order of its
 * steps. `../WorkQueue.ts` describes their columns.
 */
import { type Enqueued, isThrottled, type Settlement, type Throttle } from "@messaging-crm/core/Changes"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { kind_rules, type Work } from "@messaging-crm/core/WorkQueue"
import { inOrder, isAmong, type Owned, type Part, type Traced, type Values } from "./Part.ts"

// --------------------------------------------------------------- lanes

/** Returns the name of a lane, which begins with its kind. */
export const nameOf = ({ kind, lane }: Pick<Work, "kind" | "lane">): string => `${kind}:${lane}`

/** How a settlement or a throttle changes the columns of a lane. Both open it. */
interface LaneChange {
  readonly organization_id: OrganizationId
  readonly name: string
  /** Whether the lane is inserted if it does not exist. */
  readonly inserts: boolean
  /** When an item that is released in this lane is due; null without such an item. */
  readonly due_at?: unknown
  readonly allowed?: Throttle["cap"]
  readonly paused_until?: Throttle["until"]
}

const changesOfSettlement = (settlement: Settlement): ReadonlyArray<LaneChange> => {
  const { claimed, outcome } = settlement
  if (outcome === "keep") return []
  const released = outcome === "release" ? "-infinity" : null
  return [{
    organization_id: claimed.organization_id,
    name: nameOf(claimed),
    inserts: false,
    due_at: "due_at" in settlement ? settlement.due_at : released
  }]
}

const changeOfThrottle = ({ cap, kind, lane, organization_id, until }: Owned<Throttle>): LaneChange => ({
  organization_id,
  name: nameOf({ kind, lane }),
  inserts: isThrottled({ cap, kind, until }),
  allowed: cap,
  paused_until: until
})

/** Returns what distinguishes statements that throttle lanes: only a throttled lane is inserted. */
export const shapeOf = (throttles: ReadonlyArray<Throttle>): string =>
  throttles.length === 0 ? "" : String(throttles.some(isThrottled))

/** Returns the changes of the lanes of the items of another part, in addition to others. */
const ofWork = (part: string): string => `
      UNION ALL
      SELECT organization_id, lane_name, false, true, due_at, NULL, NULL
      FROM ${part}`

/** Gathers the changes of each lane in one row: `allowed` is null without a throttle, `due_at` without a new, released, or expedited item. */
const gatherChanges = ({ json }: Values, changes: ReadonlyArray<LaneChange>, work: ReadonlyArray<string>): Part => ({
  name: "lane_changes",
  body: `
    SELECT organization_id, name, bool_or(opens) AS opens, bool_or(inserts) AS inserts, min(due_at) AS due_at,
      max(allowed) AS allowed, max(paused_until) AS paused_until
    FROM (
      SELECT organization_id, name, true AS opens, inserts, due_at, allowed, paused_until
      FROM jsonb_to_recordset(${json(changes)}) AS given (
        organization_id uuid, name text, inserts boolean, due_at timestamptz, allowed integer, paused_until timestamptz
      )${work.map(ofWork).join("")}
    ) all_changes
    GROUP BY organization_id, name`
})

/**
 * Locks the lanes whose row must change: throttled lanes; closed or fifo lanes of settled items; and lanes that get a new,
 * released, or expedited item, if they are idle or their next check is later than the item is due. All statements lock lanes in the
 * same order.
 */
const lanes_locked: Part = {
  name: "lanes_locked",
  body: `
    SELECT lane.name, change.opens, change.due_at, change.allowed, change.paused_until
    FROM work_lanes lane
    JOIN lane_changes change ON change.name = lane.name
    WHERE ${isAmong("lane.name", "ARRAY(SELECT name FROM lane_changes)")}
      AND (
        change.allowed IS NOT NULL
        OR (change.opens AND (lane.closed OR lane.fifo))
        OR (
          change.due_at IS NOT NULL AND NOT lane.closed
          AND (lane.emptied_at IS NOT NULL OR lane.next_due > greatest(lane.paused_until, change.due_at))
        )
      )
    ORDER BY lane.name
    FOR UPDATE OF lane`
}

/** Opens and throttles the locked lanes. Their cap can be that of an earlier version, which was lower. */
const lanes_written: Part = {
  name: "lanes_written",
  body: `
    UPDATE work_lanes lane
    SET
      cap = greatest(lane.cap, change.allowed),
      allowed = coalesce(change.allowed, lane.allowed),
      paused_until = CASE WHEN change.allowed IS NULL THEN lane.paused_until ELSE change.paused_until END,
      closed = lane.closed AND NOT change.opens,
      emptied_at = CASE WHEN change.due_at IS NULL THEN lane.emptied_at END,
      next_due = greatest(
        CASE WHEN change.allowed IS NULL THEN lane.paused_until END,
        lane.served_at,
        CASE
          WHEN change.opens THEN '-infinity'
          WHEN lane.closed THEN lane.next_due
          ELSE least(lane.next_due, change.due_at)
        END
      )
    FROM lanes_locked change
    WHERE lane.name = change.name AND ${isAmong("lane.name", "ARRAY(SELECT name FROM lanes_locked)")}
    RETURNING lane.name`
}

const kinds = Object.entries(kind_rules).map(([kind, { cap, fifo }]) => `('${kind}', ${cap}, ${fifo})`).join(", ")

/** Inserts the lanes that do not exist. It runs after the locks, so a lane that was deleted meanwhile is inserted again. */
const lanes_inserted: Part = {
  name: "lanes_inserted",
  body: `
    INSERT INTO work_lanes (organization_id, name, cap, allowed, fifo, next_due, paused_until)
    SELECT change.organization_id, change.name, kinds.cap, least(kinds.cap, change.allowed),
      kinds.fifo, coalesce(greatest(change.due_at, change.paused_until), '-infinity'), change.paused_until
    FROM lane_changes change
    JOIN (VALUES ${kinds}) AS kinds (kind, cap, fifo) ON kinds.kind = split_part(change.name, ':', 1)
    WHERE change.inserts AND (SELECT count(*) FROM lanes_written) >= 0
    ORDER BY change.name
    ON CONFLICT (name) DO NOTHING
    RETURNING name`
}

/** The same with throttles: a lane that another commit inserted meanwhile, without the throttle, is a conflict. */
const throttled_lanes_inserted: Part = {
  ...lanes_inserted,
  requires: `(SELECT count(*) FROM lanes_inserted) >= 0 AND NOT EXISTS (
    SELECT FROM lane_changes change
    WHERE change.inserts AND change.allowed IS NOT NULL
      AND NOT EXISTS (SELECT FROM lanes_locked lane WHERE lane.name = change.name)
      AND NOT EXISTS (SELECT FROM lanes_inserted inserted WHERE inserted.name = change.name)
  )`
}

/** Changes the lanes of the settled, inserted, and expedited work, and the throttled ones. */
export const changeLanes = (
  values: Values,
  { settle, throttle, work }: {
    /** The parts that insert and expedite work. */
    readonly work: ReadonlyArray<string>
    readonly settle: ReadonlyArray<Settlement>
    readonly throttle: ReadonlyArray<Owned<Throttle>>
  }
): ReadonlyArray<Part> => {
  const throttles = new Map(throttle.map((each) => [nameOf(each), changeOfThrottle(each)]))
  const changes = [...settle.flatMap(changesOfSettlement), ...throttles.values()]
  if (work.length === 0 && changes.length === 0) return []
  return [
    gatherChanges(values, changes, work),
    lanes_locked,
    lanes_written,
    ...(work.length > 0 || changes.some(({ inserts }) => inserts)
      ? [throttles.size > 0 ? throttled_lanes_inserted : lanes_inserted]
      : [])
  ]
}

// --------------------------------------------------------------- items

type Outcome = Settlement["outcome"]

/** The assignments of the outcomes that keep an item, in addition to those that end its lease. */
const assignments: Readonly<Record<Exclude<Outcome, "finish" | "finish_if_leased" | "keep">, string>> = {
  postpone: "due_at = claim.due_at",
  defect: "due_at = claim.due_at, defects = item.defects + 1",
  release: "attempt = item.attempt - 1"
}

/** Returns the text that gives an outcome to each `item` of a `claim`, under the condition that the claim still has it. */
const settleAs = (outcome: Outcome, claims: string, isLeased: string): string => {
  switch (outcome) {
    case "keep":
      return `SELECT 1 FROM work item, ${claims} WHERE ${isLeased} FOR SHARE OF item`
    case "finish":
    case "finish_if_leased":
      return `DELETE FROM work item USING ${claims} WHERE ${isLeased} RETURNING 1`
    default:
      return `UPDATE work item SET ${assignments[outcome]}, leased_until = NULL, token = NULL
    FROM ${claims} WHERE ${isLeased} RETURNING 1`
  }
}

/** Settles claims of one kind, all with the same outcome. */
export const settleItems = (
  { json, parameter }: Values,
  { claimed: { kind }, outcome }: Settlement,
  settlements: ReadonlyArray<Settlement>
): Part => {
  const given = json(settlements.map(({ claimed: { ref, token }, ...settlement }) => ({ ref, token, ...settlement })))
  const claims = `jsonb_to_recordset(${given}) AS claim (ref uuid, token uuid, due_at timestamptz)`
  const isKind = `item.kind = ${parameter(kind)}`
  const isItem = isAmong("item.ref", `${parameter(settlements.map(({ claimed }) => claimed.ref))}::uuid[]`)
  const body = settleAs(
    outcome,
    claims,
    `${isKind} AND ${isItem} AND item.ref = claim.ref AND item.token = claim.token`
  )
  return outcome === "finish_if_leased"
    ? { name: "settled", body }
    : { name: "settled", body, rows: settlements.length, failure: "lease lost" }
}

/**
 * Makes waiting items due at another time.
 *
 * SKIP LOCKED: a locked item is being claimed or settled. Its settlement may wait for the rows that this statement writes.
 */
export const expediteItems = (
  { json, parameter }: Values,
  work: ReadonlyArray<Owned<Enqueued>>
): ReadonlyArray<Part> => [
  {
    name: "work_waiting",
    body: `
    SELECT item.kind, item.ref, given.due_at
    FROM work item
    JOIN jsonb_to_recordset(${json(work)}) AS given (organization_id uuid, kind text, ref uuid, due_at timestamptz)
      ON item.organization_id = given.organization_id AND item.kind = given.kind AND item.ref = given.ref
    WHERE ${isAmong("item.ref", `${parameter(work.map(({ ref }) => ref))}::uuid[]`)} AND item.leased_until IS NULL
    FOR UPDATE OF item SKIP LOCKED`,
    rows: work.length
  },
  {
    name: "work_expedited",
    body: `
    UPDATE work item
    SET due_at = waiting.due_at
    FROM work_waiting waiting
    WHERE item.kind = waiting.kind AND item.ref = waiting.ref AND ${
      isAmong("item.ref", "ARRAY(SELECT ref FROM work_waiting)")
    }
    RETURNING item.organization_id, item.lane_name, item.due_at`
  }
]

/** Inserts what `source` selects as work. */
const insertItems = (source: string): Part => ({
  name: "work_inserted",
  body: `
    INSERT INTO work (organization_id, lane_name, kind, lane, ref, due_at, trace)
    SELECT organization_id, kind || ':' || lane, kind, lane, ref, due_at, trace
    FROM (${source}
    ) AS items
    ON CONFLICT (kind, ref) DO NOTHING
    RETURNING organization_id, lane_name, due_at`
})

const enqueuedItems = ({ json }: Values, enqueue: ReadonlyArray<Owned<Enqueued> & Traced>): string => `
      SELECT *
      FROM jsonb_to_recordset(${json(inOrder(enqueue, ({ kind, ref }) => `${kind}|${ref}`))}) AS enqueued (
        organization_id uuid, kind text, lane uuid, ref uuid, due_at timestamptz, trace text
      )`

/** Enqueues the work of the changes and of their events. Each of `selected` is a query of work from other parts of the statement. */
export const enqueueItems = (
  values: Values,
  enqueue: ReadonlyArray<Owned<Enqueued> & Traced>,
  selected: ReadonlyArray<string>
): ReadonlyArray<Part> => {
  const sources = enqueue.length === 0 ? selected : [enqueuedItems(values, enqueue), ...selected]
  return sources.length === 0 ? [] : [insertItems(sources.join("\n      UNION ALL"))]
}
