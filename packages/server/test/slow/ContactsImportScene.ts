/** An organization whose contacts the tests of `contacts import` import. */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Databases from "@messaging-crm/adapter-postgres/testing/Databases"
import { CurrentActor } from "@messaging-crm/core/Actor"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as BuiltInProviders from "../../src/BuiltInProviders.ts"
import * as Database from "../../src/Database.ts"
import * as Layers from "../../src/Layers.ts"
import * as Processes from "../../testing/processes/Processes.ts"

class Environment extends Context.Service<Environment, Processes.Environment>()("test/Environment") {}

/** A migrated database, the operations on it, and the environment of commands that use it. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const database_url = yield* Databases.empty
  const storage = Layers.postgres.pipe(
    Layer.provideMerge(Database.migrated),
    Layer.provideMerge(Client.layer({ url: Redacted.make(database_url) }))
  )
  return Layer.mergeAll(
    Layers.crm(storage, BuiltInProviders.absent),
    Layer.succeed(Environment, { DATABASE_URL: database_url })
  ).pipe(
    Layer.provideMerge(storage)
  )
}))

const Summary = Schema.fromJsonString(Schema.Struct({
  created: Schema.Number,
  unchanged: Schema.Number,
  failed: Schema.Number,
  errors: Schema.Array(
    Schema.Struct({ line: Schema.Number, param: Schema.NullOr(Schema.String), message: Schema.String })
  )
}))

/** An organization, and the command that imports contacts into it. */
export const begin = Effect.gen(function*() {
  const organizations = yield* Organizations
  const { organization: { id }, owner } = yield* organizations.create(CreateOrganization.make({
    name: "Acme",
    owner_name: "Ada",
    owner_email: "ada@acme.example"
  }))
  const as = Effect.provideService(CurrentActor, { organization_id: id, member_id: null })
  const environment = yield* Environment
  const args = (...rest: ReadonlyArray<string>) => ["contacts", "import", "--organization", id, ...rest]
  const run = (stdin: string | Uint8Array, ...rest: ReadonlyArray<string>) =>
    Processes.run(args(...rest), environment, stdin)
  const summarize = (stdin: string | Uint8Array, ...rest: ReadonlyArray<string>) =>
    Effect.flatMap(run(stdin, "--json", ...rest), ({ stdout }) => Schema.decodeUnknownEffect(Summary)(stdout))
  return { args, as, environment, id, owner, run, summarize }
})

/** Everything about an organization's contacts, each in one text. */
export const contactsOf = (id: OrganizationId) =>
  SqlClient.SqlClient.use((sql) =>
    sql<{ readonly contact: string }>`
      SELECT c::text || coalesce((SELECT string_agg(ct::text, '' ORDER BY tag_id) FROM contact_tags ct WHERE contact_id = c.id), '')
        AS contact
      FROM contacts c
      WHERE organization_id = ${id}
      ORDER BY c.id
    `
  ).pipe(Effect.map((rows) => rows.map(({ contact }) => contact)))
