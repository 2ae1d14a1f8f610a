import { PgClient } from "@effect/sql-pg"
import { Duration, type Redacted } from "effect"

export interface Options {
  readonly url: Redacted.Redacted
  /** How many connections a process opens at most. */
  readonly connections?: number
}

/**
 * What our promises need of every session: a statement, a transaction and a
 * node that hang are cut, so that a lock outlives its holder by 15 seconds at most.
 */
const session = {
  TimeZone: "UTC",
  statement_timeout: "5s",
  transaction_timeout: "10s",
  idle_in_transaction_session_timeout: "5s",
  tcp_keepalives_idle: "5",
  tcp_keepalives_interval: "5",
  tcp_keepalives_count: "2",
  client_connection_check_interval: "5s",
  synchronous_commit: "on"
}

/** Layer for the driver with the settings that our promises need. It connects at the first statement, not before. */
export const layer = ({ connections = 10, url }: Options) =>
  PgClient.layer({
    url,
    applicationName: "messaging-crm",
    connectTimeout: Duration.seconds(5),
    maxConnections: connections,
    multiplex: true,
    startupParameters: session
  })
