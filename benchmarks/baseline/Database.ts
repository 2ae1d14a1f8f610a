/**
 * Statements over `pg`, prepared once for each connection, with rows as arrays:
 * an object literal made from one is much cheaper than the driver's objects.
 */
import { Socket } from "node:net"
import { Client, Pool, types } from "pg"

/** A statement under the name that it is prepared with. */
export interface Statement {
  readonly name: string
  readonly text: string
}

/** The values of a row, in the order of its columns. */
// oxlint-disable-next-line typescript/no-explicit-any -- each statement knows the types of its columns
export type Row = Array<any>

export type Query = (statement: Statement, values: Array<unknown>) => Promise<Array<Row>>

/**
 * `2026-11-20 10:00:00.123+00` becomes `2026-11-20T10:00:00.123Z`: sessions are in
 * UTC and columns `timestamptz(3)`, of which PostgreSQL leaves out zeros at the end.
 */
const isoOf = (text: string): string => {
  const date = text.slice(0, 10)
  const time = text.slice(11, -3)
  if (time.length === 12) return `${date}T${time}Z`
  return `${date}T${time.length === 8 ? `${time}.000` : time.padEnd(12, "0")}Z`
}

types.setTypeParser(types.builtins.TIMESTAMPTZ, isoOf)
types.setTypeParser(types.builtins.DATE, (text) => text)

const settings = (url: string) => ({
  connectionString: url,
  options: "-c search_path=baseline,public -c timezone=UTC -c jit=off",
  keepAlive: true
})

/** Connects with a pool, in which a statement occupies a connection until its result arrives. */
export const pool = async (url: string, connections: number): Promise<Query> => {
  const pool = new Pool({ ...settings(url), max: connections, min: connections, idleTimeoutMillis: 0 })
  await Promise.all(Array.from({ length: connections }, () => pool.query("SELECT pg_sleep(0.05)")))
  return async ({ name, text }, values) => (await pool.query<Row>({ name, text, values, rowMode: "array" })).rows
}

/**
 * The driver's pipeline mode: each statement is its own transaction, so that statements share a few connections. One
 * write contains all statements of an event-loop turn.
 */
export const pipeline = async (url: string, connections: number): Promise<Query> => {
  const open = async () => {
    const socket = new Socket()
    const client = new Client({ ...settings(url), pipeline: true, stream: () => socket })
    await client.connect()
    return { client, socket, waiting: 0, corked: false }
  }
  type Connection = Awaited<ReturnType<typeof open>>
  const all = await Promise.all(Array.from({ length: connections }, open))
  const uncork = (connection: Connection) => {
    connection.corked = false
    connection.socket.uncork()
  }
  return ({ name, text }, values) => {
    const connection = all.reduce((least, next) => next.waiting < least.waiting ? next : least)
    if (!connection.corked) {
      connection.corked = true
      connection.socket.cork()
      setImmediate(uncork, connection)
    }
    connection.waiting++
    return new Promise((resolve, reject) => {
      connection.client.query<Row>({ name, text, values, rowMode: "array" }, (error: Error | null, result) => {
        connection.waiting--
        return error === null ? resolve(result.rows) : reject(error)
      })
    })
  }
}
