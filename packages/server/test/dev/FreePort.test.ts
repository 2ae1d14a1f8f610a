import { assert, it } from "@effect/vitest"
import { Array, Effect } from "effect"
import { freePort } from "../../src/dev/FreePort.ts"

// Of 600 random ports, two are the same in all but one of 3,000 runs.
it.live("no port is returned twice, because its server may not have started", () =>
  Effect.gen(function*() {
    const ports = yield* Effect.forEach(Array.range(1, 600), () => freePort)
    assert.strictEqual(new Set(ports).size, ports.length)
  }))
