/** Tests that the errors of failed statements, which go into logs and spans, do not contain texts of people. */
import { assert, it } from "@effect/vitest"
import { Cause, Effect, Exit, Logger } from "effect"
import { SqlClient } from "effect/sql"
import { inspect } from "node:util"
import * as Database from "../testing/Database.ts"

const canary = "canary-4915112345678"

/** A statement for each way in which PostgreSQL would repeat a value. */
const failing = (sql: SqlClient.SqlClient) =>
  [
    ["a unique key", sql`INSERT INTO canaries (id, word) VALUES (9, ${canary})`],
    ["a check", sql`INSERT INTO canaries (id, word) VALUES (2, ${`long-${canary}`})`],
    ["a missing value", sql`INSERT INTO canaries (id, word, other) VALUES (3, ${canary.slice(0, 6)}, NULL)`],
    ["a foreign key", sql`INSERT INTO followers (word) VALUES (${canary.slice(0, 19)})`],
    ["a type", sql`SELECT ${canary}::text::integer`],
    ["JSON", sql`SELECT ${`{"${canary}`}::text::json`],
    ["a time", sql`SELECT ${canary}::text::timestamptz`],
    [
      "a raised error",
      sql.unsafe(`DO $$ BEGIN RAISE EXCEPTION 'rejected' USING DETAIL = '${canary}', HINT = '${canary}'; END $$`)
    ],
    [
      "a raised message",
      sql.unsafe(`DO $$ BEGIN RAISE EXCEPTION '${canary}' USING ERRCODE = '53100', CONSTRAINT = 'some_rule'; END $$`)
    ],
    ["a number out of range", sql`SELECT ${`99999999999999999999`}::text::integer, ${canary}::text`],
    ["a name of a time zone", sql`SELECT now() AT TIME ZONE ${canary}::text`],
    ["an array", sql`SELECT ${`{"${canary}`}::text::integer[]`]
  ] as const

it.layer(Database.layer)("A failed statement", (it) => {
  it.effect("contains no value, whatever the error of the statement", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`
      CREATE TABLE canaries (id integer PRIMARY KEY, word text UNIQUE CHECK (length(word) < 22), other integer NOT NULL DEFAULT 1)
    `
      yield* sql`CREATE TABLE followers (word text REFERENCES canaries (word))`
      yield* sql`INSERT INTO canaries (id, word) VALUES (1, ${canary})`
      for (const [name, statement] of failing(sql)) {
        const lines: Array<string> = []
        const logger = Logger.map(Logger.formatJson, (line) => void lines.push(line))
        const exit = yield* Effect.exit(statement)
        assert.isTrue(Exit.isFailure(exit), name)
        if (!Exit.isFailure(exit)) continue
        const error = Cause.squash(exit.cause)
        yield* Effect.logError("It failed", exit.cause, error).pipe(Effect.provide(Logger.layer([logger])))
        const told = [
          inspect(error, { depth: 20, showHidden: true }),
          JSON.stringify(error),
          Cause.pretty(exit.cause),
          ...lines
        ].join("\n")
        assert.notInclude(told, "canary-", name)
        assert.match(told, /[0-9A-Z]{5}/, name)
      }
    }))
})
