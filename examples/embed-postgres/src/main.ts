import { NodeRuntime } from "@effect/platform-node"
import * as WebhookTransport from "@messaging-crm/adapter-http/WebhookTransport"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Conflict } from "@messaging-crm/core/Commit"
import { Contacts, CreateContact } from "@messaging-crm/core/Contacts"
import * as Crm from "@messaging-crm/core/Crm"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { RootKeys } from "@messaging-crm/core/Secrets"
import { Worker } from "@messaging-crm/core/Worker"
import * as MockProvider from "@messaging-crm/provider-mock"
import * as EmbeddedPostgres from "@messaging-crm/server/EmbeddedPostgres"
import { Config, Console, Effect, Layer, Option, Redacted, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { fileURLToPath } from "node:url"

const directory = fileURLToPath(new URL("../.data/postgres", import.meta.url))

/** Your own PostgreSQL at `DATABASE_URL`, or one from npm, so that the example runs anywhere. */
const url = Effect.flatMap(
  Config.option(Config.Redacted("DATABASE_URL")),
  Option.match({
    onNone: () => Effect.map(EmbeddedPostgres.start({ directory }), Redacted.make),
    onSome: Effect.succeed
  })
)

const database = Migrations.layer.pipe(
  Layer.provideMerge(Layer.unwrap(Effect.map(url, (url) => Client.layer({ url }))))
)

// 32 random bytes from your secret store, the same at every start: with another key, the worker sends nothing.
const rootKeys = Layer.succeed(RootKeys, [Redacted.make(new Uint8Array(32).fill(7))])

const crm = Worker.layerLoop.pipe(
  Layer.provideMerge(Crm.layer),
  Layer.provide([MockProvider.layer, WebhookTransport.layer(), rootKeys]),
  Layer.provideMerge(Postgres.layer),
  Layer.provideMerge(database)
)

/** Runs a transaction, and restarts it if another one changed rows that the CRM had read. */
const transact = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  SqlClient.SqlClient.use((sql) => sql.withTransaction(effect)).pipe(
    // Only you can restart your transaction. Inside it, a conflict of the CRM is therefore a defect.
    Effect.catchDefect((defect) => defect instanceof Conflict ? Effect.fail(defect) : Effect.die(defect)),
    Effect.retry({
      while: (error) => error instanceof Conflict,
      schedule: Schedule.jittered(Schedule.exponential("5 millis")),
      times: 10
    })
  )

/** Creates a customer of the shop and a contact of the CRM in one transaction, so that neither exists without the other. */
const signUp = Effect.fn("signUp")(function*(form: unknown) {
  const sql = yield* SqlClient.SqlClient
  const contacts = yield* Contacts
  // Operations take decoded input: validated, trimmed, with phone numbers in E.164.
  const input = yield* Schema.decodeUnknownEffect(CreateContact)(form)
  return yield* transact(Effect.gen(function*() {
    const contact = yield* contacts.create(input)
    yield* sql`INSERT INTO shop_customers (contact_id, signed_up_at) VALUES (${contact.id}, now())`
    return contact
  }))
})

const program = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE IF NOT EXISTS shop_customers (contact_id uuid PRIMARY KEY, signed_up_at timestamptz NOT NULL)`
  const { organization, owner } = yield* Organizations.use((organizations) =>
    organizations.create(
      CreateOrganization.make({ name: "The shop", owner_name: "Ada", owner_email: "ada@shop.example" })
    )
  )
  const contact = yield* signUp({ first_name: "Kim", primary_phone: "+49 151 12345678" }).pipe(
    Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
  )
  yield* Console.log(contact)
})

NodeRuntime.runMain(Effect.provide(program, crm))
