import { assert, it } from "@effect/vitest"
import { hasReached } from "../src/attacks/Attacks.ts"

it("an attack has reached its target if it had the effect that proves it", () => {
  const cases = [
    ["unsigned posts", { 401: 1 }, true],
    ["unsigned posts", { 200: 9, connected: 9 }, false],
    ["unsigned posts", {}, false],
    ["slow writers", { connected: 1 }, true],
    ["slow writers", { 408: 9 }, false],
    ["invalid signatures", { 401: 0, 413: 5 }, false]
  ] as const
  for (const [name, effects, expected] of cases) assert.strictEqual(hasReached(name, effects), expected, name)
})
