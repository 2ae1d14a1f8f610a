/** The lists of the mutation tests name each source file of the mutated packages, and only files and texts that exist. */
import { assert, it } from "@effect/vitest"
import { modules } from "../../../../mutation/modules.ts"
import "../../../../mutation/survivors.ts"

it("each source file of the mutated packages belongs to a module of the mutation tests", () => {
  // Both lists throw while they are loaded if a file belongs to no module, or a listed file or text does not exist.
  for (const [name, { files, tests }] of Object.entries(modules)) {
    assert.isAbove(files.length, 0, name)
    assert.isAbove(tests.length, 0, name)
  }
})
