import { PgTypes } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Arbitrary, Config, DateTime, Effect, Layer, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Types from "../src/database/Client/Types.ts"

const timestamptz = 1184
const types = Types.make()

const client = Layer.unwrap(Effect.map(Config.Redacted("TEST_DATABASE_URL"), (url) => Client.layer({ url })))

/** Microseconds since 2000 of the times that a `Date` and PostgreSQL both hold: from 4713 BC to 275760. */
const micros = Arbitrary.schema(
  Schema.Int.check(Schema.isBetween({ minimum: -211_813_488_000_000, maximum: 8_639_053_315_199_999 }))
).pipe(Arbitrary.map((millis) => BigInt(millis) * 1000n))

const bytesOf = (micros: bigint): Uint8Array => {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigInt64(0, micros)
  return bytes
}

it.prop("reads a time as the driver does, but as core's", { micros }, ({ micros }) => {
  for (const each of [micros, micros / 10_000_000n * 1000n, 0n, 1000n, -1000n]) {
    const bytes = bytesOf(each)
    const theirs = Result.getOrThrow(PgTypes.decode(bytes, timestamptz, 1)) as Date
    assert.deepStrictEqual(
      Result.getOrThrow(PgTypes.decode(bytes, timestamptz, 1, types)),
      DateTime.fromDateUnsafe(theirs)
    )
    assert.deepStrictEqual(
      PgTypes.encode(theirs, timestamptz, types),
      PgTypes.encode(theirs, timestamptz)
    )
  }
})

it.prop("leaves out the part of a time that is less than a millisecond", {
  micros,
  part: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999 })))
}, ({ micros, part }) => {
  const read = (at: bigint) => Result.getOrThrow(PgTypes.decode(bytesOf(at), timestamptz, 1, types))
  assert.deepStrictEqual(read(micros + BigInt(part)), read(micros))
})

it.effect("times, lists of times and what is no time come from PostgreSQL as what was sent", () =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const at = DateTime.makeUnsafe("2026-11-23T01:02:03.456Z")
    const [row] = yield* sql`
      SELECT at, ARRAY[at, NULL] AS list, NULL::timestamptz AS none
      FROM (SELECT ${DateTime.toDateUtc(at)}::timestamptz AS at) given
    `
    assert.deepStrictEqual(row, { at, list: [at, null], none: null })
  }).pipe(Effect.provide(client)))
