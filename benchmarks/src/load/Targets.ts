/** The programs that are compared: the service, and the baseline in its two forms. */
import { Effect, Option, Schema } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Api, freePort, Processes, Servers } from "../harness/Fixtures.ts"
import * as ProcessOutput from "../harness/ProcessOutput.ts"
import * as Population from "../load/Population.ts"

export const names = ["service", "pool", "pipeline"] as const
export type Name = typeof names[number]

/** A running program. */
export interface Target<N extends string = Name> {
  readonly name: N
  readonly pid: number
  readonly port: number
}

const baseline = fileURLToPath(new URL("../../baseline/main.ts", import.meta.url))

const Ready = Schema.fromJsonString(Schema.Struct({ url: Schema.String }))

/** Returns the service's environment on a database, with a new secret. */
export const environmentOf = (database_url: string): Processes.Environment => ({
  DATABASE_URL: database_url,
  HOST: "127.0.0.1",
  PROVIDER: "mock",
  SECRET_KEY: Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(32))).toString("base64")
})

const settings = { NODE_ENV: "production", RATE_LIMIT_PER_MINUTE: "1000000" }

/** If `PROFILE` names a directory, the service writes a CPU profile there when it ends. */
const profile = process.env["PROFILE"]
const profiling = profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` }

/** Starts the service without workers. It ends with the scope. */
export const startService = Effect.fnUntraced(function*(environment: Processes.Environment) {
  const port = yield* freePort
  const { child, exited } = yield* Servers.serveApi({ ...environment, ...settings, ...profiling }, {
    port,
    url: `http://127.0.0.1:${port}`
  })
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.sync(() => child.kill("SIGTERM")), Effect.timeoutOption(exited, "10 seconds"))
  )
  return { pid: child.pid ?? 0, port }
})

const startBaseline = Effect.fnUntraced(function*(DRIVER: string, { DATABASE_URL = "" }: Processes.Environment) {
  const { child } = yield* Processes.start(baseline, [], { ...settings, DATABASE_URL, DRIVER })
  const { url } = yield* Effect.orDie(Schema.decodeUnknownEffect(Ready)(yield* ProcessOutput.firstLine(child)))
  return { pid: child.pid ?? 0, port: Number(new URL(url).port) }
})

/** Keeps a process, with its threads, on one processor. Dies without `taskset`, or without this processor. */
export const pin = (pid: number, processor: number) =>
  Effect.callback<void>((resume) => {
    execFile(
      "taskset",
      ["-a", "-c", "-p", String(processor), String(pid)],
      (error) => resume(error === null ? Effect.void : Effect.die(error))
    )
  })

/** Starts a program on the first processor. The environment is the service's. It ends with the scope. */
export const start = Effect.fnUntraced(function*(name: Name, environment: Processes.Environment) {
  const started = yield* name === "service" ? startService(environment) : startBaseline(name, environment)
  yield* pin(started.pid, 0)
  const target: Target = { name, ...started }
  return target
})

const Page = Schema.fromJsonString(Schema.Struct({ next_cursor: Schema.NullOr(Schema.String) }))

const pageAfter = (target: Target, cursor: string | undefined) => {
  const after = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`
  const server = { port: target.port, url: `http://127.0.0.1:${target.port}` }
  return Api.request(server, "GET", `/contacts?page_size=50${after}`, { key: Population.key(1) }).pipe(
    Effect.flatMap(({ text }) => Schema.decodeUnknownEffect(Page)(text)),
    Effect.map(({ next_cursor }) => Option.fromNullOr(next_cursor)),
    Effect.orDie
  )
}

/** Returns the cursor that leads to a page of contacts, or to the last one. */
export const cursorOf = Effect.fnUntraced(function*(target: Target, page: number) {
  let cursor: string | undefined
  for (let at = 1; at < page; at++) {
    const next = yield* pageAfter(target, cursor)
    if (Option.isNone(next)) break
    cursor = next.value
  }
  return cursor ?? ""
})
