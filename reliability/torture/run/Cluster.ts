/**
 * The system under test: PostgreSQL with a synchronous standby, the fake Graph API, two servers with workers, and one more
 * worker. Each process reaches the database and the network through its own proxies, and is restarted when it ends.
 */
import { onServer } from "@messaging-crm/adapter-postgres/testing/Databases"
import { Effect } from "effect"
import type { ChildProcess } from "node:child_process"
import * as PostgresPair from "../../../packages/server/testing/databases/PostgresPair.ts"
import * as ServiceCluster from "../../../packages/server/testing/processes/Cluster.ts"
import * as Network from "../../../packages/server/testing/processes/Network.ts"
import * as Organizations from "../../../packages/server/testing/processes/Organizations.ts"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import type * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import * as TcpProxy from "../../../packages/server/testing/processes/TcpProxy.ts"
import * as Writes from "../../drills/harness/Writes.ts"

/** The programs of a process: those of this version or of the previous one. */
export interface Programs {
  readonly server: string
  readonly worker: string
}

export interface Options {
  /** An empty directory. */
  readonly directory: string
  readonly programs: Programs
  /** The size in MiB of the disk of each database server; null if this process cannot mount a disk. */
  readonly disk_mib: number | null
}

/** The settings of a process, which a fault can change until the next restart. */
interface Setup {
  readonly programs: Programs
  readonly environment: Processes.Environment
}

/** A process of the service, which faults affect. */
export interface ServiceProcess {
  readonly name: string
  readonly database: ReadonlyArray<TcpProxy.TcpProxy>
  readonly network: TcpProxy.TcpProxy
  /** Sends a signal to the process, if it runs. */
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Kills the process, which then starts with these settings instead of those of the cluster. */
  readonly restart: (setup?: Partial<Setup>) => Effect.Effect<void>
}

export type Organization = Effect.Success<ReturnType<typeof Organizations.create>>

const settings: Processes.Environment = {
  ...Writes.environment,
  WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
}

/** Replaces the ports of a URL by those of proxies, in their order. */
const viaProxies = (url: string, proxies: ReadonlyArray<TcpProxy.TcpProxy>): string => {
  let index = 0
  return url.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, (port) => String(proxies[index++]?.port ?? port))
}

const portsOf = (url: string): ReadonlyArray<number> =>
  Array.from(url.matchAll(/127\.0\.0\.1:(\d+)/g), ([, port]) => Number(port))

/** Starts a process and keeps it running until the scope closes. Its proxies stay the same. */
const keepRunning = Effect.fnUntraced(function*(
  { environment, network_url }: ServiceCluster.Cluster,
  defaults: Setup,
  server: Servers.Server | null,
  name: string
) {
  const database_url = environment["DATABASE_URL"] ?? ""
  const database = yield* Effect.forEach(portsOf(database_url), TcpProxy.make)
  const [network_port = 0] = portsOf(network_url)
  const network = yield* TcpProxy.make(network_port)
  const own = { DATABASE_URL: viaProxies(database_url, database), GRAPH_URL: viaProxies(network_url, [network]) }
  let setup = defaults
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
          setup = { ...defaults, ...next }
        }),
        signal("SIGKILL")
      )
  } satisfies ServiceProcess
})

/** Starts the system, which ends with the scope. */
export const make = Effect.fnUntraced(function*({ directory, disk_mib, programs }: Options) {
  const pair = yield* PostgresPair.make(directory, disk_mib === null ? {} : { disk_mib })
  const made = yield* onServer(pair.url)(ServiceCluster.make({ servers: 2, environment: settings }))
  const globex = yield* Organizations.create(made.environment)
  const accounts = Network.settings(made.network_url, [made.acme.channel_id, globex.channel_id])
  const cluster = { ...made, environment: { ...made.environment, ...accounts } }
  const defaults: Setup = { programs, environment: {} }
  const processes = yield* Effect.forEach(
    [...cluster.servers, null],
    (server, index) => keepRunning(cluster, defaults, server, server === null ? "worker" : `server ${index + 1}`)
  )
  yield* Effect.forEach(cluster.servers, ({ url }) => Processes.untilUp(`${url}/health/ready`), {
    concurrency: "unbounded",
    discard: true
  })
  const organizations: ReadonlyArray<Organization> = [cluster.acme, globex]
  return { ...cluster, pair, processes, organizations, has_disk: disk_mib !== null }
})

export type Cluster = Effect.Success<ReturnType<typeof make>>
