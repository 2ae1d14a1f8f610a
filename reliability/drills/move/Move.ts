/**
 * Moves an organization between two cells under load, and kills the command at each of its steps. Each killed move is continued
 * or undone. The checker of the torture test judges the history of both organizations, of which one stays.
 */
import { Effect, Fiber, Option, Random, Ref } from "effect"
import { check } from "../../torture/checker/Checker.ts"
import * as Clients from "../../torture/run/Clients.ts"
import type * as Cluster from "../../torture/run/Cluster.ts"
import * as World from "../../torture/run/World.ts"
import * as Installation from "./Installation.ts"
import * as Mover from "./Mover.ts"

export interface Options {
  readonly seed: number
  readonly clients: number
  /** The steps at which the command is killed. */
  readonly steps: ReadonlyArray<Mover.Step>
  readonly onStep: (line: string) => void
}

/** Three ordinary phones, and some to which the fake Graph API behaves in another way. */
const phones = ["1234567", "1234568", "1234569", "0000002", "0000003"].map((number) => `+49151${number}`)

/** How long moves have closed the organization for writes, and how often one was continued or undone. */
interface Moved {
  readonly closed_ms: Array<number>
  continued: number
  undone: number
}

/** Kills a move at each step, then continues or undoes it. Returns the cell that has the organization. */
const moveAround = Effect.fnUntraced(
  function*({ environment, organizations }: Cluster.Installation, options: Options, moved: Moved) {
    const id = organizations[0]?.organization_id ?? ""
    let at = "one"
    const moveTo = Effect.fnUntraced(function*(to: string) {
      const { cell, closed_ms } = yield* Mover.move(environment, id, to)
      if (closed_ms !== null) moved.closed_ms.push(closed_ms)
      at = cell
    })
    for (const [index, step] of options.steps.entries()) {
      const to = at === "one" ? "two" : "one"
      yield* Mover.killAt(environment, id, to, step)
      const undone = index % 2 === 0 ? yield* Effect.option(Mover.undo(environment, id)) : Option.none()
      options.onStep(`killed at "${step}", ${Option.isSome(undone) ? "undone" : "continued"}`)
      if (Option.isSome(undone)) moved.undone++
      else {
        moved.continued++
        // If the command was not killed before its end, the organization is there already.
        yield* Effect.catch(moveTo(to), (error) =>
          error.message.includes("already")
            ? Effect.sync(() => {
              at = to
            })
            : Effect.fail(error))
      }
    }
    yield* moveTo(at === "one" ? "two" : "one")
    return at
  }
)

/** Runs the drill, and returns the history with the violations. */
export const drill = Effect.fnUntraced(function*(options: Options) {
  const { cells, installation } = yield* Installation.make
  const started = yield* World.make(installation, Installation.operators(installation), phones)
  const { endpoints, inbound, world } = started
  const moved: Moved = { closed_ms: [], continued: 0, undone: 0 }
  const working = yield* Effect.forkChild(Clients.run(world, options.clients, options.seed, inbound))
  yield* Effect.sleep("2 seconds")
  const last = yield* Random.withSeed(moveAround(installation, options, moved), `${options.seed} moves`)
  yield* endpoints.stopErrors
  yield* Ref.set(world.is_stopping, true)
  yield* Effect.timeoutOption(Fiber.join(working), "30 seconds")
  yield* Fiber.interrupt(working)
  const history = yield* World.readHistory(started, {
    seed: options.seed,
    faults: [],
    // The first organization was moved.
    organizations: installation.organizations.map((organization, index) =>
      index === 0 ? { ...organization, database_url: cells[last] ?? "" } : organization
    ),
    database_urls: Object.values(cells)
  })
  return { history, moved, violations: check(history) }
})
