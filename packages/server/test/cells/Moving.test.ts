/** Moves of an organization between two cells that are interrupted at each step, and then continued or undone. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Exit } from "effect"
import * as MovesScene from "../../../adapter-postgres/test/MovesScene.ts"
import { makeShared } from "../../../conformance/src/Isolation/SharedScene.ts"
import * as Moving from "../../src/cells/Moving.ts"

const { undo } = Moving

const move = (request: Parameters<typeof undo>[0], to: string, pause_max = Duration.minutes(10)) =>
  Moving.move(request, to, pause_max)

/** The beginnings of the steps in their order, as the command prints them. */
const steps = [
  "Preparing",
  "Waiting for work in progress",
  "Closing for writes",
  "Copying",
  "Leaving the old cell",
  "Arriving in the new cell",
  "Removing the old rows"
]

/** Why a move that is interrupted at the beginning of a step cannot be undone. */
const rejections: Readonly<Record<string, string>> = {
  "Preparing": "is not being moved",
  "Removing the old rows": "has arrived"
}

const scene = Effect.gen(function*() {
  const { ours: { organization_id } } = yield* makeShared(Effect.void)
  const { inTarget, transfer } = yield* MovesScene.transferOf(organization_id)
  const rows = MovesScene.rowsOf(organization_id)
  const triggers = MovesScene.triggersOf(organization_id)
  const cells = [{ name: "old", sql: transfer.source }, { name: "new", sql: transfer.target }]
  const interruptAt = (step: string | null) => ({
    organization_id,
    cells,
    onStep: (begun: string) => step !== null && begun.startsWith(step) ? Effect.interrupt : Effect.void
  })
  /** Both cells: the rows of the organization, and the triggers of the move. */
  const both = Effect.all({
    old: rows,
    new: inTarget(rows),
    triggers: Effect.all([triggers, inTarget(triggers)])
  })
  return { both, interruptAt, rows }
})

it.layer(MovesScene.source, { timeout: "5 minutes" })("a move that is interrupted", (it) => {
  it.effect(
    "at each step is continued by the same command, or undone until the organization has arrived",
    () =>
      Effect.gen(function*() {
        const { both, interruptAt, rows } = yield* scene
        const before = yield* rows
        let [at, other] = ["old", "new"]
        const expected = () => ({ old: {}, new: {}, triggers: [[], []], [at]: before })
        const begun: Array<string> = []
        for (const step of steps) {
          const interrupted = yield* Effect.exit(move(interruptAt(step), other))
          assert.isTrue(Exit.hasInterrupts(interrupted), step)
          const rejection = rejections[step]
          if (rejection === undefined) {
            assert.strictEqual(yield* undo(interruptAt(null)), at)
            assert.deepStrictEqual<object>(yield* both, expected(), `${step}, undone`)
            yield* Effect.exit(move(interruptAt(step), other))
          } else {
            const rejected = yield* Effect.flip(undo(interruptAt(null)))
            assert.include(rejected.message, rejection)
          }
          const request = interruptAt(null)
          const onStep = (next: string) =>
            Effect.sync(() => void begun.push(steps.find((each) => next.startsWith(each)) ?? next))
          yield* move({ ...request, onStep }, other)
          ;[at, other] = [other, at]
          assert.deepStrictEqual<object>(yield* both, expected(), `${step}, continued`)
        }
        assert.sameMembers(Array.from(new Set(begun)), steps)
      }),
    300_000
  )

  it.effect("is undone if undoing is interrupted", () =>
    Effect.gen(function*() {
      const { both, interruptAt, rows } = yield* scene
      const before = yield* rows
      yield* Effect.exit(move(interruptAt("Arriving in the new cell"), "new"))
      for (const step of ["Undoing", "Removing the copied rows"]) {
        assert.isTrue(Exit.hasInterrupts(yield* Effect.exit(undo(interruptAt(step)))))
      }
      yield* undo(interruptAt(null))
      assert.deepStrictEqual<object>(yield* both, { old: before, new: {}, triggers: [[], []] })
    }))

  it.effect("undoes itself if the copy takes too long", () =>
    Effect.gen(function*() {
      const { both, interruptAt, rows } = yield* scene
      const before = yield* rows
      const failed = yield* Effect.flip(move(interruptAt(null), "new", Duration.zero))
      assert.include(failed.message, "longer than --pause-max")
      assert.deepStrictEqual<object>(yield* both, { old: before, new: {}, triggers: [[], []] })
    }))

  it.effect("is rejected to another cell, and so is one to the same cell, to an unknown one, and one that has not begun", () =>
    Effect.gen(function*() {
      const { interruptAt } = yield* scene
      const messageOf = <A, E extends Error, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.map(Effect.flip(effect), ({ message }) => message)
      assert.include(yield* messageOf(move(interruptAt(null), "old")), "is in the cell old already")
      assert.include(yield* messageOf(move(interruptAt(null), "x")), "Choose another --to: old, new")
      assert.include(yield* messageOf(undo(interruptAt(null))), "is not being moved")
      yield* Effect.exit(move(interruptAt("Closing for writes"), "new"))
      assert.include(yield* messageOf(move(interruptAt(null), "old")), "is being moved to new")
    }))
})
