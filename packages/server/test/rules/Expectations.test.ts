/** The rows that commits expect without setting a column of them. */
import { assert, it } from "@effect/vitest"
import { globSync } from "node:fs"
import { basename } from "node:path"
import { cases } from "../../../conformance/src/Journeys/Expectations/Cases.ts"
import { textOf } from "./Sources.ts"

/** An expectation, an update that only moves the version, or an activity that requires a version. */
const expectation = /\.expect\(|\.update\([^()]*, \{\}\)|\bconversation_version: version\b/
const declaration = /^(?:export )?const (\w+)/

/** Returns the functions of a file that expect a row. */
const placesIn = (file: string): ReadonlyArray<string> => {
  let place = ""
  return textOf(file).split("\n").flatMap((line) => {
    place = declaration.exec(line)?.[1] ?? place
    return expectation.test(line) ? [`${basename(file, ".ts")}.${place}`] : []
  })
}

it("each function of core that expects a row has a case in conformance", () => {
  const places = globSync("packages/core/src/**/*.ts").flatMap(placesIn)
  assert.sameMembers(Object.keys(cases), Array.from(new Set(places)))
})
