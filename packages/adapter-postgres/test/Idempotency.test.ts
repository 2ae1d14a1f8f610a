import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Commit } from "@messaging-crm/core/Commit"
import { Idempotency } from "@messaging-crm/core/Idempotency"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Context, Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"
import { waiterFor, whileOpen } from "./Sessions.ts"

const encode = (response: unknown) => Effect.succeed({ status: 201, body: JSON.stringify(response) })

/** The record of a request that another process carries out. */
const record = { ...Fixtures.idempotencyRecord, body: "theirs", request_id: "theirs" }

/** A request with the key, to another process. */
const request = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const process = yield* Processes.startCrm
  const { once } = Context.get(process, Idempotency)
  const input = CreateTag.make({ name: "New", color: "red" })
  const outcome = yield* Effect.provideService(
    once(
      { ...Fixtures.keyedRequest, request_id: "ours" },
      (record) => Context.get(process, Tags).create(input, { encode, record })
    ),
    CurrentActor,
    { organization_id, member_id: null }
  )
  return { ...outcome, body: outcome.body }
})

/** Commits the record of the other process. */
const commitTheirs = (organization_id: OrganizationId) =>
  Commit.use(({ commit }) => commit(organization_id, { response: record }))

it.layer(Processes.database, { excludeTestServices: true })("Idempotency", (it) => {
  it.effect("makes a request wait for another process that uses its key, and replays the response", () =>
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      const second = yield* whileOpen(
        commitTheirs(organization_id),
        Effect.fnUntraced(function*(pid) {
          const second = yield* Effect.forkChild(request(organization_id))
          yield* waiterFor(pid)
          return second
        })
      )
      const response = yield* Fiber.join(second)
      assert.deepStrictEqual(response, { status: 201, body: "theirs", request_id: "theirs", replayed: true })
    }))

  it.effect("locks the record that it replays, so that reading it is a commit that waits for the standby", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const organization_id = yield* Fixtures.organization
      yield* commitTheirs(organization_id)
      const isLocked = Effect.map(
        sql`SELECT xmax::text <> '0' AS locked FROM idempotency_keys WHERE organization_id = ${organization_id}`,
        ([row]) => row?.["locked"]
      )
      assert.isFalse(yield* isLocked)
      assert.isTrue((yield* request(organization_id)).replayed)
      assert.isTrue(yield* isLocked)
    }))

  it.effect("releases the key when the process that uses it dies", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const organization_id = yield* Fixtures.organization
      const held = yield* Deferred.make<number>()
      const holder = yield* Effect.forkChild(Effect.exit(sql.withTransaction(Effect.gen(function*() {
        yield* commitTheirs(organization_id)
        const [backend] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
        yield* Deferred.succeed(held, backend?.pid ?? 0)
        yield* Effect.never
      }))))
      const pid = yield* Deferred.await(held)
      const second = yield* Effect.forkChild(request(organization_id))
      yield* waiterFor(pid)
      yield* sql`SELECT pg_terminate_backend(${pid}::integer)`
      const response = yield* Fiber.join(second)
      assert.isFalse(response.replayed)
      assert.deepInclude(JSON.parse(response.body), { name: "New", color: "red" })
      const again = yield* request(organization_id)
      assert.isTrue(again.replayed)
      assert.strictEqual(again.body, response.body)
      yield* Fiber.interrupt(holder)
    }))
})
