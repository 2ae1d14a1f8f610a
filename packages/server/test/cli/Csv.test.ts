import { assert, describe, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { Arbitrary, Effect, Option, Schema, Stream } from "effect"
import * as Csv from "../../src/cli/Csv.ts"

const chunks = (text: string | Uint8Array, size: number): Stream.Stream<Uint8Array> => {
  const bytes = typeof text === "string" ? Buffer.from(text) : text
  return Stream.fromIterable(
    Array.from(
      { length: Math.ceil(bytes.length / size) },
      (_, index) => bytes.subarray(index * size, (index + 1) * size)
    )
  )
}

const open = (text: string | Uint8Array, delimiter: Csv.Delimiter | null = null, size = 64) =>
  Csv.open(chunks(text, size), Option.fromNullishOr(delimiter))

const read = (text: string | Uint8Array, delimiter: Csv.Delimiter | null = null, size = 64) =>
  Effect.scoped(Effect.flatMap(open(text, delimiter, size), ({ rows }) => Stream.runCollect(rows)))

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
    delimiter: Arbitrary.schema(Schema.Literals([",", ";", "\t", "|"])),
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

  it.effect.each(
    ["sep=;", "SEP=;", "\"sep=;\"", "\uFEFFsep=;", "sep=;;;;"].flatMap((first) =>
      ["\r\n", "\n", "\r"].map((end) => [first, end] as const)
    )
  )(
    "has the delimiter that its first line names, as in %j and %j",
    ([first, end]) =>
      Effect.gen(function*() {
        const rows = ["first_name;notes", "Ann;a,b,c", "Bob;d"]
        for (const size of [1, 2, 3, 64]) {
          const found = yield* read([first, ...rows, ""].join(end), null, size)
          assert.deepStrictEqual(found.map(({ cells, line }) => [line, ...cells]), [
            [2, "first_name", "notes"],
            [3, "Ann", "a,b,c"],
            [4, "Bob", "d"]
          ])
        }
      })
  )

  it.effect("can have any delimiter that its first line names", () =>
    Effect.gen(function*() {
      for (const [named, delimiter] of [["|", "|"], ["\t", "\t"], ["\\t", "\t"], [",", ","]] as const) {
        const found = yield* read(`sep=${named}\na;x${delimiter}b;y\n1${delimiter}2\n`)
        assert.deepStrictEqual(found.map(({ cells }) => cells), [["a;x", "b;y"], ["1", "2"]])
      }
    }))

  it.effect.prop("can be in UTF-16 with a byte order mark", {
    rows: Arbitrary.array(cells, { minLength: 1, maxLength: 6 }),
    isBigEndian: Arbitrary.schema(Schema.Boolean),
    size: int(1, 9)
  }, ({ isBigEndian, rows, size }) =>
    Effect.gen(function*() {
      const text = [["x", "y", "z"], ...rows].map((row) => row.map(quoted).join("\t")).join("\r\n")
      const little = Buffer.from(`\uFEFF${text}`, "utf16le")
      const found = yield* read(isBigEndian ? little.swap16() : little, null, size)
      // A lone surrogate cannot be in UTF-16, as it cannot be in UTF-8.
      assert.deepStrictEqual(
        found.map((row) => row.cells),
        [["x", "y", "z"], ...rows.map((row) => row.map((cell) => cell.toWellFormed()))]
      )
    }))

  it.effect("has its delimiter outside of quoted names, after blank lines too", () =>
    Effect.gen(function*() {
      const found = yield* read("\n  \n\"a, b, c\";x\n1;2\n")
      assert.deepStrictEqual(found.map(({ cells, line }) => [line, ...cells]), [[3, "a, b, c", "x"], [4, "1", "2"]])
    }))

  it.effect.prop("is written so that it is read again", {
    rows: Arbitrary.array(cells, { minLength: 1, maxLength: 6 }),
    header: Arbitrary.schema(Schema.Literals(["x;y;z", "\"x\";\"y\";\"z\"", "\uFEFFx\ty\tz", "sep=;\nx;y;z", "x,y,z"])),
    end: Arbitrary.schema(Schema.Literals(["\n", "\r\n", "\r"]))
  }, ({ end, header, rows }) =>
    Effect.gen(function*() {
      const { format } = yield* Effect.scoped(open(`${header}${end}1`))
      const text = [["x", "y", "z"], ...rows].map((row) => Csv.written(format, row)).join("")
      assert.isTrue(`${format.opening}${text}`.startsWith(`${header}${end}`))
      const found = yield* read(`${format.opening}${text}`)
      assert.deepStrictEqual(found.map((row) => row.cells), [["x", "y", "z"], ...rows])
    }))

  it("is written with quotes where a program would read a cell otherwise", () => {
    const format = { opening: "", delimiter: ";", quotes_all: false, line_end: "\n" }
    const cells = ["a b", " a", "a ", "a;b", "a\nb", "a\rb", "a\"b"]
    assert.strictEqual(Csv.written(format, cells), `a b;" a";"a ";"a;b";"a\nb";"a\rb";"a""b"\n`)
  })

  it.effect("has no rows if it contains only blank lines", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* read(""), [])
      assert.deepStrictEqual(yield* read("\n\n"), [])
      assert.deepStrictEqual(yield* read("sep=;\n"), [])
      assert.deepStrictEqual(yield* read("\r".repeat(100_000)), [])
      assert.deepStrictEqual(yield* read(" ".repeat(100_000)), [])
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
