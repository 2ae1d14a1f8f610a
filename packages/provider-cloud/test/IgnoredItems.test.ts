/** The log of ignored items of callbacks. */
import { assert, it } from "@effect/vitest"
import { Effect, Logger, References } from "effect"
import { report } from "../src/IgnoredItems.ts"

it.effect("a kind of the network is logged as a name, and any other text as other", () => {
  const kinds: Array<unknown> = []
  const logger = Logger.make(({ fiber }) => void kinds.push(fiber.getRef(References.CurrentLogAnnotations)["kind"]))
  const texts = [
    "field:history",
    "field:new_field",
    "object:kim@example.com",
    "field:4915112345678",
    "field:a\nlevel=ERROR",
    "field:\u202egnp",
    `field:${"a".repeat(41)}`
  ]
  return Effect.gen(function*() {
    yield* report(texts.map((kind) => ({ reason: "unknown", kind })))
    assert.deepStrictEqual(kinds, ["field:history", "field:new_field", ...Array(5).fill("other")])
  }).pipe(Effect.provide(Logger.layer([logger])))
})
