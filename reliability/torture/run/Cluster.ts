/**
 * The system under test: PostgreSQL with a synchronous standby, the fake Graph API, two servers with workers, and one more
 * worker. Each process reaches the database and the network through its own proxies, and is restarted when it ends.
 */
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
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
  /** Whether each organization is in a cell of its own. */
  readonly are_cells: boolean
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
  readonly network: ReadonlyArray<TcpProxy.TcpProxy>
  /** Sends a signal to the process, if it runs. */
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Kills the process, which then starts with these settings instead of those of the cluster. */
  readonly restart: (setup?: Partial<Setup>) => Effect.Effect<void>
}

export type Organization = Effect.Success<ReturnType<typeof Organizations.create>> & { readonly database_url: string }

const settings: Processes.Environment = {
  ...Writes.environment,
  WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
}

/** Replaces the ports in a text by those of their proxies. */
const viaProxies = (text: string, proxies: ReadonlyMap<string, TcpProxy.TcpProxy>): string =>
  text.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, (port) => String(proxies.get(port)?.port ?? port))

/** Makes a proxy of each port in a text. */
const proxiesOf = Effect.fnUntraced(function*(text: string) {
  const ports = new Set(text.match(/(?<=127\.0\.0\.1:)\d+/g))
  return new Map(
    yield* Effect.forEach(
      ports,
      (port) => Effect.map(TcpProxy.make(Number(port)), (proxy) => [port, proxy] as const)
    )
  )
})

/** The settings that name databases. */
const database_settings = ["DATABASE_URL", "CELLS"] as const

/** Starts a process and keeps it running until the scope closes. Its proxies stay the same. */
const keepRunning = Effect.fnUntraced(function*(
  { environment, network_url }: ServiceCluster.Cluster,
  defaults: Setup,
  server: Servers.Server | null,
  name: string
) {
  const databases = database_settings.flatMap((name) => {
    const value = environment[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  const database = yield* proxiesOf(databases.map(([, value]) => value).join())
  const network = yield* proxiesOf(network_url)
  const own = Object.fromEntries([
    ...databases.map(([name, value]) => [name, viaProxies(value, database)] as const),
    ["GRAPH_URL", viaProxies(network_url, network)] as const
  ])
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
    database: Array.from(database.values()),
    network: Array.from(network.values()),
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

/** Creates an organization in the database of a cluster, or in a cell of its own. */
const createOther = Effect.fnUntraced(
  function*({ database_url, environment }: ServiceCluster.Cluster, is_cell: boolean) {
    const own_url = is_cell ? yield* Databases.migrated : database_url
    const organization = yield* Organizations.create({ ...environment, DATABASE_URL: own_url })
    return { ...organization, database_url: own_url }
  }
)

/** Starts the system, which ends with the scope. */
export const make = Effect.fnUntraced(function*({ are_cells, directory, disk_mib, programs }: Options) {
  const pair = yield* PostgresPair.make(directory, disk_mib === null ? {} : { disk_mib })
  const { made, globex } = yield* Databases.onServer(pair.url)(Effect.gen(function*() {
    const made = yield* ServiceCluster.make({ servers: 2, environment: settings })
    return { made, globex: yield* createOther(made, are_cells) }
  }))
  const organizations: ReadonlyArray<Organization> = [{ ...made.acme, database_url: made.database_url }, globex]
  const accounts = Network.settings(made.network_url, organizations.map(({ channel_id }) => channel_id))
  const { DATABASE_URL: _, ...environment } = { ...made.environment, ...accounts }
  const databases: Processes.Environment = are_cells
    ? { CELLS: organizations.map(({ database_url }, index) => `cell-${index + 1}=${database_url}`).join("\n") }
    : { DATABASE_URL: made.database_url }
  const cluster = { ...made, environment: { ...environment, ...databases } }
  const defaults: Setup = { programs, environment: {} }
  const processes = yield* Effect.forEach(
    [...cluster.servers, null],
    (server, index) => keepRunning(cluster, defaults, server, server === null ? "worker" : `server ${index + 1}`)
  )
  yield* Effect.forEach(cluster.servers, ({ url }) => Processes.untilUp(`${url}/health/ready`), {
    concurrency: "unbounded",
    discard: true
  })
  return { ...cluster, pair, processes, organizations, has_disk: disk_mib !== null }
})

export type Cluster = Effect.Success<ReturnType<typeof make>>

/** The parts of a cluster that clients use. */
export type Installation = Pick<Cluster, "accepted_url" | "environment" | "organizations" | "servers">
