import { assert, describe, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { Arbitrary, Effect, Option, Schema, Stream } from "effect"
import * as Csv from "../../src/cli/Csv.ts"

const chunks = (text: string, size: number): Stream.Stream<Uint8Array> => {
  const bytes = Buffer.from(text)
  return Stream.fromIterable(
    Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, index) => bytes.subarray(index * size, (index + 1) * size)
    )
  )
}

const read = (text: string, delimiter: Csv.Delimiter | null = null, size = 64) =>
  Stream.runCollect(Csv.rows(chunks(text, size), Option.fromNullishOr(delimiter)))

const int = (minimum: number, maximum: number) =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })))

/** Cells of which some hold what a delimiter, a quote or a line's end is made of. */
const cells = Arbitrary.array(
  Arbitrary.all({
    text: hardText({ min: 1, max: 8 }),
    end: Arbitrary.schema(Schema.Literals(["", ",", ";", "\t", "\"", "\n", "\r\n", "\r", " "]))
  }).pipe(Arbitrary.map(({ end, text }) => `a${end}${text}`)),
  { minLength: 3, maxLength: 3 }
)

const quoted = (cell: string): string => `"${cell.replaceAll("\"", "\"\"")}"`

describe("a CSV file", () => {
  it.effect.prop("is read as it was written, each row with its line, however its bytes arrive", {
    rows: Arbitrary.array(cells, { maxLength: 6 }),
    blanks: int(0, 2),
    delimiter: Arbitrary.schema(Schema.Literals([",", ";", "\t"])),
    end: Arbitrary.schema(Schema.Literals(["\n", "\r\n", "\r"])),
    bom: Arbitrary.schema(Schema.Literals(["", "\uFEFF"])),
    size: int(1, 9)
  }, ({ blanks, bom, delimiter, end, rows, size }) =>
    Effect.gen(function*() {
      const header = ["x", "y", "z"]
      const written = [header.join(delimiter), ...rows.map((row) => row.map(quoted).join(delimiter))]
      const text = written.join(end.repeat(blanks + 1))
      const found = yield* read(`${bom}${text}`, null, size)
      assert.deepStrictEqual(found.map((row) => row.cells), [header, ...rows])
      for (const [index, { line }] of found.entries()) {
        const before = written.slice(0, index).map((row) => `${row}${end.repeat(blanks + 1)}`).join("")
        // A line's end at the end of a cell may be half of a pair, so the ends are counted in what was written.
        assert.strictEqual(line, 1 + (before.match(/\r\n|\n|\r/g)?.length ?? 0))
      }
    }), { arbitrary: { runs: 300 } })

  it.effect("can have any line ends, and its blank lines count as lines and not as rows", () =>
    Effect.gen(function*() {
      const found = yield* read("a,b\n1,2\r\n\r\n , \n3,4\r5,\"\"\n,,\n")
      assert.deepStrictEqual(found.map(({ cells, line }) => [line, ...cells]), [
        [1, "a", "b"],
        [2, "1", "2"],
        [5, "3", "4"],
        [6, "5", ""]
      ])
    }))

  it.effect("can have quotes inside a cell, which stay in its value", () =>
    Effect.gen(function*() {
      const found = yield* read("a,b\n5\" wide,\"the \"best\" one\"\n1,2\n")
      assert.deepStrictEqual(found.map(({ cells }) => cells[0]), ["a", "5\" wide", "1"])
    }))

  it.effect("has the given delimiter, whatever its first line contains", () =>
    Effect.gen(function*() {
      const [header] = yield* read("a;b;c,d\n", "comma")
      assert.deepStrictEqual(header?.cells, ["a;b;c", "d"])
    }))

  it.effect("has no rows if it contains only blank lines", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* read(""), [])
      assert.deepStrictEqual(yield* read("\n\n"), [])
    }))

  it.effect("is rejected with the line of a quote that is not closed", () =>
    Effect.gen(function*() {
      const open = "a,b\n1,\"x\ny\"\n2,\"open\n3,4\n"
      assert.deepStrictEqual(yield* Effect.flip(read(open)), new Csv.RowEndless({ line: 4 }))
      const endless = `${open}${"5,6\n".repeat(300_000)}`
      assert.deepStrictEqual(yield* Effect.flip(read(endless, null, 65_536)), new Csv.RowEndless({ line: 4 }))
    }))

  it.effect("can have cells as long as the longest value of a contact", () =>
    Effect.gen(function*() {
      const long = "é\n".repeat(50_000)
      const found = yield* read(`a,b\n"${long}",1\n2,3\n`, null, 65_536)
      assert.deepStrictEqual(found.map(({ cells }) => cells), [["a", "b"], [long, "1"], ["2", "3"]])
      assert.strictEqual(found[2]?.line, 50_003)
    }))
})
