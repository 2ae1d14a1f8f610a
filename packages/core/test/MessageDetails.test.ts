import { assert, describe, it } from "@effect/vitest"
import { limits } from "@messaging-crm/core/Limits"
import { boundedDetails, boundedFailure, type MessageDetails } from "@messaging-crm/core/MessageDetails"
import { Arbitrary, Schema } from "effect"

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).byteLength

const quoted = { provider_message_id: "q", from: null }
const share = { type: "post", id: null, title: null, url: "https://shop.example/p/1" }
const flowOf = (answer: string) => ({ name: null, response: { answer } })

describe("details", () => {
  it("within their limits are stored as they are, and none as null", () => {
    const details: MessageDetails = { quoted, flow: flowOf("yes") }
    assert.strictEqual(boundedDetails(details), details)
    assert.isNull(boundedDetails({}))
    assert.isNull(boundedDetails(null))
  })

  it("lose the items beyond the limit of a list, and say so", () => {
    const shares = Array.from({ length: limits.details_items_max + 1 }, () => share)
    assert.deepStrictEqual(boundedDetails({ quoted, shares }), {
      quoted,
      shares: shares.slice(0, limits.details_items_max),
      is_truncated: true
    })
  })

  it("lose the largest parts where they are too large, and say so", () => {
    const large = "\u{1F600}".repeat(limits.details_bytes_max / 4)
    assert.deepStrictEqual(boundedDetails({ flow: flowOf(large), quoted }), { quoted, is_truncated: true })
    assert.deepStrictEqual(boundedDetails({ flow: flowOf(large) }), { is_truncated: true })
  })

  it.prop("are never larger than the limit", {
    sizes: Arbitrary.array(Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20_000 }))), {
      minLength: 3,
      maxLength: 3
    })
  }, ({ sizes: [url = 0, answer = 0, title = 0] }) => {
    const story = { action: "reply" as const, id: null, url: "u".repeat(url) }
    const details: MessageDetails = {
      story,
      flow: flowOf("\u00E9".repeat(answer)),
      choice: { kind: "button", id: null, title: "t".repeat(title), description: null, payload: null }
    }
    assert.isAtMost(bytesOf(boundedDetails(details)), limits.details_bytes_max)
  })

  it("of a failure have short texts, cut between characters", () => {
    const title = "\u{1F600}".repeat(600)
    assert.deepStrictEqual(boundedFailure({ code: 1, title, description: null }), {
      code: 1,
      title: "\u{1F600}".repeat(limits.failure_text_chars_max),
      description: null
    })
  })
})
