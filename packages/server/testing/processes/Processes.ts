/** Child processes that run the programs of the service, and end with the scope. */
import { Context, Effect, Schedule } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { environment as programEnvironment, program } from "./Programs.ts"

/** The path of the command line. */
export const main = program("main")

export type Environment = Readonly<Record<string, string>>

/** The arguments of `node` that start the command line, and its environment: in benchmarks those of the image. */
export const Program = Context.Reference<{
  readonly words: ReadonlyArray<string>
  readonly environment: Environment
}>("@messaging-crm/server/testing/Processes/Program", { defaultValue: () => ({ words: [main], environment: {} }) })

const environmentOf = (environment: Environment) => ({
  PATH: process.env["PATH"] ?? "",
  LOG_LEVEL: "error",
  ...programEnvironment,
  ...environment
})

const exited = (child: ChildProcess) =>
  Effect.callback<number>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.succeed(child.exitCode ?? -1))
    child.once("exit", (code) => resume(Effect.succeed(code ?? -1)))
  })

/** Starts a process, which is killed when the scope closes. Its stderr goes to the stderr of this process. */
export const start = (file: string | ReadonlyArray<string>, args: ReadonlyArray<string>, environment: Environment) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(process.execPath, [file, args].flat(), {
        env: environmentOf(environment),
        stdio: ["ignore", "pipe", "pipe"]
      })
      child.stderr.on("data", (chunk: Uint8Array) => void process.stderr.write(chunk))
      return { child, exited: exited(child) }
    }),
    ({ child, exited }) => Effect.andThen(Effect.sync(() => child.kill("SIGKILL")), exited)
  )

/** Waits for the first output of a process, such as the line of a worker that it is running. */
export const untilOutput = ({ child }: { readonly child: ChildProcess }) =>
  Effect.callback<void>((resume) => void child.stdout?.once("data", () => resume(Effect.void)))

/** Starts the command line, which is killed when the scope closes. */
export const startMain = (args: ReadonlyArray<string>, environment: Environment) =>
  Effect.flatMap(Program, ({ environment: own, words }) => start(words, args, { ...own, ...environment }))

/** Runs a command to its end with the given stdin, and returns its exit code and output. */
export const run = Effect.fnUntraced(function*(
  args: ReadonlyArray<string>,
  environment: Environment,
  stdin: string | Uint8Array = ""
) {
  const { environment: own, words } = yield* Program
  return yield* Effect.callback<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>(
    (resume) => {
      const child = spawn(process.execPath, [...words, ...args], {
        env: environmentOf({ ...own, ...environment })
      })
      const output = { stdout: "", stderr: "" }
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8").on("data", (text: string) => {
          output[name] += text
        })
      }
      child.once("close", (code) => resume(Effect.succeed({ code, ...output })))
      // A failing command can exit before it has read its input.
      child.stdin.on("error", () => {}).end(stdin)
    }
  )
})

/** Runs a command to its end and returns the JSON that it printed. */
export const command = Effect.fnUntraced(function*(args: ReadonlyArray<string>, environment: Environment) {
  const { code, stderr, stdout } = yield* run([...args, "--json"], environment)
  if (code !== 0) return yield* Effect.fail(new Error(`${args.join(" ")} ended with ${code}: ${stderr}`))
  process.stderr.write(stderr)
  return JSON.parse(stdout) as unknown
})

const isUp = (url: string) =>
  Effect.tryPromise(async () => {
    const response = await fetch(url)
    await response.arrayBuffer()
    if (!response.ok) throw new Error(String(response.status))
  })

/** Waits until a URL returns success, for at most one minute. */
export const untilUp = (url: string) =>
  isUp(url).pipe(Effect.retry({ schedule: Schedule.spaced("30 millis"), times: 2000 }), Effect.orDie)
