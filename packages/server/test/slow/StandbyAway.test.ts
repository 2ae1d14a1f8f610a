/** Writes that the synchronous standby does not have, and that a promotion of it would lose. */
import { assert, it } from "@effect/vitest"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { StatementDeadline } from "@messaging-crm/adapter-postgres/StatementDeadline"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { Commit } from "@messaging-crm/core/Commit"
import { IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { start } from "@messaging-crm/server/EmbeddedPostgres"
import { Duration, Effect, Exit, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { folder } from "../../testing/Folder.ts"

const organization_id = OrganizationId.make("00000000-0000-4000-8000-000000000001")
const key = IdempotencyKey.make("12345678")

const storage = (url: string) => Postgres.layer.pipe(Layer.provideMerge(Client.layer({ url: Redacted.make(url) })))

const write = Effect.gen(function*() {
  yield* Migrations.run
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    INSERT INTO organizations (id, name, created_at)
    VALUES (${organization_id}, 'Acme', now())
  `
  const { commit } = yield* Commit
  yield* commit(organization_id, {
    response: { ...Fixtures.idempotencyRecord, key, request_id: "first" }
  })
  yield* sql`ALTER SYSTEM SET synchronous_standby_names = 'away'`
})

it.live("a response is replayed only after the standby has its write", () =>
  Effect.gen(function*() {
    const directory = yield* folder
    // After a crash everything is visible that was on the primary's disk, whether the standby has it or not.
    yield* Effect.scoped(Effect.flatMap(start({ directory }), (url) => Effect.provide(write, storage(url))))
    const url = yield* start({ directory })
    yield* Effect.gen(function*() {
      const { find } = yield* IdempotencyStore
      const sql = yield* SqlClient.SqlClient
      const found = yield* Effect.exit(
        Effect.provideService(find(organization_id, key), StatementDeadline, Duration.seconds(1))
      )
      assert.isTrue(Exit.isFailure(found))

      yield* sql`ALTER SYSTEM RESET synchronous_standby_names`
      yield* sql`SELECT pg_reload_conf()`
      const later = yield* find(organization_id, key)
      assert.deepStrictEqual(Option.map(later, ({ request_id }) => request_id), Option.some("first"))
    }).pipe(Effect.provide(storage(url)))
  }))
