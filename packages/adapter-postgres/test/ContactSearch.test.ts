import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { newest_max, rare_max } from "../src/contacts/ContactSearch.ts"

const find_contacts = readFileSync(
  new URL("../src/database/schema/functions/find_contacts.sql", import.meta.url),
  "utf8"
)

const initialOf = (variable: string): number =>
  Number(new RegExp(`^  ${variable} bigint := ([0-9]+);$`, "m").exec(find_contacts)?.[1])

it("a page of a tag reads as many of the newest contacts as the first turn of `find_contacts`", () => {
  assert.strictEqual(newest_max, initialOf("read_max"))
})

it("`find_contacts` looks every rare tag up in its first turn", () => {
  assert.isAtMost(rare_max, initialOf("lookup_max"))
})
