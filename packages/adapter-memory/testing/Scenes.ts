import { World } from "@messaging-crm/adapter-memory/World"
import { makeScene } from "@messaging-crm/conformance/Races"
import { Effect } from "effect"

/** Creates the scene of races, and returns the effect with which each race begins: it restores the scene's rows. */
export const makeRestorable = Effect.gen(function*() {
  const { modify, read } = yield* World
  const scene = yield* makeScene
  const rows = yield* read((rows) => rows)
  return modify(() => [scene, rows])
})
