import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { checked } from "@messaging-crm/core/Codecs"
import { Cause, DateTime, Effect, Exit, Option, Schema, SchemaAST } from "effect"
import { fast, isDerived } from "../src/Codecs.ts"
import { converterOf, valuesConverterOf } from "../src/Derived.ts"

interface Tree {
  readonly children: ReadonlyArray<Tree>
}
const Tree: Schema.Codec<Tree> = Schema.Struct({
  children: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
})

const Shout = Schema.Struct({ kind: Schema.Literal("shout"), at: Schema.DateTimeUtcFromString })
const Murmur = Schema.Struct({ kind: Schema.Literal("murmur"), text: Schema.String })

afterEach(() => void vi.unstubAllGlobals())

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

  it("is not derived where code generation is forbidden", () => {
    vi.stubGlobal("Function", function() {
      throw new EvalError("Code generation from strings disallowed for this context")
    })
    assert.deepStrictEqual(converterOf(Shout.ast), Option.none())
    assert.deepStrictEqual(valuesConverterOf(Murmur.ast), Option.none())
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
      const exit = Effect.runSyncExit(fast.decode(schema)({ id: "1", shouts }))
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "[\"shouts\"]")
    }
  })

  it("of a suspended schema is the schema itself", () => {
    const own = Tree.make({ children: [{ children: [] }] })
    assert.isFalse(isDerived(Tree))
    for (const codecs of [fast, checked]) {
      assert.deepStrictEqual(Effect.runSync(codecs.decode(Tree)(own)), own)
      assert.deepStrictEqual(Effect.runSync(codecs.encode(Tree)(own)), own)
    }
  })
})

it.effect("an absent member of a union stays null or undefined", () =>
  Effect.gen(function*() {
    const { decode } = fast
    const schema = Schema.Struct({ at: Schema.NullishOr(Schema.DateTimeUtcFromString) })
    for (const own of [{ at: null }, { at: undefined }]) {
      assert.deepStrictEqual<unknown>(yield* decode(schema)(own), own)
    }
  }))
