/** Work items that are settled and enqueued, and lanes that are throttled. */
import type { Enqueued, Settlement, Throttle } from "@messaging-crm/core/Changes"
import type { WorkKind } from "@messaging-crm/core/WorkQueue"
import { DateTime } from "effect"
import * as Lanes from "../Lanes.ts"
import { anyNumber, exactly, type Owned, type Part, type Traced, type Values } from "./Statement.ts"

/**
 * Settles claims of one kind, all with the same outcome.
 *
 * The items are named twice, in a join and in an array. So even a plan that was made
 * while the queue was empty reads only these items of a long one.
 */
export const settled = (
  { json, parameter }: Values,
  { kind, outcome }: { readonly kind: WorkKind; readonly outcome: Settlement["outcome"] },
  settlements: ReadonlyArray<Settlement>
): Part => {
  const given = json(settlements.map(({ claimed: { ref, token }, ...settlement }) => ({
    ref,
    token,
    due_at: "due_at" in settlement ? settlement.due_at : null
  })))
  const claims = `jsonb_to_recordset(${given}) AS c (ref uuid, token uuid, due_at timestamptz)`
  const isLeased = `w.kind = ${parameter(kind)} AND w.ref = ANY(${
    parameter(settlements.map(({ claimed }) => claimed.ref))
  }::uuid[]) AND w.ref = c.ref AND w.token = c.token`
  const bodies: Readonly<Record<Settlement["outcome"], string>> = {
    hold: `SELECT 1 FROM work w, ${claims} WHERE ${isLeased} FOR SHARE OF w`,
    finish: `DELETE FROM work w USING ${claims} WHERE ${isLeased} RETURNING 1`,
    finish_if_leased: `DELETE FROM work w USING ${claims} WHERE ${isLeased} RETURNING 1`,
    postpone: `
      UPDATE work w
      SET due_at = c.due_at, leased_until = NULL, token = NULL
      FROM ${claims}
      WHERE ${isLeased}
      RETURNING 1`
  }
  const mayBeLost = outcome === "finish_if_leased"
  return {
    name: "settled",
    body: bodies[outcome],
    requires: mayBeLost ? anyNumber("settled") : exactly("settled", parameter(settlements.length)),
    isLease: !mayBeLost
  }
}

/** Returns the change of a settled item's lane. */
const laneOf = (settlement: Settlement): ReadonlyArray<Lanes.LaneChange> =>
  settlement.outcome === "hold" ? [] : [Lanes.settled(
    settlement.claimed,
    settlement.outcome === "postpone" ? DateTime.formatIso(settlement.due_at) : null
  )]

/** Enqueues the work of the changes and of the raised events, and changes the lanes. */
export const queued = (
  { json, parameter }: Values,
  { enqueue, raises, settle, throttle }: {
    readonly enqueue: ReadonlyArray<Owned<Enqueued> & Traced>
    readonly raises: boolean
    readonly settle: ReadonlyArray<Settlement>
    readonly throttle: ReadonlyArray<Throttle>
  }
): ReadonlyArray<Part> => {
  const sources = [
    ...(enqueue.length === 0 ? [] : [
      `SELECT * FROM jsonb_to_recordset(${
        json(enqueue)
      }) AS g (organization_id uuid, kind text, lane uuid, ref uuid, due_at timestamptz, trace text)`
    ]),
    ...(raises
      ? [`SELECT organization_id, 'webhook_delivery' AS kind, webhook_id AS lane, delivery_id AS ref,
          created_at AS due_at, trace
        FROM events_raised`]
      : [])
  ]
  const laneChanges = Lanes.folded([...settle.flatMap(laneOf), ...throttle.map(Lanes.throttled)])
  if (sources.length === 0 && laneChanges.length === 0) return []
  const hasWork = sources.length > 0
  const ctes = [
    ...(hasWork ? [Lanes.insertWork(sources.join(" UNION ALL "))] : []),
    ...Lanes.writeLanes(hasWork, laneChanges, parameter)
  ]
  return ctes.map(({ body, name }): Part => ({ name, body, requires: anyNumber(name) }))
}
