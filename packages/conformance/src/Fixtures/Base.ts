/** Commits, times, and IDs of the tests. */
import type { Vitest } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import type * as Crm from "@messaging-crm/core/Crm"
import type { DecisionContext } from "@messaging-crm/core/Decide"
import { Ids, type OrganizationId } from "@messaging-crm/core/Ids"
import type { ClaimedWork } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect } from "effect"

/** `it`, with an adapter's storage and IDs as services. */
export type It = Vitest.MethodsNonLive<Crm.StoragePorts | Ids>

/** How thoroughly a suite tests. */
export interface Options {
  /** How many runs each property has. */
  readonly runs: number
}

/** Noon of a fixed day. Times in tests are milliseconds after it. */
export const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")

/** The first and the last time that a request can state. */
export const firstTime = DateTime.makeUnsafe("0000-01-01T00:00:00.000Z")
export const lastTime = DateTime.makeUnsafe("9999-12-31T23:59:59.999Z")

/** Returns the moment that is `millis` milliseconds after noon. */
export const afterNoon = (millis: number): DateTime.Utc => DateTime.add(noon, { milliseconds: millis })

/** A new ID. */
export const uuid = Ids.use((ids) => ids.uuid)

/** The context of a decision that is made at noon. */
export const decisionContext = Ids.useSync(({ next }): DecisionContext => ({ now: noon, uuid: next }))

/** Commits changes as an operation does, and fails with the rejection. */
export const commit = (organization_id: OrganizationId, ...changes: ReadonlyArray<Changes.Changes>) =>
  Commit.use((port) => port.commit(organization_id, Changes.mergeActivity(Changes.all(...changes))))

/** Commits changes, and dies if the store rejects them. */
export const mustCommit = (organization_id: OrganizationId, ...changes: ReadonlyArray<Changes.Changes>) =>
  Effect.orDie(commit(organization_id, ...changes))

/** Commits changes, and returns `committed` or the tag of the rejection. */
export const commitOutcome = (organization_id: OrganizationId, ...changes: ReadonlyArray<Changes.Changes>) =>
  Effect.match(commit(organization_id, ...changes), {
    onFailure: ({ _tag }) => _tag,
    onSuccess: () => "committed" as const
  })

/** Settles a claimed item, and returns whether the claim still had its lease. */
export const settleWork = (settlement: Changes.Settlement) =>
  Effect.map(
    commitOutcome(settlement.claimed.organization_id, Changes.settle(settlement)),
    (tag) => tag === "committed"
  )

/** Each settles a claimed item, and returns whether the claim still had its lease. */
export const finishWork = (claimed: ClaimedWork) => settleWork({ claimed, outcome: "finish" })
export const postponeWork = (claimed: ClaimedWork, due_at: DateTime.Utc) =>
  settleWork({ claimed, outcome: "postpone", due_at })
export const releaseWork = (claimed: ClaimedWork) => settleWork({ claimed, outcome: "release" })

/** The sorted outcomes of concurrent commits of which one succeeds and the other `count` conflict. */
export const oneCommitted = (count: number) => [...Array<string>(count).fill("Conflict"), "committed"]
