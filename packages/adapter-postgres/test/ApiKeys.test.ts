import { assert, it } from "@effect/vitest"
import { type ApiKey, ApiKeyStore } from "@messaging-crm/core/ApiKeys"
import { ApiKeyId, MemberId } from "@messaging-crm/core/Ids"
import { MemberStore } from "@messaging-crm/core/Members"
import { Array, DateTime, Effect, Option } from "effect"
import * as Processes from "./Processes.ts"

const long_ago = DateTime.makeUnsafe(0)
const digest = "a".repeat(64)

it.layer(Processes.database, { excludeTestServices: true })("ApiKeys", (it) => {
  it.effect("lets exactly as many of 1500 requests to three processes in as the limit says", () =>
    Effect.gen(function*() {
      const organization_id = yield* Processes.newOrganization
      const created_by = MemberId.make(yield* Processes.newId)
      const owner = {
        id: created_by,
        name: "Ada",
        email: "ada@example.com",
        role: "owner" as const,
        created_at: long_ago
      }
      yield* MemberStore.use((store) => store.insert(organization_id, owner, owner.email))
      const key: ApiKey = {
        id: ApiKeyId.make(yield* Processes.newId),
        name: "Key",
        last_four: "aaaa",
        scopes: ["tags:read"],
        created_by,
        created_at: long_ago,
        expires_at: DateTime.makeUnsafe("2999-01-01T00:00:00Z"),
        revoked_at: null
      }
      yield* ApiKeyStore.use((store) => store.insert(organization_id, key, digest))

      const admit = ApiKeyStore.use((store) => store.admit(digest, 120, long_ago))
      const requests = Effect.all(Array.makeBy(500, () => admit), { concurrency: "unbounded" })
      const processes = yield* Effect.replicateEffect(Processes.start, 3)
      const metered = Array.flatten(
        yield* Effect.forEach(processes, (process) => Effect.provide(requests, process), { concurrency: "unbounded" })
      )
      const counts = metered.map((one) => Option.getOrThrow(one).count)
      const admitted = counts.filter((count) => count <= 120).toSorted((a, b) => a - b)
      assert.deepStrictEqual(admitted, Array.range(1, 120))
      assert.deepStrictEqual(new Set(counts.filter((count) => count > 120)), new Set([121]))
    }))
})
