import { assert, describe, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { OrganizationId } from "@messaging-crm/core/Ids"
import { type CursorInvalid, Cursors, fitting, type Found, type Position, withoutStop } from "@messaging-crm/core/Page"
import { RootKeys, Secrets } from "@messaging-crm/core/Secrets"
import { Arbitrary, DateTime, Effect, Layer, Redacted, Schema } from "effect"

const ours = OrganizationId.make("01990000-0000-7000-8000-000000000001")
const theirs = OrganizationId.make("01990000-0000-7000-8000-000000000002")

const as = (organization_id: OrganizationId) =>
  Effect.provideService(CurrentActor, { organization_id, member_id: null })

const cursors = Cursors.layer.pipe(Layer.provide(Secrets.layer))

/** Rows from the newest to the oldest, two of each moment. */
const rows = Array.from({ length: 9 }, (_, index): Position => ({
  at: DateTime.makeUnsafe(1_000_000 - 7 * Math.floor(index / 2)),
  id: `row-${index}`
}))

interface Request {
  readonly cursor: string | null
  readonly size?: number
  readonly list?: string
  readonly filters?: Readonly<Record<string, unknown>>
  /** Finds rows for a page among those that follow the cursor. */
  readonly search?: (following: ReadonlyArray<Position>, size: number) => Found<Position>
}

const page = ({
  cursor,
  filters = { status: "open", query: null },
  list = "rows",
  search = (following, size) => withoutStop(following.slice(0, size)),
  size = 4
}: Request) =>
  Cursors.use((service) =>
    service.page({
      list,
      filters,
      cursor,
      size,
      fetch: ({ after, size }) => {
        const start = after === null ? 0 : rows.findIndex(({ id }) => id === after.id) + 1
        return Effect.succeed(search(rows.slice(start), size))
      },
      position: (row) => row
    })
  )

const cursorOf = Effect.fnUntraced(function*(request: Omit<Request, "cursor"> = {}) {
  const { next_cursor } = yield* page({ ...request, cursor: null })
  return next_cursor ?? assert.fail("The first page is the last.")
})

const isRejected = (request: Request) =>
  Effect.match(page(request), { onFailure: (error) => error._tag === "CursorInvalid", onSuccess: () => false })

/** Returns the first rows of texts of some lengths, and where the page ends. */
const fit = (...lengths: ReadonlyArray<number>) => {
  const { rows: fitted, stopped_at } = fitting(
    lengths.map((length, index) => ({ length, id: `row-${index}` })),
    ({ length }) => length,
    ({ id }) => ({ at: DateTime.makeUnsafe(0), id })
  )
  return [fitted.length, stopped_at?.id ?? null]
}

it("a page ends before its long texts exceed a million bytes, but has one row", () => {
  assert.deepStrictEqual(fit(), [0, null])
  assert.deepStrictEqual(fit(1_000_000), [1, null])
  assert.deepStrictEqual(fit(5_000_000), [1, null])
  assert.deepStrictEqual(fit(5_000_000, 0), [1, "row-0"])
  assert.deepStrictEqual(fit(500_000, 500_000), [2, null])
  assert.deepStrictEqual(fit(500_000, 500_000, 0), [3, null])
  assert.deepStrictEqual(fit(500_000, 500_000, 1), [2, "row-1"])
  assert.deepStrictEqual(fit(1, 5_000_000, 1), [1, "row-0"])
})

it.effect.prop("a page ends where the store stopped, even without rows; the walk misses none", {
  matching: Arbitrary.array(Arbitrary.schema(Schema.Boolean), { minLength: rows.length, maxLength: rows.length }),
  read_max: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: rows.length + 1 })),
  size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: rows.length }))
}, ({ matching, read_max, size }) =>
  Effect.gen(function*() {
    const isMatch = (row: Position) => matching[rows.indexOf(row)] === true
    const walked: Array<Position> = []
    let cursor: string | null = null
    do {
      const { data, next_cursor }: { data: ReadonlyArray<Position>; next_cursor: string | null } = yield* page({
        cursor,
        size,
        search: (following, wanted) => {
          const read = following.slice(0, read_max)
          const found = read.filter(isMatch).slice(0, wanted)
          const stopped = found.length < wanted && read.length < following.length
          return { rows: found, stopped_at: stopped ? read.at(-1) ?? null : null }
        }
      })
      assert.isAtMost(data.length, size)
      walked.push(...data)
      cursor = next_cursor
    } while (cursor !== null)
    assert.deepStrictEqual(walked, rows.filter(isMatch))
  }).pipe(as(ours), Effect.provide(cursors)))

