import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { type ApiKey, ApiKeyRows, ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId } from "@messaging-crm/core/Ids"
import { Array, DateTime, Effect, Fiber, Logger, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Processes from "./Processes.ts"
import { waiterFor, whileLocked } from "./Sessions.ts"

const digest = "a".repeat(64)

/** Inserts a key and returns its organization. */
const newKey = Effect.fnUntraced(function*(digest: string) {
  const organization_id = yield* Fixtures.organization
  const owner = yield* Fixtures.member(organization_id)
  const key: ApiKey = {
    id: ApiKeyId.make(yield* Fixtures.uuid),
    name: "Key",
    scopes: ["tags:read"],
    created_by: owner.id,
    created_at: Fixtures.noon,
    expires_at: DateTime.makeUnsafe("2999-01-01T00:00:00Z"),
    revoked_at: null,
    last_used_at: null
  }
  yield* Fixtures.mustCommit(organization_id, ApiKeyRows.insert({ ...key, digest }))
  return organization_id
})

it.layer(Processes.database, { excludeTestServices: true })("ApiKeys", (it) => {
  it.effect("accepts exactly the limit of 1500 requests to three processes", () =>
    Effect.gen(function*() {
      yield* newKey(digest)
      const authenticate = ApiKeyStore.use((store) => store.authenticate(digest, 120, Fixtures.noon))
      const requests = Effect.all(Array.makeBy(500, () => authenticate), { concurrency: "unbounded" })
      const processes = yield* Effect.replicateEffect(Processes.start, 3)
      const metered = Array.flatten(
        yield* Effect.forEach(processes, (process) => Effect.provide(requests, process), { concurrency: "unbounded" })
      )
      const counts = metered.map((one) => Option.getOrThrow(one).count)
      const accepted = counts.filter((count) => count <= 120).toSorted((a, b) => a - b)
      assert.deepStrictEqual(accepted, Array.range(1, 120))
      assert.deepStrictEqual(new Set(counts.filter((count) => count > 120)), new Set([121]))
    }))

  it.effect("locks the counters of a statement by key, whichever the order of their requests", () =>
    Effect.gen(function*() {
      const other = yield* Processes.start
      const sql = yield* SqlClient.SqlClient
      const authenticate = (digest: string) => ApiKeyStore.use((store) => store.authenticate(digest, 9, Fixtures.noon))
      const digests = ["d".repeat(64), "e".repeat(64)]
      for (const digest of digests) yield* Effect.andThen(newKey(digest), authenticate(digest))
      const keys = yield* sql<{ readonly id: string; readonly digest: string }>`
        SELECT id, digest FROM api_keys WHERE digest = ANY(${digests}::text[]) ORDER BY id
      `
      const [first, second] = keys
      if (first === undefined || second === undefined) return assert.fail("There are no two keys.")
      const [counting, free] = yield* whileLocked(
        sql`api_key_windows WHERE key_id = ${first.id}`,
        Effect.fnUntraced(function*(pid: number) {
          const both = Effect.forEach([second, first], ({ digest }) => authenticate(digest), {
            concurrency: "unbounded"
          })
          const counting = yield* Effect.forkChild(Effect.provide(both, other))
          yield* waiterFor(pid)
          return [
            counting,
            yield* sql`SELECT 1 FROM api_key_windows WHERE key_id = ${second.id} FOR UPDATE SKIP LOCKED`
          ] as const
        })
      )
      const counts = (yield* Fiber.join(counting)).map((metered) => Option.getOrThrow(metered).count)
      assert.deepStrictEqual(counts, [2, 2])
      assert.lengthOf(free, 1)
    }))

  it.effect("keeps the first use of each window, and writes no other", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const other = "b".repeat(64)
      const organization_id = yield* newKey(other)
      const authenticate = ApiKeyStore.use((store) => store.authenticate(other, 120, Fixtures.noon))
      const used = sql<{ readonly last_used_at: DateTime.Utc; readonly xmin: string; readonly is_recent: boolean }>`
        SELECT last_used_at, xmin::text, last_used_at > now() - interval '1 minute' AS is_recent
        FROM api_keys
        WHERE organization_id = ${organization_id}
      `
      yield* Effect.replicateEffect(authenticate, 2)
      const first = yield* used
      assert.deepStrictEqual(first.map(({ is_recent }) => is_recent), [true])
      yield* Effect.replicateEffect(authenticate, 3)
      assert.deepStrictEqual(yield* used, first)
      yield* sql`UPDATE api_key_windows SET opened_at = opened_at - interval '61 s'`
      yield* sql`UPDATE api_keys SET last_used_at = last_used_at - interval '61 s'`
      assert.deepStrictEqual((yield* used).map(({ is_recent }) => is_recent), [false])
      yield* authenticate
      assert.deepStrictEqual((yield* used).map(({ is_recent }) => is_recent), [true])
    }))

  it.effect("accepts requests while the disk is full, still no more than the limit, and counts in the database again", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const third = "c".repeat(64)
      const organization_id = yield* newKey(third)
      const process = yield* Processes.start
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(String(message)))
      const authenticate = ApiKeyStore.use((store) => store.authenticate(third, 20, Fixtures.noon)).pipe(
        Effect.provide(process),
        Effect.provide(Logger.layer([logger]))
      )
      const counts = (times: number) =>
        Effect.map(
          Effect.all(Array.makeBy(times, () => authenticate), { concurrency: "unbounded" }),
          (found) => found.map((one) => Option.getOrThrow(one).count).toSorted((a, b) => a - b)
        )
      assert.deepStrictEqual(yield* counts(3), [1, 2, 3])
      yield* sql`
        CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = 'disk_full'; END $$
      `
      for (const table of ["api_key_windows", "api_keys"]) {
        yield* sql`
          CREATE TRIGGER disk_is_full BEFORE INSERT OR UPDATE ON ${sql(table)} EXECUTE FUNCTION disk_is_full()
        `
      }
      assert.deepStrictEqual(yield* counts(30), [...Array.range(1, 20), ...Array.makeBy(10, () => 21)])
      yield* sql`UPDATE members SET role = 'member' WHERE organization_id = ${organization_id}`
      assert.isTrue(Option.isNone(yield* authenticate))
      yield* sql`UPDATE members SET role = 'owner' WHERE organization_id = ${organization_id}`
      for (const table of ["api_key_windows", "api_keys"]) yield* sql`DROP TRIGGER disk_is_full ON ${sql(table)}`
      const counted = sql<{ readonly count: number }>`
        SELECT count FROM api_key_windows JOIN api_keys key ON key.id = key_id WHERE key.digest = ${third}
      `
      // It tries the database again by the database's clock, so the test has to wait for it.
      yield* Effect.repeat(Effect.andThen(authenticate, counted), { until: ([row]) => (row?.count ?? 0) > 3 })
      assert.deepStrictEqual(logged, [
        "The database rejects writes: requests are counted in this process",
        "The database accepts writes again: requests are counted in the database"
      ])
    }))
})
