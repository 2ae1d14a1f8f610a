/** The lines that a process prints. */
import { Effect } from "effect"
import type { ChildProcess } from "node:child_process"

/** Waits for the first line that a process prints, and returns it. */
export const firstLine = (child: ChildProcess) =>
  Effect.callback<string>((resume) => {
    child.stdout?.once("data", (data: Buffer) => resume(Effect.succeed(data.toString().trim())))
    child.once("exit", (code) => resume(Effect.die(new Error(`The process ended with ${code}.`))))
  })

/** Returns a function for the last whole line that a process has printed since this call. */
export const lastLine = (child: ChildProcess): () => string => {
  let printed = ""
  child.stdout?.on("data", (data: Buffer) => {
    printed += data.toString()
  })
  return () => printed.split("\n").at(-2) ?? ""
}