describe("a cursor", () => {
  it.effect.prop("pages through a list without gap or duplicate, and is null on the last page", {
    size: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 }))
  }, ({ size }) =>
    Effect.gen(function*() {
      const walked: Array<Position> = []
      let cursor: string | null = null
      for (let pages = 0; pages < Math.ceil(rows.length / size); pages++) {
        const { data, next_cursor }: { data: ReadonlyArray<Position>; next_cursor: string | null } = yield* page({
          cursor,
          size
        })
        assert.isAtMost(data.length, size)
        walked.push(...data)
        cursor = next_cursor
      }
      assert.isNull(cursor)
      assert.deepStrictEqual(walked, rows)
    }).pipe(as(ours), Effect.provide(cursors)))

  it.effect("is accepted with the filters that it was issued for, in any order, and any page size", () =>
    Effect.gen(function*() {
      const cursor = yield* cursorOf()
      const { data } = yield* page({ cursor, size: 2, filters: { query: null, status: "open" } })
      assert.deepStrictEqual(data, rows.slice(4, 6))
    }).pipe(as(ours), Effect.provide(cursors)))

  it.effect("is rejected for another list, organization or filter", () =>
    Effect.gen(function*() {
      const cursor = yield* cursorOf()
      assert.isTrue(yield* isRejected({ cursor, list: "others" }))
      assert.isTrue(yield* as(theirs)(isRejected({ cursor })))
      for (const filters of [{}, { status: "open", query: "" }, { status: "closed", query: null }]) {
        assert.isTrue(yield* isRejected({ cursor, filters }))
      }
    }).pipe(as(ours), Effect.provide(cursors)))

  it.effect("is accepted by a version that has more filters, or fewer, if these do not filter", () =>
    Effect.gen(function*() {
      const cursor = yield* cursorOf()
      for (const filters of [{ status: "open" }, { status: "open", query: null, owner: null }]) {
        assert.isFalse(yield* isRejected({ cursor, filters }))
      }
    }).pipe(as(ours), Effect.provide(cursors)))

  it.effect.prop("is rejected when any of its characters is changed", {
    index: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })),
    character: Arbitrary.schema(Schema.Literals(["A", "b", "0", "-", "_", ".", "=", "\u00E9"]))
  }, ({ character, index }) =>
    Effect.gen(function*() {
      const cursor = yield* cursorOf()
      const position = index % cursor.length
      const forged = `${cursor.slice(0, position)}${character}${cursor.slice(position + 1)}`
      if (forged !== cursor) assert.isTrue(yield* isRejected({ cursor: forged }))
      assert.isFalse(yield* isRejected({ cursor }))
    }).pipe(as(ours), Effect.provide(cursors)))

  it.effect("is rejected when it is malformed", () =>
    Effect.gen(function*() {
      const cursor = yield* cursorOf()
      for (const nonsense of ["", ".", "..", "null", "\u0000", cursor.slice(1), `${cursor}.`, `${cursor}${cursor}`]) {
        assert.isTrue(yield* isRejected({ cursor: nonsense }), nonsense)
      }
    }).pipe(as(ours), Effect.provide(cursors)))

  it.effect("of another order returns its position, to the list and organization that it was issued for", () =>
    Effect.gen(function*() {
      const { issue, read } = yield* Cursors
      const of = { list: "rows", filters: {} }
      const cursor = yield* issue(of, ["7", "row-1"])
      const position = Schema.Tuple([Schema.NumberFromString, Schema.String])
      assert.deepStrictEqual(yield* read(of, position, cursor), [7, "row-1"])
      const readings: ReadonlyArray<Effect.Effect<unknown, CursorInvalid, CurrentActor>> = [
        read({ ...of, list: "others" }, position, cursor),
        as(theirs)(read(of, position, cursor)),
        read(of, Schema.Tuple([Schema.String]), cursor)
      ]
      for (const reading of readings) assert.strictEqual((yield* Effect.flip(reading))._tag, "CursorInvalid")
    }).pipe(as(ours), Effect.provide(cursors)))

  it.effect("is rejected if its signed content is not that of a cursor", () =>
    Effect.gen(function*() {
      const secrets = yield* Secrets
      for (const content of ["", "no JSON", "{}", "[]", "[\"rows\"]", "[1,2,3]"]) {
        const body = Schema.encodeSync(Schema.StringFromBase64Url)(content)
        assert.isTrue(yield* isRejected({ cursor: `${body}.${yield* secrets.sign("cursor", body)}` }), content)
      }
    }).pipe(as(ours), Effect.provide(Layer.provideMerge(Cursors.layer, Secrets.layer))))

  it.effect("is valid as long as its root key is configured", () =>
    Effect.gen(function*() {
      const [old, young] = [Redacted.make(new Uint8Array(32).fill(1)), Redacted.make(new Uint8Array(32).fill(2))]
      const under = (keys: ReadonlyArray<typeof old>) =>
        Effect.provide(
          Layer.fresh(cursors).pipe(
            Layer.provide(Layer.succeed(RootKeys, keys))
          )
        )
      const cursor = yield* under([old])(cursorOf())
      assert.isFalse(yield* under([young, old])(isRejected({ cursor })))
      assert.isTrue(yield* under([young])(isRejected({ cursor })))
    }).pipe(as(ours)))
})
