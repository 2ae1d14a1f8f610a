/**
 * Moves an organization between two cells under load, and kills the command at each of its steps. Each killed move is continued
 * or undone. The checker of the torture test judges the history of both organizations, of which one stays.
 */
import { Effect, Fiber, Option, Random, Ref } from "effect"
import * as Network from "../../../packages/server/testing/processes/Network.ts"
import { check } from "../../torture/checker/Checker.ts"
import type { Fault, History, InboundMessage } from "../../torture/History.ts"
import { acceptedMessages } from "../../torture/run/AcceptedMessages.ts"
import * as Clients from "../../torture/run/Clients.ts"
import * as Endpoints from "../../torture/run/Endpoints.ts"
import * as Final from "../../torture/run/Final.ts"
import { Recorder } from "../../torture/run/Recorder.ts"
import { makeSeenResources } from "../../torture/run/SeenResources.ts"
import { signingSecrets } from "../../torture/run/SigningSecrets.ts"
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

/** Starts the clients' world over an installation. */
const makeWorld = Effect.fnUntraced(function*({ cluster }: Effect.Success<typeof Installation.make>) {
  const recorder = new Recorder()
  const endpoints = yield* Endpoints.make(cluster.organizations.length, recorder.now)
  let number = 0
  const world: Clients.World = {
    cluster,
    recorder,
    operators: Installation.operators(cluster),
    seen: cluster.organizations.map(({ channel_id, member_id }, index) =>
      makeSeenResources({
        channel_id,
        member_id,
        template_id: Network.template_id,
        phones,
        newUrl: () => endpoints.urlOf(index, `/endpoint-${number++}`)
      })
    ),
    keys: cluster.organizations.map(({ key, key_id }) => [{ id: key_id, secret: key }]),
    is_stopping: yield* Ref.make(false)
  }
  return { endpoints, world }
})

/** How long moves have closed the organization for writes, and how often one was continued or undone. */
interface Moved {
  readonly closed_ms: Array<number>
  continued: number
  undone: number
}

/** Kills a move at each step, then continues or undoes it. Returns the cell that has the organization. */
const moveAround = Effect.fnUntraced(function*({ cluster }: Clients.World, options: Options, moved: Moved) {
  const id = cluster.organizations[0]?.organization_id ?? ""
  const { environment } = cluster
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
})

/** Runs the drill, and returns the history with the violations. */
export const drill = Effect.fnUntraced(function*(options: Options) {
  const installation = yield* Installation.make
  const { cells, cluster } = installation
  const { endpoints, world } = yield* makeWorld(installation)
  const inbound: Array<InboundMessage> = []
  const moved: Moved = { closed_ms: [], continued: 0, undone: 0 }
  const working = yield* Effect.forkChild(Clients.run(world, options.clients, options.seed, inbound))
  yield* Effect.sleep("2 seconds")
  const last = yield* Random.withSeed(moveAround(world, options, moved), `${options.seed} moves`)
  yield* endpoints.stopErrors
  yield* Ref.set(world.is_stopping, true)
  yield* Effect.timeoutOption(Fiber.join(working), "30 seconds")
  yield* Fiber.interrupt(working)
  const unfinished = (yield* Effect.forEach(
    Object.values(cells),
    (url) => Effect.provide(Final.waitUntilIdle(45), Installation.databaseLayer(url), { local: true }),
    { concurrency: 2 }
  )).flat()
  const organizations = yield* Effect.forEach(cluster.organizations, (organization, index) =>
    Effect.map(
      Effect.provide(
        Final.read(cluster, world.operators, organization),
        Installation.databaseLayer(cells[index === 0 ? last : "one"] ?? ""),
        { local: true }
      ),
      (final) => ({ id: organization.organization_id, final })
    ))
  const { calls } = world.recorder
  const history: History = {
    seed: options.seed,
    organizations,
    calls,
    accepted: yield* acceptedMessages(cluster.accepted_url),
    inbound,
    received: endpoints.received(signingSecrets(calls)),
    faults: [] as ReadonlyArray<Fault>,
    unfinished
  }
  return { history, moved, violations: check(history) }
})
