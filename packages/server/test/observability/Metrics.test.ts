import { assert, it } from "@effect/vitest"
import { lateness } from "../../src/observability/Metrics.ts"

it("the delay of the event loop is what exceeds the interval between measurements", () => {
  assert.strictEqual(lateness(20_000_000), 0)
  assert.strictEqual(lateness(19_900_000), 0)
  assert.strictEqual(lateness(0), 0)
  assert.closeTo(lateness(37_000_000), 0.017, 1e-9)
})
