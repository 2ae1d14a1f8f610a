/** `assert` compares the fields of errors, which chai alone does not (`vitest.errors.ts`). */
import { assert, it } from "@effect/vitest"
import { Data, Exit, Option, Result } from "effect"
import { globSync } from "node:fs"
import { textOf } from "./Sources.ts"

class Full extends Data.TaggedError("Full")<{ readonly limit: number }> {}

it("errors whose fields differ are not equal, wherever they are", () => {
  const [one, other] = [new Full({ limit: 1 }), new Full({ limit: 2 })]
  for (const wrap of [(error: Full) => error, Exit.fail, Result.fail, Option.some, (error: Full) => [{ error }]]) {
    assert.deepStrictEqual<unknown>(wrap(one), wrap(new Full({ limit: 1 })))
    assert.notDeepEqual<unknown>(wrap(one), wrap(other))
    assert.throws(() => assert.deepInclude({ error: wrap(one) }, { error: wrap(other) }))
  }
})

it("every configuration of the tests compares them", () => {
  for (const file of globSync(["vitest*.config.ts", "mutation/vitest.config.ts"])) {
    assert.match(textOf(file), /setupFiles: \[.*"vitest\.errors\.ts"/, file)
  }
})
