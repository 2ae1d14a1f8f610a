/** A process with its own network, processes, and mounts, all of which the kernel removes when the process ends. */
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"

const options = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]

/** Starts Node in new namespaces. Bash is its parent, because the first process of a namespace must reap the others. */
const start = (file: string, args: ReadonlyArray<string>) =>
  spawn(
    "unshare",
    [...options, "bash", "-c", "\"$@\"; exit $?", "-", process.execPath, file, ...args],
    { stdio: ["pipe", "inherit", "inherit"] }
  )

const exited = (child: ChildProcess) =>
  Effect.callback<number>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.succeed(child.exitCode ?? 1))
    child.once("exit", (code) => resume(Effect.succeed(code ?? 1)))
  })

/** Ends the process by the end of its standard input, so that `unshare` ends after everything in its namespaces. */
const stop = (child: ChildProcess) =>
  Effect.sync(() => child.stdin?.end()).pipe(
    Effect.andThen(exited(child)),
    Effect.timeoutOrElse({
      duration: "20 seconds",
      orElse: () => Effect.andThen(Effect.sync(() => child.kill("SIGKILL")), exited(child))
    })
  )

/** Runs a file in new namespaces, and returns its exit code. The file must end when its standard input does. */
export const run = (file: string, args: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.flatMap(Effect.acquireRelease(Effect.sync(() => start(file, args)), stop), exited)
  )

/** Ends this process when its standard input ends. */
export const endWithInput = (): void => {
  process.stdin.resume().once("close", () => process.exit(1))
}
