import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/core/conformance/Fixtures"
import { IdempotencyKey, IdempotencyStore, RequestProcessing } from "@messaging-crm/core/Idempotency"
import { Context, Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"

const key = IdempotencyKey.make("12345678")

it.layer(Processes.database, { excludeTestServices: true })("Idempotency", (it) => {
  it.effect("refuses a key that another process uses at once, and frees it when that process dies", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const organization_id = yield* Fixtures.organization
      const store = yield* IdempotencyStore
      const other = Context.get(yield* Processes.start, IdempotencyStore)
      const held = yield* Deferred.make<number>()
      const hold = Effect.gen(function*() {
        const [backend] = yield* sql<{ readonly pid: number }>`SELECT pg_backend_pid() AS pid`
        yield* Deferred.succeed(held, backend?.pid ?? 0)
        return yield* Effect.never
      })
      const holder = yield* Effect.forkChild(Effect.exit(store.exclusively(organization_id, key, hold)))
      const pid = yield* Deferred.await(held)
      const use = other.exclusively(organization_id, key, Effect.succeed("free"))
      assert.instanceOf(yield* Effect.flip(use), RequestProcessing)

      yield* sql`SELECT pg_terminate_backend(${pid})`
      assert.strictEqual(yield* Effect.eventually(use), "free")
      yield* Fiber.interrupt(holder)
    }))
})
