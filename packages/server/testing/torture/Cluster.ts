/**
 * The system under torture: PostgreSQL with a synchronous standby, the mock network, two servers with workers and one more
 * worker. Each process reaches the database and the network through proxies of its own, and is started again when it ends.
 */
import { ConfigProvider, Effect } from "effect"
import type { ChildProcess } from "node:child_process"
import * as PostgresPair from "../PostgresPair.ts"
import * as Processes from "../Processes.ts"
import * as TcpProxy from "../TcpProxy.ts"

/** The programs that a process runs: of this version, or of the version before. */
export interface Programs {
  readonly server: string
  readonly worker: string
}

export interface Options {
  /** An empty directory. */
  readonly directory: string
  readonly programs: Programs
  /** The MiB of the disk of each database server; none unless this process may mount one. */
  readonly disk_mib: number | null
}

/** The settings that a fault changes, until the process starts again with others. */
interface Setup {
  readonly programs: Programs
  readonly environment: Processes.Environment
}

/** A process of the service that faults hit. */
export interface Member {
  readonly name: string
  readonly database: ReadonlyArray<TcpProxy.TcpProxy>
  readonly network: TcpProxy.TcpProxy
  /** Sends a signal to the process, if it runs. */
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Kills the process, which then starts with these settings; by default those of the cluster. */
  readonly restart: (setup?: Partial<Setup>) => Effect.Effect<void>
}

export type Organization = Effect.Success<ReturnType<typeof Processes.organization>>

const settings: Processes.Environment = {
  RATE_LIMIT_PER_MINUTE: "1000000",
  DATABASE_POOL: "8",
  UNKNOWN_OUTCOME_SECONDS: "10",
  WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
  LOG_LEVEL: "none"
}

/** Puts other ports in the place of those that a URL names, in their order. */
const through = (url: string, proxies: ReadonlyArray<TcpProxy.TcpProxy>): string => {
  let index = 0
  return url.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, (port) => String(proxies[index++]?.port ?? port))
}

const portsOf = (url: string): ReadonlyArray<number> =>
  Array.from(url.matchAll(/127\.0\.0\.1:(\d+)/g), ([, port]) => Number(port))

/** Starts a process and keeps it running until the scope closes. Its proxies stay the same. */
const member = Effect.fnUntraced(function*(
  { environment, network_url }: Effect.Success<ReturnType<typeof Processes.cluster>>,
  usual: Setup,
  server: Processes.Server | null,
  name: string
) {
  const database_url = environment["DATABASE_URL"] ?? ""
  const database = yield* Effect.forEach(portsOf(database_url), TcpProxy.make)
  const [network_port = 0] = portsOf(network_url)
  const network = yield* TcpProxy.make(network_port)
  const own = { DATABASE_URL: through(database_url, database), PROVIDER_URL: through(network_url, [network]) }
  let setup = usual
  let current: ChildProcess | null = null
  const runOnce = Effect.scoped(Effect.gen(function*() {
    const settings = { ...environment, ...own, ...setup.environment }
    const { child, exited } = server === null
      ? yield* Processes.start(setup.programs.worker, [], settings)
      : yield* Processes.start(setup.programs.server, ["serve", "--port", String(server.port)], settings)
    child.stdout?.resume()
    current = child
    yield* exited
  }))
  yield* runOnce.pipe(Effect.andThen(Effect.sleep("100 millis")), Effect.forever, Effect.forkScoped)
  const signal = (signal: NodeJS.Signals) => Effect.sync(() => void current?.kill(signal))
  return {
    name,
    database,
    network,
    signal,
    restart: (next = {}) =>
      Effect.andThen(
        Effect.sync(() => {
          setup = { ...usual, ...next }
        }),
        signal("SIGKILL")
      )
  } satisfies Member
})

/** Starts the system. Everything ends with the scope. */
export const make = Effect.fnUntraced(function*({ directory, disk_mib, programs }: Options) {
  const pair = yield* PostgresPair.make(directory, disk_mib === null ? {} : { disk_mib })
  const cluster = yield* Processes.cluster({ servers: 2, environment: settings }).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ TEST_DATABASE_URL: pair.url })))
  )
  const globex = yield* Processes.organization(cluster.environment)
  const usual: Setup = { programs, environment: {} }
  const members = yield* Effect.forEach(
    [...cluster.servers, null],
    (server, index) => member(cluster, usual, server, server === null ? "worker" : `server ${index + 1}`)
  )
  yield* Effect.forEach(cluster.servers, ({ url }) => Processes.untilUp(`${url}/health/ready`), {
    concurrency: "unbounded",
    discard: true
  })
  const organizations: ReadonlyArray<Organization> = [cluster.acme, globex]
  return { ...cluster, pair, members, organizations, has_disk: disk_mib !== null }
})

export type Cluster = Effect.Success<ReturnType<typeof make>>
