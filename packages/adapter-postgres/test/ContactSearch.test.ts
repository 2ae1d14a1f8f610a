import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { rare_max } from "../src/contacts/ContactSearch.ts"

it("`find_contacts` looks every rare tag up in its first turn", () => {
  const find_contacts = readFileSync(
    new URL("../src/database/schema/functions/find_contacts.sql", import.meta.url),
    "utf8"
  )
  const lookup_max = /^  lookup_max bigint := ([0-9]+);$/m.exec(find_contacts)?.[1]
  assert.isAtMost(rare_max, Number(lookup_max))
})
