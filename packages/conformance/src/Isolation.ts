/**
 * What one organization writes changes no row of another, although both share every value that a client or a network
 * chooses: idempotency keys, fingerprints, phones, emails, external IDs, message IDs, and names.
 */
import { assert, it } from "@effect/vitest"
import type * as Crm from "@messaging-crm/core/Crm"
import { purges } from "@messaging-crm/core/Housekeeping"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { MessageAgeMax } from "@messaging-crm/core/MessageRetention"
import { StorageUse } from "@messaging-crm/core/StorageUse"
import { Context, Duration, Effect, Layer, Struct } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "./Fixtures.ts"
import { purging } from "./Isolation/PortMethods.ts"
import { makeShared, type SharedScene } from "./Isolation/SharedScene.ts"
import { audited, methods, parts, type StoredRow } from "./Isolation/Writes.ts"
import { operations } from "./Races/Operations.ts"
import { layer as operationsOver } from "./Races/RaceScene.ts"

/** All rows of a storage, whichever tables it has. */
export class StoredRows extends Context.Service<StoredRows, {
  /** Returns every row, with the columns that name its organization. */
  readonly all: Effect.Effect<ReadonlyArray<StoredRow>>
  /** Saves every row, and returns the effect that restores them. */
  readonly save: Effect.Effect<Effect.Effect<void>>
  /** Gives an organization a later copy of each row of another one, with the same IDs, where no unique key forbids it. */
  readonly copy: (from: OrganizationId, to: OrganizationId) => Effect.Effect<void>
}>()("@messaging-crm/conformance/Isolation/StoredRows") {}

/** Whether a row names an organization, or a channel or key of it. */
const belongsTo = ({ api_key, channel, organization_id }: SharedScene) => (row: string) =>
  [organization_id, channel.id, api_key.id].some((id) => row.includes(id))

const shared = Effect.gen(function*() {
  const { all, copy, save } = yield* StoredRows
  const lines = Effect.map(all, (rows) => rows.map((row) => JSON.stringify(row)).toSorted())
  const { alone, at, ours, theirs } = yield* makeShared(lines)
  const created = yield* lines
  yield* copy(ours.organization_id, theirs.organization_id)
  const restore = yield* save
  const isTheirs = belongsTo(theirs)
  const rowsOfTheirs = (yield* all).filter((row) => isTheirs(JSON.stringify(row)))
  return {
    alone,
    at,
    before: yield* lines,
    created,
    isOurs: belongsTo(ours),
    isTheirs,
    lines,
    ours,
    restore,
    rowsOfTheirs,
    theirs
  }
})

/** Both organizations as they were after their creation. */
class Shared extends Context.Service<Shared, Effect.Success<typeof shared>>()(
  "@messaging-crm/conformance/Isolation/Shared"
) {
  static readonly layer = Layer.effect(Shared, shared)
}

/**
 * Runs a write, and restores the rows. Fails if a row of the other organization has changed, or, for a write that must have
 * an effect, no row of ours.
 */
const compared = <E, R>(
  write: (scenes: Context.Service.Shape<typeof Shared>) => Effect.Effect<unknown, E, R>,
  mustWrite: boolean
) =>
  Effect.gen(function*() {
    const scenes = yield* Shared
    const { at, before, isOurs, isTheirs, lines, restore } = scenes
    yield* TestClock.setTime(at.earlier)
    yield* write(scenes)
    const after = yield* lines
    if (after.join() !== before.join()) yield* restore
    assert.deepStrictEqual(after.filter(isTheirs), before.filter(isTheirs), "the rows of the other organization")
    if (mustWrite) assert.notDeepEqual(after.filter(isOurs), before.filter(isOurs), "the rows of our organization")
  })

/** Registers the tests of the isolation of organizations, for one adapter. */
export const isolationSuite = (adapter: string, storage: Layer.Layer<Crm.StoragePorts | StoredRows, unknown>) => {
  const services = Shared.layer.pipe(
    Layer.provideMerge(StorageUse.layer),
    Layer.provideMerge(operationsOver(storage)),
    Layer.provideMerge(storage),
    Layer.provide(Layer.succeed(MessageAgeMax, Duration.days(400)))
  )
  it.layer(services, { timeout: "5 minutes" })(
    `${adapter}: the rows of another organization with the same values`,
    (it) => {
      it.effect("stay as they are while our rows are created", () =>
        Shared.useSync(({ alone, created, isTheirs }) =>
          assert.deepStrictEqual(created.filter(isTheirs), alone.filter(isTheirs))
        ))

      for (const name of Struct.keys(audited)) {
        it.effect(`stay as they are after ${name}`, () =>
          compared(({ ours }) => ours.as(audited[name](ours)), name !== "organizations.create"))

        it.effect(`stay as they are if ${name} names their IDs`, () =>
          compared(({ ours, theirs }) => Effect.exit(ours.as(audited[name]({ ...theirs, as: ours.as }))), false))
      }

      for (const name of Struct.keys(operations)) {
        it.effect(`stay as they are if we ${name}`, () =>
          compared(({ ours }) => Effect.exit(ours.as(operations[name](ours))), false))
      }

      for (const [name, purge] of Object.entries(purges)) {
        it.effect(`stay as they are after the purge of our ${name}`, () =>
          compared(({ at }) =>
            Effect.gen(function*() {
              yield* TestClock.setTime(at.later)
              while ((yield* purge) > 0) continue
            }), true))
      }

      for (const [name, write] of Object.entries(methods)) {
        it.effect(`stay as they are after ${name}`, () =>
          compared(({ ours }) => write({ by: ours, named: ours }), false))

        it.effect(`stay as they are if ${name} names their IDs`, () =>
          compared(({ ours, theirs }) => Effect.exit(write({ by: ours, named: theirs })), false))
      }

      for (const [name, part] of Object.entries(parts)) {
        if (part === null) continue
        it.effect(`stay as they are if \`${name}\` of a commit names their IDs`, () =>
          compared(({ ours, rowsOfTheirs, theirs }) =>
            Effect.gen(function*() {
              const changes = part(theirs, rowsOfTheirs)
              assert.isNotEmpty(changes)
              yield* Effect.forEach(changes, ([, each]) => Effect.exit(Fixtures.commit(ours.organization_id, each)))
            }), false))
      }

      it.effect("are compared after every purge of a port", () =>
        Effect.sync(() => assert.lengthOf(Object.keys(purges), Object.values(purging).flat().length)))
    }
  )
}
