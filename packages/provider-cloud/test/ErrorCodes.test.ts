/** Every documented error code of the networks, with what follows for the send and its channel. */
import { assert, describe, it } from "@effect/vitest"
import { errorCodes, type GraphError, outcomeOf, pauseReasonOf } from "@messaging-crm/provider-cloud/ErrorCodes"
import { Option } from "effect"

const errorOf = (fields: Partial<GraphError>): GraphError => ({
  code: 0,
  error_subcode: null,
  is_transient: false,
  status: 400,
  retry_after_seconds: null,
  ...fields
})

const wordOf = (fields: Partial<GraphError>): string => {
  const meaning = outcomeOf(errorOf(fields))
  if (meaning._tag === "ProviderOutcomeUnknown") return "unknown"
  if (meaning._tag === "ProviderBusy") return `${meaning.throttles ?? "retry"} ${meaning.reason}`
  return `${meaning.pauses_channel === true ? "pause" : "reject"} ${meaning.reason}`
}

type Code = readonly [code: number, error_subcode: number | null]

/** The expected consequence, with the codes that have it. */
const expected: Readonly<Record<string, ReadonlyArray<number | Code>>> = {
  unknown: [[1, 1357046]],
  "reject reply_window_closed": [[10, 2018065], [10, 2018278], [10, 2534022], 131047],
  "reject recipient_unreachable": [
    [10, 2018108],
    [100, 2018001],
    [100, 2534014],
    [200, 1545041],
    551,
    130472,
    131026,
    131030,
    131062
  ],
  "reject recipient_opted_out": [131050],
  "reject provider_auth": [[10, 1], [200, 1], [299, 2018028]],
  "pause provider_auth": [
    0,
    3,
    10,
    [10, 2534077],
    [100, 2534013],
    102,
    104,
    190,
    [190, 463],
    200,
    [200, 2534041],
    250,
    299,
    131005
  ],
  "channel rate_limited": [4, 17, 32, 341, 613, 80000, 80001, 80006, 80007, 80008, 80014, 130429, 131048, 131064],
  "recipient rate_limited": [131056],
  "reject rate_limited": [131049, 132069, 133016],
  "retry provider_unavailable": [
    1,
    2,
    1200,
    131000,
    131016,
    131053,
    131057,
    133004,
    133015,
    134101,
    2494100,
    [1, 99],
    [10, 2018321],
    2018321
  ],
  "reject template_not_found": [132001],
  "reject template_not_approved": [131063, 132015, 132016, 132068, 134100, 134102],
  "reject template_invalid": [132000, 132005, 132007, 132008, 132012, 132018],
  "pause channel_blocked": [
    33,
    [10, 1893063],
    [100, 33],
    [100, 2534029],
    368,
    131031,
    131037,
    131042,
    131045,
    133000,
    133006,
    133010
  ],
  "reject channel_blocked": [130497],
  "reject provider_rejected": [
    [10, 2018300],
    100,
    [368, 1346003],
    131008,
    131009,
    131021,
    131051,
    131052,
    131055,
    131060,
    133005,
    133008,
    133009,
    134011,
    135000,
    2018300
  ]
}

const codes = Object.entries(expected).flatMap(([word, all]) =>
  all.map((code): readonly [string, Code] => [word, typeof code === "number" ? [code, null] : code])
)

describe("an error code of the networks", () => {
  for (const [word, [code, error_subcode]] of codes) {
    it(`${code}${error_subcode === null ? "" : `/${error_subcode}`}: ${word}`, () => {
      // The status is that of codes that are not listed.
      for (const status of [200, 400, 429, 503]) assert.strictEqual(wordOf({ code, error_subcode, status }), word)
      const transient = word === "reject provider_rejected" ? "retry provider_unavailable" : word
      assert.strictEqual(wordOf({ code, error_subcode, is_transient: true }), transient)
      const meaning = outcomeOf(errorOf({ code, error_subcode, retry_after_seconds: 7 }))
      if (meaning._tag === "ProviderBusy") assert.strictEqual(meaning.retry_after_seconds, 7)
      const [action, reason] = word.split(" ")
      if (error_subcode !== null) return
      assert.strictEqual(Option.getOrNull(pauseReasonOf(code)), action === "pause" ? reason : null)
    })
  }

  it("in the table is tested here", () => {
    const tested = (code: number, subcode: number | "any" | null) =>
      codes.some(([, [known, error_subcode]]) =>
        known === code && (subcode === "any" ? error_subcode !== null : error_subcode === subcode)
      )
    for (const { code } of errorCodes) {
      const [of, subcode] = typeof code === "object" && "subcode" in code ? [code.code, code.subcode] : [code, null]
      for (const each of typeof of === "number" ? [of] : of) assert.isTrue(tested(each, subcode), `${each}/${subcode}`)
    }
  })

  it("in a status pauses no channel if it is not listed", () => {
    assert.deepStrictEqual(pauseReasonOf(999999), Option.none())
  })

  it("next to a range is not listed", () => {
    for (const { code } of errorCodes) {
      const of = typeof code === "object" && "subcode" in code ? code.code : code
      if (typeof of === "number") continue
      for (const next of [of[0] - 1, of[1] + 1]) assert.strictEqual(wordOf({ code: next }), "reject provider_rejected")
    }
  })
})

it("no code is listed twice, so that no row hides another", () => {
  const codes = errorCodes.map(({ code }) => JSON.stringify(code))
  assert.strictEqual(new Set(codes).size, codes.length)
  const single = errorCodes.flatMap(({ code }) => typeof code === "number" ? code : [])
  assert.isEmpty(single.filter((code) => code >= 200 && code <= 299))
})

it("the outcome of an unlisted code depends on the status and on `is_transient`", () => {
  assert.strictEqual(wordOf({ code: 987654 }), "reject provider_rejected")
  assert.strictEqual(wordOf({ code: 987654, status: 503 }), "retry provider_unavailable")
  assert.strictEqual(wordOf({ code: 987654, status: 429 }), "channel rate_limited")
  assert.strictEqual(wordOf({ code: 987654, is_transient: true }), "retry provider_unavailable")
})
