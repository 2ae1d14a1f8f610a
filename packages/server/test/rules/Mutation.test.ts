/** The lists of the mutation tests, which throw while they are loaded. */
import { it } from "@effect/vitest"

it("each source file of the mutated packages belongs to a module, and each listed file exists", async () => {
  await import("../../../../mutation/modules.ts")
})

it("each text of an equivalent mutant is in its file", async () => {
  await import("../../../../mutation/survivors.ts")
})
