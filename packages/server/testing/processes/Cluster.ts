/**
 * The service as several processes on one database, with its messaging network as another process. Everything listens on
 * 127.0.0.1 and ends with the scope.
 */
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { Effect } from "effect"
import { freePort } from "../../src/dev/FreePort.ts"
import * as Network from "./Network.ts"
import * as Organizations from "./Organizations.ts"
import { type Environment, untilUp } from "./Processes.ts"
import * as Servers from "./Servers.ts"

/** A migrated database, the network, an organization, and the addresses of servers that are not started yet. */
export const make = Effect.fnUntraced(
  function*(options: {
    readonly servers: number
    readonly environment: Environment
  }) {
    const database_url = yield* Databases.migrated
    const network_port = yield* freePort
    const network_url = `http://127.0.0.1:${network_port}`
    const accepted_url = `${network_url}${Network.accepted_path}`
    const shared: Environment = {
      DATABASE_URL: database_url,
      SECRET_KEY: Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
      HOST: "127.0.0.1",
      ...options.environment
    }
    const servers = yield* Effect.forEach(Array.from({ length: options.servers }), () => Servers.reserve)
    const acme = yield* Organizations.create(shared)
    const environment = { ...Network.settings(network_url, [acme.channel_id]), ...shared }
    yield* Network.start(network_port, servers)
    yield* untilUp(accepted_url)
    return { acme, database_url, environment, network_url, servers, accepted_url }
  }
)

export type Cluster = Effect.Success<ReturnType<typeof make>>
