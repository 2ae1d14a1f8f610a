import { assert, it } from "@effect/vitest"
import * as Fixtures from "@messaging-crm/conformance/Fixtures"
import { type ApiKey, ApiKeyRows, ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId } from "@messaging-crm/core/Ids"
import { Array, DateTime, Effect, Option } from "effect"
import * as Processes from "./Processes.ts"

const digest = "a".repeat(64)

it.layer(Processes.database, { excludeTestServices: true })("ApiKeys", (it) => {
  it.effect("accepts exactly the limit of 1500 requests to three processes", () =>
    Effect.gen(function*() {
      const organization_id = yield* Fixtures.organization
      const owner = yield* Fixtures.member(organization_id)
      const key: ApiKey = {
        id: ApiKeyId.make(yield* Fixtures.uuid),
        name: "Key",
        last_four: "aaaa",
        scopes: ["tags:read"],
        created_by: owner.id,
        created_at: Fixtures.noon,
        expires_at: DateTime.makeUnsafe("2999-01-01T00:00:00Z"),
        revoked_at: null
      }
      yield* Fixtures.write(organization_id, ApiKeyRows.insert({ ...key, digest }))

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
})
