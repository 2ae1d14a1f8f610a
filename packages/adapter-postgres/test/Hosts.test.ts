/** How the client finds the server that accepts writes, among the hosts of its URL. */
import { assert, describe, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { createServer, type Server, type Socket } from "node:net"
import * as Hosts from "../src/database/Client/Hosts.ts"
import * as Database from "../testing/Database.ts"
import * as Backends from "./Backends.ts"

const parsed = (url: string) =>
  Option.getOrNull(Hosts.parse(url))?.map(({ url, ...host }) => ({ ...host, url: Redacted.value(url) }))

describe("The hosts of a URL", () => {
  it("are listed as libpq lists them, each with a URL of its own", () => {
    assert.deepStrictEqual(
      parsed("postgresql://crm:s%2Cecret,@a.example:5433,b.example,[::1]:5434/crm?sslmode=require"),
      [
        {
          host: "a.example",
          port: 5433,
          database: "crm",
          url: "postgresql://crm:s%2Cecret,@a.example:5433/crm?sslmode=require"
        },
        {
          host: "b.example",
          port: 5432,
          database: "crm",
          url: "postgresql://crm:s%2Cecret,@b.example/crm?sslmode=require"
        },
        {
          host: "::1",
          port: 5434,
          database: "crm",
          url: "postgresql://crm:s%2Cecret,@[::1]:5434/crm?sslmode=require"
        }
      ]
    )
  })

  it("may be one, a socket, or none, which is this host", () => {
    assert.deepStrictEqual(parsed("postgres:///crm")?.map(({ host, port }) => [host, port]), [["localhost", 5432]])
    assert.deepStrictEqual(parsed("postgres:///crm?host=/run/pg&port=5433")?.map(({ host, port }) => [host, port]), [
      ["/run/pg", 5433]
    ])
  })

  it("are rejected when they are none, or shall be read-only", () => {
    for (
      const url of [
        "",
        "mysql://a/crm",
        "a.example:5432",
        "postgres://a:port/crm",
        "postgres://a:1,b:70000/crm",
        "postgres://a,b/crm?target_session_attrs=standby",
        "postgres://a,b/crm?target_session_attrs=read-only"
      ]
    ) assert.isUndefined(parsed(url), url)
    for (const attribute of ["any", "primary", "read-write"]) {
      assert.lengthOf(parsed(`postgres://a,b/crm?target_session_attrs=${attribute}`) ?? [], 2)
    }
  })
})

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** A port on which nothing listens. */
const closedPort = Effect.callback<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const port = portOf(server)
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** A port that accepts connections and never responds. */
const silentPort = Effect.acquireRelease(
  Effect.callback<{ readonly server: Server; readonly sockets: Set<Socket> }>((resume) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => sockets.add(socket)).listen(0, "127.0.0.1", () => {
      resume(Effect.succeed({ server, sockets }))
    })
  }),
  ({ server, sockets }) =>
    Effect.sync(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
).pipe(Effect.map(({ server }) => portOf(server)))

const write = (sql: SqlClient.SqlClient) =>
  sql`
    INSERT INTO organizations (id, name, created_at)
    VALUES (gen_random_uuid(), 'wanted', now())
    RETURNING name
  `

it.layer(Database.layer, { excludeTestServices: true })("A client of several hosts", (it) => {
  it.effect("uses the host that responds for every connection", () =>
    Effect.gen(function*() {
      const { url } = yield* Database.Database
      const text = Redacted.value(url).replace("@", `@127.0.0.1:${yield* closedPort},`)
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        assert.lengthOf(
          yield* Effect.all(Array.from({ length: 100 }, () => write(sql)), { concurrency: "unbounded" }),
          100
        )
        assert.lengthOf(yield* Backends.pids(sql, 3), 3)
      }).pipe(Effect.provide(Client.layer({ url: Redacted.make(text), connections: 10 })))
    }))

  it.effect("gives up a host that does not respond within the timeout of the URL", () =>
    Effect.gen(function*() {
      const { url } = yield* Database.Database
      const text = `${Redacted.value(url).replace("@", `@127.0.0.1:${yield* silentPort},`)}?connect_timeout=1`
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        assert.lengthOf(yield* write(sql), 1)
      }).pipe(Effect.provide(Client.layer({ url: Redacted.make(text), connections: 2 })))
    }).pipe(Effect.scoped))

  it.effect("fails while no host accepts writes, and recovers once one does", () =>
    Effect.gen(function*() {
      const { url } = yield* Database.Database
      const sql = yield* SqlClient.SqlClient
      const { pathname, port } = new URL(Redacted.value(url))
      const set = (value: string) =>
        sql.unsafe(`ALTER DATABASE ${pathname.slice(1)} SET default_transaction_read_only = ${value}`)
      const text = Redacted.value(url).replace("@", `@127.0.0.1:${port},`)
      yield* Effect.gen(function*() {
        const several = yield* SqlClient.SqlClient
        yield* set("on")
        const error = yield* Effect.flip(several`SELECT 1`)
        assert.strictEqual(error.reason._tag, "ConnectionError")
        assert.include(String(error.reason.cause), `127.0.0.1:${port} is read-only`)
        yield* set("off")
        assert.lengthOf(yield* write(several), 1)
      }).pipe(Effect.provide(Client.layer({ url: Redacted.make(text), connections: 2 })))
    }))

  it.effect("leaves a server that was made read-only, and repeats the statement that it rejected", () =>
    Effect.gen(function*() {
      const { url } = yield* Database.Database
      yield* Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const before = yield* Backends.pid(sql)
        yield* sql`SELECT set_config('default_transaction_read_only', 'on', false)`
        assert.strictEqual(yield* Backends.pid(sql), before)
        assert.lengthOf(yield* write(sql), 1)
        assert.notStrictEqual(yield* Backends.pid(sql), before)

        yield* sql`SELECT set_config('default_transaction_read_only', 'on', false)`
        const rejected = yield* Effect.flip(sql.withTransaction(write(sql)))
        assert.include(String(rejected.reason.cause), "read-only transaction")
        assert.lengthOf(yield* sql.withTransaction(write(sql)), 1)
      }).pipe(Effect.provide(Client.layer({ url, connections: 1 })))
    }))
})
