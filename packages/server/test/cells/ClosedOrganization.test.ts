/** Requests of an organization while it moves to another cell. */
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { idempotency, serviceOf } from "../../../adapter-http/testing/Service.ts"
import * as Moving from "../../src/cells/Moving.ts"
import { startCells } from "./ThreeCells.ts"

/** The steps at whose beginning the organization is closed for writes, and whether the old cell finds its keys then. */
const closed = { "Copying": true, "Leaving the old cell": true, "Arriving in the new cell": false }

it.live("a write gets 503 while its organization is closed, and its retry takes effect once in the new cell", () =>
  Effect.gen(function*() {
    const { composition, databases } = startCells()
    const service = yield* Effect.acquireRelease(
      Effect.sync(() => serviceOf(composition)),
      ({ stop }) => Effect.promise(stop)
    )
    const { key, organization } = yield* Effect.promise(() => service.organization())
    const others = yield* Effect.promise(() => service.organization())
    const write = (first_name: string, owner = key) =>
      Effect.promise(() =>
        service.request("POST", "/v1/contacts", {
          key: owner,
          json: { first_name },
          ...idempotency(`contact-${first_name}`)
        })
      )
    /** Asserts that a request is rejected. The OpenAPI document describes this status once, and not for each operation. */
    const assertClosed = (method: string, name: string) =>
      Effect.promise(async () => {
        const response = await service.fetch("http://localhost/v1/contacts", {
          method,
          headers: {
            authorization: `Bearer ${key}`,
            ...(method === "GET"
              ? {}
              : { "content-type": "application/json", ...idempotency("contact-during").headers })
          },
          ...(method === "GET" ? {} : { body: JSON.stringify({ first_name: "during" }) })
        })
        assert.deepStrictEqual(
          [response.status, (await response.json()).error.code, response.headers.get("retry-after")],
          [503, "organization_closed", "1"],
          `${method}: ${name}`
        )
      })
    const names = Effect.map(
      Effect.promise(() => service.request("GET", "/v1/contacts", { key })),
      ({ body }) => body.data.map(({ first_name }: { readonly first_name: string }) => first_name)
    )
    const before = yield* write("before")
    assert.strictEqual(before.status, 201)
    const reached: Array<string> = []
    const onStep = Effect.fnUntraced(function*(begun: string) {
      const step = Object.entries(closed).find(([name]) => begun.startsWith(name))
      if (step === undefined) return
      const [name, isRead] = step
      reached.push(name)
      yield* assertClosed("POST", name)
      if (isRead) assert.deepStrictEqual(yield* names, ["before"], name)
      else yield* assertClosed("GET", name)
      assert.strictEqual((yield* write(name, others.key)).status, 201)
    })
    const cells = yield* databases
    yield* Moving.move({ organization_id: organization.id, cells, onStep }, "three", Duration.minutes(10))
    assert.deepStrictEqual(reached, Object.keys(closed))
    assert.deepStrictEqual(yield* names, ["before"])
    const retried = yield* write("during")
    assert.strictEqual(retried.status, 201)
    // Each further retry gets the recorded response, also of a write before the move.
    for (const [name, first] of [["before", before], ["during", retried]] as const) {
      assert.strictEqual((yield* write(name)).body.data.id, first.body.data.id)
    }
    assert.sameMembers(yield* names, ["before", "during"])
  }).pipe(Effect.scoped))
