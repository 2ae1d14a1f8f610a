/** The process that sends the requests. */
import { Effect } from "effect"
import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { Job, Outcome } from "./loadProcess.ts"

export interface Load {
  readonly pid: number
  readonly run: (job: Job) => Effect.Effect<Outcome>
}

const run = (child: ChildProcess) => (job: Job) =>
  Effect.callback<Outcome>((resume) => {
    // Only the load process sends messages here.
    child.once("message", (message) => {
      const outcome = message as Outcome
      resume(outcome.responses > 0 ? Effect.succeed(outcome) : Effect.die(new Error("The server sent no response.")))
    })
    child.once("exit", (code) => resume(Effect.die(new Error(`The load process ended with ${code}.`))))
    child.send(job)
  }).pipe(Effect.ensuring(Effect.sync(() => child.removeAllListeners())))

/** Starts the process, which ends with the scope. */
export const start = Effect.acquireRelease(
  Effect.sync(() => fork(fileURLToPath(new URL("./loadProcess.ts", import.meta.url)))),
  (child) => Effect.sync(() => child.kill())
).pipe(Effect.map((child): Load => ({ pid: child.pid ?? 0, run: run(child) })))
