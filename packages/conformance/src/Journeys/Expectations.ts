/** Rows that an operation has read and does not change, and which another operation changes before its commit. */
import { assert, it } from "@effect/vitest"
import type * as Changes from "@messaging-crm/core/Changes"
import { Commit } from "@messaging-crm/core/Commit"
import { ConversationRows } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { ConflictBackoff } from "@messaging-crm/core/Decide"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Layer } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { type Case, cases } from "./Expectations/Cases.ts"
import { crm, type Storage } from "./JourneyScene.ts"

const textOf = ({ key, table }: Changes.Expectation): string => `${table.name} ${Object.values(key).join()}`

/** Returns the rows that changes depend on without setting a column of them. */
const expectedBy = ({ expect = [], touch, update = [] }: Changes.Changes): ReadonlyArray<Changes.Expectation> => [
  ...expect,
  ...update.filter(({ set }) => Object.keys(set).length === 0),
  ...touch === undefined || touch.conversation_version === null
    ? []
    : ConversationRows.expect({ id: touch.conversation_id, version: touch.conversation_version }).expect ?? []
]

/**
 * The operations over a storage that changes a row before a commit which expects it. Each commit of the organization finds one
 * more of its rows changed, until each has been once. `found` are the rows of the first such commit.
 */
const crmWithChanges = (organization_id: OrganizationId, found: Map<string, "Conflict" | "committed" | "unchanged">) =>
  Layer.unwrap(Effect.gen(function*() {
    const port = yield* Commit
    const commit: Commit["Service"]["commit"] = Effect.fnUntraced(function*(owner, changes) {
      const expected = owner === organization_id ? expectedBy(changes) : []
      if (found.size === 0) { for (const each of expected) found.set(textOf(each), "unchanged") }
      const next = expected.find((each) => found.get(textOf(each)) === "unchanged")
      if (next === undefined) return yield* port.commit(owner, changes)
      yield* Fixtures.mustCommit(owner, { update: [{ ...next, set: {} }] }).pipe(Effect.provideService(Commit, port))
      return yield* port.commit(owner, changes).pipe(
        Effect.tap(() => Effect.sync(() => found.set(textOf(next), "committed"))),
        Effect.tapError(({ _tag }) => Effect.sync(() => _tag === "Conflict" && found.set(textOf(next), _tag)))
      )
    })
    return Layer.fresh(Crm.layer).pipe(
      Layer.provide(Layer.succeed(Commit, { commit })),
      Layer.provide(Layer.succeed(ConflictBackoff, { pauses: [] }))
    )
  }))

const conflictsAndSucceeds = Effect.fnUntraced(function*(prepare: Case) {
  const { expects, organization_id, run } = yield* prepare
  const found = new Map<string, "Conflict" | "committed" | "unchanged">()
  const changed = yield* Layer.build(crmWithChanges(organization_id, found))
  yield* Effect.provideContext(run, changed)
  const rows = expects.flatMap(expectedBy).map(textOf)
  assert.deepStrictEqual(found, new Map(Array.from(found.keys(), (text) => [text, "Conflict"])))
  assert.sameMembers(Array.from(found.keys()), rows)
}, Effect.scoped)

export const journeyTests = (storage: Storage) => {
  it.layer(crm(storage))("an operation that depends on a row which changes before its commit runs again", (it) => {
    for (const [place, ofPlace] of Object.entries(cases)) {
      for (const [name, prepare] of Object.entries(ofPlace)) {
        it.effect(`if it ${name} (${place})`, () => conflictsAndSucceeds(prepare))
      }
    }
  })
}
