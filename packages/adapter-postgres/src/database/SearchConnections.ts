import { Context } from "effect"
import type { SqlClient } from "effect/sql"

/**
 * A client whose connections are used for searches only, and how many statements it runs at once.
 *
 * A search may read far more than any other statement. On connections of its own it
 * delays no authentication and no read of a row, and after a second it fails with a
 * `StatementTimeoutError`. It does not take part in transactions of the other clients.
 */
export class SearchConnections extends Context.Service<SearchConnections, {
  readonly sql: SqlClient.SqlClient
  readonly statements: number
}>()("@messaging-crm/adapter-postgres/SearchConnections") {}
