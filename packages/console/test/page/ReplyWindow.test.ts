/** The reply window, as the composer shows it. */
import { assert, it } from "@effect/vitest"
import { replyWindowOf } from "../../page/inbox/replyWindow.mjs"

const now = Date.UTC(2026, 0, 1)
const conversation = (expires_in: number | null, type: "page_messaging" | "phone_messaging" = "phone_messaging") => ({
  channel: { id: "c1", type },
  contact: { id: "p1", display_name: null, external_id: "+49151", username: null },
  reply_window_expires_at: expires_in === null ? null : new Date(now + expires_in).toISOString()
})

it("the window is open until its last millisecond, and the last hour is a warning", () => {
  const stateOf = (expires_in: number) => replyWindowOf(conversation(expires_in), now).state
  assert.deepStrictEqual([3_600_000, 3_599_999, 1, 0, -1].map(stateOf), [
    "open",
    "closing",
    "closing",
    "closed",
    "closed"
  ])
  assert.include(replyWindowOf(conversation(86_400_000), now).text, "24 h 0 min")
  assert.include(replyWindowOf(conversation(1), now).text, "1 min")
})

it("a closed window allows a template on WhatsApp only", () => {
  for (const expires_in of [null, -1]) {
    assert.include(replyWindowOf(conversation(expires_in), now).text, "Send a template")
    assert.include(replyWindowOf(conversation(expires_in, "page_messaging"), now).text, "No message can be sent")
  }
})

it("nothing can be sent to a contact whose data was erased", () => {
  const { contact, ...others } = conversation(86_400_000)
  assert.strictEqual(replyWindowOf({ ...others, contact: { ...contact, external_id: null } }, now).state, "erased")
})
