import { assert, it } from "@effect/vitest"
import { messagesIn } from "../src/ingress/Callbacks.ts"
import { type Measurements, reportOf } from "../src/ingress/Report.ts"

const load = { seconds: 2, posts_per_second: 4, warm_up_posts: 5 }

const measurements: Measurements = {
  responses: Array.from({ length: 8 }, (_, index) => ({ status: 200, elapsed_ms: index + 0.25 })),
  drain_ms: 2000,
  stored: 4,
  mutated: { signed: [200, 400, 200], unsigned: [401, 401] },
  memory_mib: { rest: 150.4, peak: 170.6 }
}

it("every fourth post of a load contains a message, the first one included", () => {
  assert.deepStrictEqual([0, 1, 4, 5, 8, 9].map(messagesIn), [0, 1, 1, 2, 2, 3])
})

it("a report has rounded figures, the posted messages of the warm-up too, and no violation within the limits", () => {
  assert.deepStrictEqual(reportOf(measurements, load), {
    posts: 8,
    posts_per_second: 4,
    statuses: { 200: 8 },
    response: { p50_ms: 3.8, p99_ms: 7.3, max_ms: 7.3 },
    drain_ms: 2000,
    processed_per_second: 2,
    messages: { posted: 4, stored: 4 },
    mutated: { signed: { 200: 2, 400: 1 }, unsigned: { 401: 2 } },
    memory_mib: { rest: 150, peak: 171 },
    violations: []
  })
})

it("a report has the violations of memory before rounding, and of statuses", () => {
  const { violations } = reportOf({
    ...measurements,
    responses: [...measurements.responses, { status: 0, elapsed_ms: 1 }],
    stored: 5,
    memory_mib: { rest: 150.4, peak: 250.4 }
  }, load)
  assert.deepStrictEqual(violations, ["a signed post received another response than 200", "the memory grew too much"])
})
