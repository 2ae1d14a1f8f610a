/** The tables of the database, compared with core's declarations. */
import { assert, layer } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { ChannelType, networkOf, started_type } from "@messaging-crm/core/Channels"
import { tables } from "@messaging-crm/core/Tables"
import { Config, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { typesOf } from "./LockScene.ts"

const database = Migrations.layer.pipe(
  Layer.provideMerge(Layer.unwrap(Effect.map(Config.Redacted("TEST_DATABASE_URL"), (url) => Client.layer({ url }))))
)

layer(database, { timeout: "5 minutes" })("the database", (it) => {
  for (const table of Object.values(tables)) {
    const { columns, key, name, owner, unique } = table
    it.effect(`has the columns and unique keys of ${name}, as core declares them`, () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const types = yield* typesOf(table)
        for (const [column, type] of Object.entries({ [owner]: "uuid", ...key })) {
          assert.strictEqual(types.get(column), type, `${name}.${column}`)
        }
        assert.includeMembers(Array.from(types.keys()), [...columns], name)
        const indexes = yield* sql<{ readonly keys: ReadonlyArray<string>; readonly condition: string | null }>`
          SELECT
            array(
              SELECT attname::text
              FROM unnest(index.indkey) AS place JOIN pg_attribute ON attrelid = index.indrelid AND attnum = place
              ORDER BY attname
            ) AS keys,
            pg_get_expr(index.indpred, index.indrelid) AS condition
          FROM pg_index index
          WHERE index.indrelid = ${name}::regclass AND index.indisunique
        `
        const isUnique = (names: ReadonlyArray<string>, condition: string | null) =>
          indexes.some((index) =>
            index.keys.join() === Array.from(new Set(names)).toSorted().join() && index.condition === condition
          )
        assert.isTrue(isUnique([owner, ...Object.keys(key)], null), `the key of ${name}`)
        if (unique === null) return
        const names = unique.within === "organization" ? [owner, ...unique.columns] : unique.columns
        const condition = unique.while_null === undefined ? null : `(${unique.while_null} IS NULL)`
        assert.isTrue(isUnique(names, condition), `the unique columns of ${name}`)
      }))
  }

  it.effect("accepts every type of channel", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const checks = yield* sql<{ readonly text: string }>`
        SELECT pg_get_constraintdef(oid) AS text
        FROM pg_constraint
        WHERE contype = 'c' AND connamespace = current_schema()::regnamespace
          AND pg_get_constraintdef(oid) LIKE ${`%ANY%${started_type}%`}
      `
      assert.lengthOf(checks, 2)
      for (const { text } of checks) {
        assert.sameMembers(Array.from(text.matchAll(/'(\w+)'/g), ([, type]) => type), [...ChannelType.literals])
      }
    }))

  it.effect("has a business account for each type of channel with templates", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const [check] = yield* sql<{ readonly text: string }>`
        SELECT pg_get_constraintdef(oid) AS text
        FROM pg_constraint
        WHERE contype = 'c' AND conrelid = 'channels'::regclass AND pg_get_constraintdef(oid) LIKE '%(type = %'
          AND pg_get_constraintdef(oid) LIKE '%business_account_id IS NOT NULL%'
      `
      assert.sameMembers(
        Array.from(check?.text.matchAll(/'(\w+)'/g) ?? [], ([, type]) => type),
        ChannelType.literals.filter((type) => networkOf(type).has_templates)
      )
    }))

  it.effect("names no type of channel in a function", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const named = ChannelType.literals.map((type) => `%'${type}'%`)
      const functions = yield* sql`
        SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND prosrc LIKE ANY(${named}::text[])
      `
      assert.isEmpty(functions)
    }))

  it.effect("loses no table but the counters of keys in a crash", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const unlogged = yield* sql<{ readonly name: string }>`
        SELECT relname AS name
        FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relpersistence <> 'p'
      `
      assert.deepStrictEqual(unlogged, [{ name: "api_key_windows" }])
    }))
})
