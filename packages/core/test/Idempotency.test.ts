import { assert, describe, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { CurrentActor } from "@messaging-crm/core/Actor"
import type { Changes, RecordedResponse } from "@messaging-crm/core/Changes"
import { Commit, KeyUsed, Unconfirmed } from "@messaging-crm/core/Commit"
import {
  canonicalJson,
  type EncodedResponse,
  Idempotency,
  IdempotencyKey,
  IdempotencyStore,
  key_pattern,
  parseKey,
  RequestProcessing
} from "@messaging-crm/core/Idempotency"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { Secrets } from "@messaging-crm/core/Secrets"
import { StorageExhausted, StorageUse } from "@messaging-crm/core/StorageUse"
import { Arbitrary, Cause, DateTime, Duration, Effect, Exit, Layer, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as RecordedResponses from "../src/work/RecordedResponses.ts"

const { idempotency_key_chars_max: max, idempotency_key_chars_min: min } = limits

const character = Arbitrary.schema(
  Schema.Literals(["\t", " ", "!", "\"", "\\", "a", "~", "\u007F", "\u00E9", "\u00A0"])
)

/** Arbitrary header values that an HTTP parser accepts, printable or not. Many are slightly too short or too long. */
const header = Arbitrary.array(character, { maxLength: 12 }).pipe(
  Arbitrary.map((characters) => characters.join("")),
  Arbitrary.flatMap((start) =>
    Arbitrary.map(Arbitrary.schema(Schema.Literals([0, 1, 185, 190, 195])), (more) => start + "x".repeat(more))
  )
)

describe("an idempotency key", () => {
  it("is 8 to 200 characters, taken literally: spaces inside and quotes belong to it", () => {
    for (
      const key of [
        "order 4711 99",
        "x".repeat(min),
        "x".repeat(max),
        `${"x".repeat(max - 2)} x`,
        "{\"a\":\"b\"}",
        "\"order-4711\"",
        "\"123456\"",
        "\"\\\"12345"
      ]
    ) {
      assert.deepStrictEqual(parseKey(key) as Option.Option<string>, Option.some(key))
    }
    for (
      const key of ["x".repeat(min - 1), "x".repeat(max + 1), `${"x".repeat(min - 1)} `, "", `"${"x".repeat(max - 1)}"`]
    ) {
      assert.isTrue(Option.isNone(parseKey(key)), key)
    }
  })

  it.prop("is what the documented pattern and lengths say, whatever a header holds", { header }, ({ header }) => {
    const fits = header.length >= min && header.length <= max && key_pattern.test(header)
    assert.strictEqual(Option.isSome(parseKey(header)), fits)
  })

  it("of any length is rejected at once", () => {
    for (const text of [`a${" ".repeat(16_000)}a`, `a${" ".repeat(16_000)}`, `"${"\\\\".repeat(8000)}`]) {
      for (let times = 0; times < 1000; times++) assert.isTrue(Option.isNone(parseKey(text)))
    }
  })
})

describe("canonical JSON", () => {
  it.prop("is the JSON of the value, whatever the order of its members", {
    entries: Arbitrary.array(
      Arbitrary.all({ key: hardText({ min: 0, max: 4 }), value: Arbitrary.schema(Schema.Json) }),
      { maxLength: 4 }
    )
  }, ({ entries }) => {
    const unique = [...new Map(entries.map(({ key, value }) => [key, value]))]
    const value = Object.fromEntries([...unique, ["nested", [null, Object.fromEntries(unique), 1, "x"]]])
    const reordered = Object.fromEntries(Object.entries(value).toReversed())
    const text = JSON.stringify(value)
    // `JSON.parse` of Node 26.10 takes an escaped name of a member for another one that it has read before.
    if (!text.includes("\\")) assert.deepStrictEqual<unknown>(JSON.parse(canonicalJson(value)), JSON.parse(text))
    assert.strictEqual(canonicalJson(reordered), canonicalJson(value))
  })

  it("sorts members by their code units, has no white space, and tells absent from null", () => {
    assert.strictEqual(
      canonicalJson({ b: [1, "a b", true], B: null, a: { d: 1, c: -0.5 }, absent: {} }),
      "{\"B\":null,\"a\":{\"c\":-0.5,\"d\":1},\"absent\":{},\"b\":[1,\"a b\",true]}"
    )
    assert.strictEqual(canonicalJson(undefined), "")
  })

  it("gives requests that differ only in JSON formatting the same fingerprint", () => {
    assert.strictEqual(
      canonicalJson({ b: [1, { d: null, c: "x" }], a: true }),
      "{\"a\":true,\"b\":[1,{\"c\":\"x\",\"d\":null}]}"
    )
    assert.notStrictEqual(canonicalJson({ a: null }), canonicalJson({}))
    assert.notStrictEqual(canonicalJson([1, 2]), canonicalJson([2, 1]))
    assert.strictEqual(canonicalJson(JSON.parse("{\"__proto__\":1}")), "{\"__proto__\":1}")
  })
})

const ours = OrganizationId.make("01990000-0000-7000-8000-000000000001")
const theirs = OrganizationId.make("01990000-0000-7000-8000-000000000002")
const key = IdempotencyKey.make("order-4711")
const request = { key, fingerprint: "f".repeat(64), request_id: "r-1" }
const rejection: EncodedResponse = { status: 400, body: "{\"error\":{}}" }

/** Returns an idempotency service over scripted commits and records, and the lists of its commits, counts, and purges. */
const scene = (commits: "apply" | "find the key used", ...found: ReadonlyArray<RecordedResponse>) => {
  const committed: Array<Changes> = []
  const counted: Array<readonly [OrganizationId, number, number]> = []
  const purged: Array<readonly [number, number]> = []
  const records = [...found]
  const state = { is_exhausted: false }
  let looked = 0
  const outside = Layer.mergeAll(
    Secrets.layer,
    Layer.succeed(Commit, {
      commit: (_organization_id, changes) =>
        commits === "apply" ? Effect.as(Effect.sync(() => committed.push(changes)), []) : Effect.fail(new KeyUsed())
    }),
    Layer.succeed(IdempotencyStore, {
      // The first lookup comes before the other request's commit.
      find: () => Effect.sync(() => looked++ === 0 ? Option.none() : Option.fromUndefinedOr(records.shift())),
      purge: (before, limit) => Effect.sync(() => purged.push([before.epochMilliseconds, limit]))
    }),
    Layer.succeed(
      StorageUse,
      StorageUse.of({
        count: (organization_id, stored) =>
          Effect.sync(() => {
            for (const { age_max, bytes } of stored) counted.push([organization_id, bytes, Duration.toHours(age_max)])
          }),
        require: () =>
          Effect.suspend(() => state.is_exhausted ? Effect.fail(new StorageExhausted({ limit: 9 })) : Effect.void),
        purge: Effect.succeed(0)
      })
    )
  )
  return { committed, counted, purged, outside, state, layer: Idempotency.layer.pipe(Layer.provide(outside)) }
}

const asOurs = Effect.provideService(CurrentActor, { organization_id: ours, member_id: null })

const reject = Effect.suspend(() =>
  Idempotency.use((idempotency) => idempotency.once(request, () => Effect.succeed(rejection)))
).pipe(asOurs)

const record: RecordedResponse = {
  ...request,
  status: 400,
  body: rejection.body,
  sealed: false,
  created_at: DateTime.makeUnsafe(7)
}

describe("a response of 400 or above", () => {
  it.effect("is recorded alone, in plain, with the time", () => {
    const { committed, counted, layer } = scene("apply")
    return Effect.gen(function*() {
      yield* TestClock.setTime(7)
      assert.deepStrictEqual(yield* reject, { ...rejection, request_id: "r-1", replayed: false })
      assert.deepStrictEqual(committed, [{ response: record }])
      assert.deepStrictEqual(counted, [[ours, 262, 72]])
    }).pipe(Effect.provide(layer))
  })

  it.effect("is not recorded while the storage budget is used up, and a retry runs again", () => {
    const { committed, layer, state } = scene("apply")
    return Effect.gen(function*() {
      state.is_exhausted = true
      assert.instanceOf(yield* Effect.flip(reject), StorageExhausted)
      assert.deepStrictEqual(committed, [])
      state.is_exhausted = false
      assert.isFalse((yield* reject).replayed)
    }).pipe(Effect.provide(layer))
  })

  it.effect("gives way to that of another request that committed meanwhile", () => {
    const other = { ...record, request_id: "r-0", status: 404, body: "{}" }
    const { counted, layer } = scene("find the key used", other)
    return Effect.gen(function*() {
      assert.deepStrictEqual(yield* reject, { status: 404, body: other.body, request_id: "r-0", replayed: true })
      assert.deepStrictEqual(counted, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("has no outcome while that of another request with its key is unknown", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.flip(reject)
      assert.strictEqual(exit._tag, "RequestProcessing")
    }).pipe(Effect.provide(scene("find the key used").layer)))
})

describe("a failure that leaves no record", () => {
  /** The failure of a request whose operation dies. */
  const failureAfter = (defect: unknown) =>
    Idempotency.use((idempotency) => idempotency.once(request, () => Effect.die(defect))).pipe(
      asOurs,
      Effect.sandbox,
      Effect.flip,
      Effect.map(Cause.squash),
      Effect.provide(scene("apply").layer)
    )

  for (const failure of [new KeyUsed(), new Unconfirmed()]) {
    it.effect(`has no outcome yet if it is ${failure._tag}`, () =>
      Effect.gen(function*() {
        assert.instanceOf(yield* failureAfter(failure), RequestProcessing)
      }))
  }

  it.effect("stays as it is if it leaves no doubt", () =>
    Effect.gen(function*() {
      const defect = new Error("broken")
      assert.strictEqual(yield* failureAfter(defect), defect)
    }))
})

it.effect("records are deleted 72 hours later, 5,000 at a time", () => {
  const { layer, purged } = scene("apply")
  return Effect.gen(function*() {
    yield* TestClock.setTime(Duration.toMillis("100 hours"))
    yield* Idempotency.use(({ purge }) => purge)
    assert.deepStrictEqual(purged, [[Duration.toMillis("28 hours"), 5000]])
  }).pipe(Effect.provide(layer))
})

describe("a recorded response", () => {
  const made = (response: EncodedResponse | null, is_secret: boolean) =>
    Effect.flatMap(
      RecordedResponses.make,
      ({ toRecord }) => toRecord(ours, request, response, { is_secret, created_at: DateTime.makeUnsafe(7) })
    )

  it.effect("of a secret is encrypted for its organization and key alone", () =>
    Effect.gen(function*() {
      const { body, sealed } = yield* made({ status: 200, body: "whsec_" }, true)
      if (body === null) return assert.fail("The response has no body.")
      assert.isTrue(sealed)
      assert.notInclude(body, "whsec_")
      const { open } = yield* RecordedResponses.make
      assert.strictEqual(yield* open(ours, key, { body, sealed }), "whsec_")
      for (const [organization, other] of [[theirs, key], [ours, IdempotencyKey.make("order-4712")]] as const) {
        const exit = yield* Effect.exit(open(organization, other, { body, sealed }))
        assert.include(
          Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "",
          "No key in SECRET_KEY (RootKeys if the core is embedded) decrypts"
        )
      }
    }).pipe(Effect.provide(scene("apply").outside)))

  it.effect("of a request of several commits that has begun has neither status nor body, secret or not", () =>
    Effect.gen(function*() {
      for (const is_secret of [true, false]) {
        assert.deepInclude(yield* made(null, is_secret), { status: null, body: null, sealed: false })
      }
    }).pipe(Effect.provide(scene("apply").outside)))
})
