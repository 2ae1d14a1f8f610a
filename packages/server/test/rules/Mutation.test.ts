/** The list of what is mutated names each source file of the mutated packages, and only files that exist. */
import { assert, it } from "@effect/vitest"
import { modules } from "../../../../mutation/modules.ts"

it("each source file of the mutated packages belongs to a module of the mutation tests", () => {
  // The list throws while it is loaded if a file belongs to no module, or a listed one does not exist.
  for (const [name, { files, tests }] of Object.entries(modules)) {
    assert.isAbove(files.length, 0, name)
    assert.isAbove(tests.length, 0, name)
  }
})
