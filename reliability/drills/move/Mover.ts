/** The command that moves an organization, which is killed at its steps. */
import { Effect, Random } from "effect"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import { program } from "../../../packages/server/testing/processes/Programs.ts"

/** The beginning of the lines that the command prints, one for each step. */
export const steps = [
  "Preparing",
  "Waiting for work",
  "Closing for writes",
  "Copying",
  "Leaving",
  "Arriving",
  "Removing"
] as const

export type Step = (typeof steps)[number]

/** Waits until a process has printed a line about a step, or has ended. */
const untilStep = (child: Effect.Success<ReturnType<typeof Processes.start>>["child"], step: Step) =>
  Effect.callback<void>((resume) => {
    let text = ""
    child.stderr?.on("data", (chunk: Uint8Array) => {
      text += chunk.toString()
      if (text.split("\n").some((line) => line.startsWith(step))) resume(Effect.void)
    })
    child.once("exit", () => resume(Effect.void))
  })

/** Starts a move, and kills it at a step, or within 200 ms after its beginning. */
export const killAt = (environment: Processes.Environment, organization_id: string, to: string, step: Step) =>
  Effect.scoped(Effect.gen(function*() {
    const { child } = yield* Processes.start(
      program("main"),
      ["organizations", "move", organization_id, "--to", to],
      environment
    )
    yield* untilStep(child, step)
    yield* Effect.sleep(yield* Random.nextIntBetween(0, 200))
  }))

/** Runs a command to its end, and returns its result. */
const run = (environment: Processes.Environment, ...words: ReadonlyArray<string>) =>
  Effect.map(Processes.command(["organizations", "move", ...words], environment), (result) =>
    // The output of this command.
    result as { readonly cell: string; readonly closed_ms: number | null })

export const move = (environment: Processes.Environment, organization_id: string, to: string) =>
  run(environment, organization_id, "--to", to)

/** Undoes a move. Fails if the organization has arrived, or has not been touched. */
export const undo = (environment: Processes.Environment, organization_id: string) =>
  run(environment, organization_id, "--undo")
