/** The times of a network, each as it can be written. */
import { assert, it } from "@effect/vitest"
import { DateTime, Option } from "effect"
import { timeIn } from "../src/GraphSchemas.ts"

const noon = "2026-11-20T12:00:00.000Z"

const read: ReadonlyArray<readonly [moment: number | string, time: string]> = [
  [1_795_176_000, noon],
  ["1795176000", noon],
  [1_795_176_000_000, noon],
  ["1795176000123", "2026-11-20T12:00:00.123Z"],
  ["2026-11-20T12:00:00Z", noon],
  ["2026-11-20T12:00:00.123Z", "2026-11-20T12:00:00.123Z"],
  ["2026-11-20T12:00:00+0000", noon],
  ["2026-11-20T14:30:00+0230", noon],
  ["2026-11-20T04:00:00-08:00", noon],
  // The last second and the first millisecond that are told apart by their size.
  [999_999_999_999, "+033658-09-27T01:46:39.000Z"],
  [1_000_000_000_000, "2001-09-09T01:46:40.000Z"],
  [8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"],
  [0.5, "1970-01-01T00:00:00.500Z"]
]

const unreadable: ReadonlyArray<number | string | undefined> = [
  undefined,
  0,
  -1,
  NaN,
  Infinity,
  8_640_000_000_000_001,
  "",
  " 1795176000",
  "-1795176000",
  "1795176000.5",
  "17951760000000000",
  "2026-11-20",
  "2026-11-20T12:00:00",
  "2026-11-20T25:00:00Z",
  "2026-11-20T12:00:00+00",
  "Fri, 20 Nov 2026 12:00:00 GMT"
]

it("are read as seconds, as milliseconds, or as an ISO date with its offset", () => {
  const times = read.map(([moment]) => Option.map(timeIn(moment), DateTime.formatIso))
  assert.deepStrictEqual(times, read.map(([, time]) => Option.some(time)))
})

it("are none if they are no time", () => {
  for (const moment of unreadable) assert.deepStrictEqual(timeIn(moment), Option.none(), String(moment))
})
