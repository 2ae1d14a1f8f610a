/** Two cells on one PostgreSQL server, the fake Graph API, and servers with workers that use both cells. */
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import * as Schemas from "@messaging-crm/adapter-postgres/testing/Schemas"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { ConfigProvider, Effect, Option } from "effect"
import * as AdminOperations from "../../../packages/server/src/cli/AdminOperations.ts"
import { freePort } from "../../../packages/server/src/dev/FreePort.ts"
import * as Network from "../../../packages/server/testing/processes/Network.ts"
import * as Organizations from "../../../packages/server/testing/processes/Organizations.ts"
import * as Processes from "../../../packages/server/testing/processes/Processes.ts"
import { program } from "../../../packages/server/testing/processes/Programs.ts"
import * as Servers from "../../../packages/server/testing/processes/Servers.ts"
import type { Installation } from "../../torture/run/Cluster.ts"
import type { Operators } from "../../torture/run/Operators.ts"
import * as Writes from "../harness/Writes.ts"

/** The names of the cells, and their URLs. */
export type Cells = Readonly<Record<string, string>>

/** Starts the installation. Both organizations begin in the first cell. */
export const make = Effect.gen(function*() {
  const [one = "", two = ""] = yield* Schemas.create(yield* Databases.empty, ["one", "two"])
  const cells: Cells = { one, two }
  for (const url of Object.values(cells)) yield* Databases.migrate(url)
  const network_port = yield* freePort
  const network_url = `http://127.0.0.1:${network_port}`
  const shared = {
    ...Writes.environment,
    SECRET_KEY: Buffer.alloc(32, 9).toString("base64"),
    HOST: "127.0.0.1",
    WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
  }
  const organizations = [
    { ...yield* Organizations.create({ ...shared, DATABASE_URL: one }), database_url: one },
    { ...yield* Organizations.create({ ...shared, DATABASE_URL: one }), database_url: one }
  ]
  const environment: Processes.Environment = {
    ...Network.settings(network_url, organizations.map(({ channel_id }) => channel_id)),
    ...shared,
    CELLS: Object.entries(cells).map(([name, url]) => `${name}=${url}`).join("\n")
  }
  const servers = [yield* Servers.reserve, yield* Servers.reserve]
  yield* Network.start(network_port, servers)
  const accepted_url = `${network_url}${Network.accepted_path}`
  yield* Processes.untilUp(accepted_url)
  yield* Effect.forEach(servers, (server) => Servers.serve(environment, server, program("server")), {
    concurrency: "unbounded"
  })
  const installation: Installation = { accepted_url, environment, organizations, servers }
  return { cells, installation }
})

/** Returns the function that runs commands of an organization's operator, in the cell that has the organization. */
export const operators = ({ environment }: Installation): Operators => {
  const settings = ConfigProvider.layer(ConfigProvider.fromUnknown({ ...environment, DATABASE_POOL: "2" }))
  return ({ organization_id }) => (command) => {
    const id = OrganizationId.make(organization_id)
    return AdminOperations.findLayer(id).pipe(
      Effect.map(Option.getOrThrow),
      Effect.flatMap((layer) =>
        command.pipe(
          Effect.provideService(CurrentActor, { organization_id: id, member_id: null }),
          Effect.provide(layer, { local: true })
        )
      ),
      Effect.provide(settings),
      Effect.orDie
    )
  }
}
