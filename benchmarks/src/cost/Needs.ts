/** The needs of a number of organizations, computed from the costs of operations. */
import { type Cost, costOf } from "./Measurement.ts"

/** The use of one organization. */
export interface Mix {
  readonly contacts: number
  /** Operations per day. */
  readonly daily: Readonly<Record<Operation, number>>
}

const operations = ["delivery", "inbound", "list", "read", "send", "update", "upsert"] as const

export type Operation = typeof operations[number]

export type Costs = Readonly<Record<Operation, Cost>>

/** An organization with a team of about ten people. */
export const mix: Mix = {
  contacts: 10_000,
  daily: { read: 5_000, list: 2_000, update: 200, upsert: 100, inbound: 300, send: 300, delivery: 1_500 }
}

/** The load of the busiest minutes compared with the mean of the day. */
export const peak_factor = 5

/** The largest part of a processor that is planned for. */
const utilization = 0.5

/** One PostgreSQL server. */
export const host = { cores: 16, disk_gb: 2_000, transactions_per_second: 10_000, connections: 500 } as const

/** Connections of a process to each cell. */
const pool = 10

const seconds_per_day = 86_400

/** The days for which rows are kept. Messages are kept for a year here. */
const kept_days = { unlimited: 365, days_30: 30, hours_72: 3, audit: 400 } as const

/** Dead rows and free pages of tables and indexes, compared with a table that was just vacuumed. */
const bloat = 1.5

export interface Need {
  readonly organizations: number
  /** Per second, in the busiest minutes. */
  readonly requests: number
  readonly messages: number
  /** Processors in use in the busiest minutes, by the service and by PostgreSQL. */
  readonly service_cores: number
  readonly postgres_cores: number
  readonly transactions: number
  /** The log in MB per second at the most, and in GB per day at least. */
  readonly wal_mb: number
  readonly wal_daily_gb: number
  /** After a year. */
  readonly disk_gb: number
  readonly processes: number
  /** Servers that each resource needs. */
  readonly servers: Readonly<Record<"disk" | "processors" | "transactions", number>>
  /** Servers that all of them need. */
  readonly cells: number
  /** Connections to each server, with all processes for all cells. */
  readonly connections: number
}

/** Returns the cost of a day of one organization. */
export const dayOf = (costs: Costs, { daily }: Mix): Cost =>
  costOf((read) => operations.reduce((sum, name) => sum + daily[name] * read(costs[name]), 0))

/** Returns the bytes of one organization after a year. */
export const bytesOf = (costs: Costs, { contacts, daily }: Mix): number => {
  const { bytes } = dayOf(costs, { contacts, daily })
  // Contacts do not grow with each day's upserts, most of which update.
  const upserted = daily.upsert * costs.upsert.bytes.unlimited
  return bloat * (
    contacts * costs.upsert.bytes.unlimited
    + kept_days.unlimited * (bytes.unlimited - upserted)
    + kept_days.days_30 * bytes.days_30
    + kept_days.hours_72 * bytes.hours_72
    + kept_days.audit * bytes.audit
  )
}

/** Returns the needs of a number of organizations. */
export const needOf = (costs: Costs, mix: Mix, organizations: number): Need => {
  const day = dayOf(costs, mix)
  const atPeak = (daily: number) => organizations * daily * peak_factor / seconds_per_day
  const { delivery: _, inbound, list, read, send, update, upsert } = mix.daily
  const service_cores = atPeak(day.server_us + day.worker_us) / 1_000_000
  const postgres_cores = atPeak(day.postgres_us + day.upkeep_us) / 1_000_000
  const transactions = atPeak(day.transactions)
  const disk_gb = organizations * bytesOf(costs, mix) / 1e9
  const processes = Math.max(2, Math.ceil(service_cores / utilization))
  const servers = {
    processors: Math.ceil(postgres_cores / (host.cores * utilization)),
    disk: Math.ceil(disk_gb / host.disk_gb),
    transactions: Math.ceil(transactions / host.transactions_per_second)
  }
  return {
    organizations,
    requests: atPeak(read + list + update + upsert + send),
    messages: atPeak(inbound + send),
    service_cores,
    postgres_cores,
    transactions,
    wal_mb: atPeak(day.wal_most) / 1e6,
    wal_daily_gb: organizations * day.wal_least / 1e9,
    disk_gb,
    processes,
    servers,
    cells: Math.max(...Object.values(servers)),
    connections: processes * pool
  }
}

/** Returns how many organizations one server can have, by the resource that limits them. */
export const limitsOf = (costs: Costs, mix: Mix) => {
  const { disk_gb, postgres_cores, transactions } = needOf(costs, mix, 1)
  return {
    processors: Math.floor(host.cores * utilization / postgres_cores),
    disk: Math.floor(host.disk_gb / disk_gb),
    transactions: Math.floor(host.transactions_per_second / transactions)
  }
}
