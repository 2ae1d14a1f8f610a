import { assert, describe, it } from "@effect/vitest"
import { decoder, encoder } from "@messaging-crm/core/Codecs"
import { ContactExport } from "@messaging-crm/core/PersonalData"
import { DateTime, Option, Schema, SchemaAST } from "effect"
import { converterOf, valuesConverterOf } from "../../src/kernel/Codecs.ts"

interface Tree {
  readonly children: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
})

const Shout = Schema.Struct({ kind: Schema.Literal("shout"), at: Schema.DateTimeUtcFromString })
const Murmur = Schema.Struct({ kind: Schema.Literal("murmur"), text: Schema.String })

describe("a codec", () => {
  const supported = {
    "a struct": [Shout, { kind: "shout", at: "2026-11-20T12:00:00.000Z" }],
    "a list": [Schema.Array(Shout), [{ kind: "shout", at: "2026-11-20T12:00:00.000Z" }]],
    "a record": [Schema.Record(Schema.String, Schema.DateTimeUtcFromString), { noon: "2026-11-20T12:00:00.000Z" }],
    "null or a value": [Schema.NullOr(Shout), null],
    "objects with a tag": [Schema.Union([Shout, Murmur]), { kind: "murmur", text: "…" }]
  } as const
  for (const [name, [schema, encoded]] of Object.entries(supported)) {
    it(`of ${name} is derived, and decodes as the schema does`, () => {
      const decode = Option.getOrThrow(converterOf(schema.ast))
      assert.deepStrictEqual(decode(encoded), Schema.decodeUnknownSync(schema as Schema.Codec<unknown>)(encoded))
    })
  }

  const unsupported = {
    "a suspended schema": Tree,
    "a tuple": Schema.Tuple([Schema.DateTimeUtcFromString]),
    "objects without a tag": Schema.Union([Schema.Struct({ at: Schema.DateTimeUtcFromString }), Murmur]),
    "a field named __proto__": Schema.Struct({ ["__proto__"]: Schema.String }),
    "a struct with other keys": Schema.StructWithRest(Shout, [Schema.Record(Schema.String, Schema.String)])
  }
  for (const [name, schema] of Object.entries(unsupported)) {
    it(`of ${name} is not derived`, () => assert.deepStrictEqual(converterOf(schema.ast), Option.none()))
  }

  it("of a part that only a later version of Effect has is not derived", () => {
    // No version of Effect has this tag, so the type does not allow it.
    const future = { ...Schema.String.ast, _tag: "Whatever" } as unknown as SchemaAST.AST
    assert.deepStrictEqual(converterOf(future), Option.none())
    assert.deepStrictEqual(converterOf(new SchemaAST.Union([Schema.Null.ast, future], {})), Option.none())
  })

  it("of a flipped schema is derived, and encodes as the schema does", () => {
    const schema = Schema.Union([Shout, Murmur])
    const encode = Option.getOrThrow(converterOf(SchemaAST.flip(schema.ast)))
    const shout = { kind: "shout", at: DateTime.makeUnsafe("2026-11-20T12:00:00.000Z") } as const
    assert.deepStrictEqual(encode(shout), Schema.encodeSync(schema)(shout))
  })

  it("of objects with a tag leaves one with an unknown tag as it is", () => {
    const decode = Option.getOrThrow(converterOf(Schema.Array(Schema.NullOr(Schema.Union([Shout, Murmur]))).ast))
    const fromNewerVersion = { kind: "whistle", at: "2026-11-20T12:00:00.000Z" }
    assert.deepStrictEqual(decode([fromNewerVersion, null]), [fromNewerVersion, null])
  })

  it("by position is derived only of a struct whose fields are all required", () => {
    const decode = Option.getOrThrow(valuesConverterOf(Murmur.ast))
    assert.deepStrictEqual(decode(["murmur", "…"]), { kind: "murmur", text: "…" })
    const optional = Schema.Struct({ text: Schema.optionalKey(Schema.String) })
    for (const { ast } of [optional, Schema.NullOr(Murmur)]) {
      assert.deepStrictEqual(valuesConverterOf(ast), Option.none())
    }
  })

  it("names the field of a value that it cannot convert", () => {
    const schema = Schema.Struct({ id: Schema.String, shouts: Schema.Array(Shout) })
    for (const shouts of [null, [null]]) {
      assert.throws(() => decoder(schema)({ id: "1", shouts }), /\["shouts"\]/)
    }
  })

  it("of a schema that is not supported fails on its first use", () => {
    for (const codec of [decoder(Tree), encoder(Tree)]) {
      assert.throws(() => codec({ children: [] }), /No codec can be derived/)
    }
  })
})

it("an absent member of a union stays null or undefined", () => {
  const decode = decoder(Schema.Struct({ at: Schema.NullishOr(Schema.DateTimeUtcFromString) }))
  for (const own of [{ at: null }, { at: undefined }]) assert.deepStrictEqual<unknown>(decode(own), own)
})

it("every part of a contact's export has a codec", () => {
  assert.isTrue(Option.isSome(converterOf(SchemaAST.flip(ContactExport.ast))))
})
