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

/** `2026-11-20 10:00:00.12+00` becomes `2026-11-20T10:00:00.120Z`. Sessions are in UTC and columns `timestamptz(3)`. */
const isoOf = (text: string): string =>
  `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(3, "0")}Z`

types.setTypeParser(types.builtins.TIMESTAMPTZ, isoOf)
types.setTypeParser(types.builtins.DATE, (text) => text)

const settings = (url: string) => ({
  connectionString: url,
  options: "-c search_path=peer,public -c timezone=UTC -c jit=off",
  keepAlive: true
})

/** As nearly everybody has it: a pool, where a statement has a connection of its own until it is answered. */
export const pool = async (url: string, connections: number): Promise<Query> => {
  const pool = new Pool({ ...settings(url), max: connections, min: connections, idleTimeoutMillis: 0 })
  await Promise.all(Array.from({ length: connections }, () => pool.query("SELECT pg_sleep(0.05)")))
  return async ({ name, text }, values) => (await pool.query<Row>({ name, text, values, rowMode: "array" })).rows
}

/**
 * In the driver's pipeline mode: each statement is a transaction of its own, so
 * they share a few connections. What one turn of the event loop asks for leaves
 * in one write.
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
  return async ({ name, text }, values) => {
    const connection = all.reduce((least, next) => next.waiting < least.waiting ? next : least)
    if (!connection.corked) {
      connection.corked = true
      connection.socket.cork()
      setImmediate(uncork, connection)
    }
    connection.waiting++
    try {
      return (await connection.client.query<Row>({ name, text, values, rowMode: "array" })).rows
    } finally {
      connection.waiting--
    }
  }
}
