import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { foundAfter } from "./0020_search.ts"

/** A search first reads as many contacts as a page has, and not 100: of most texts, few contacts have them. */
export default Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(foundAfter("greatest(50, size)"))
})
