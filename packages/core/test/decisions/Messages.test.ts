import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { MediaId } from "@messaging-crm/core/Ids"
import { MediaRows } from "@messaging-crm/core/Media"
import { applyUpdate, type MessageRow, MessageRows, type MessageUpdate, revise } from "@messaging-crm/core/Messages"
import { Struct } from "effect"
import { after, contact, conversation, id, message } from "./Fixtures.ts"

const written = [
  "text",
  "media",
  "details",
  "status",
  "sent_at",
  "delivered_at",
  "read_at",
  "failed_at",
  "edited_at",
  "deleted_at"
] as const

describe("an update of a message", () => {
  const file = MediaId.make(id(40))
  const media = { kind: "image", mime_type: "image/png", filename: "a.png", byte_size: 1, transcript: null } as const
  const withFile: MessageRow = { ...message, text: "Look", media: { ...media, id: file } }
  const revised = (before: MessageRow, update: MessageUpdate) => {
    const now = applyUpdate(before, update)
    const { update: [row] = [], ...others } = revise(contact.id, before, now)
    assert.deepStrictEqual(row, MessageRows.update(before, Struct.pick(now, written)).update?.[0])
    return others
  }
  const preview = (text: string) =>
    Changes.touch({
      conversation_id: conversation.id,
      contact_id: contact.id,
      at: message.created_at,
      preview: text,
      last_inbound_at: null
    })

  it("leaves its file and the preview, if it only moves the status", () => {
    assert.deepStrictEqual(revised(withFile, { status: "read", at: after(1) }), {})
  })

  it("with another text changes the preview, and leaves the file", () => {
    assert.deepStrictEqual(revised(withFile, { status: "edited", text: "Now", at: after(1) }), preview("Now"))
  })

  it("that deletes it removes the file, if there is one", () => {
    const deleted: MessageUpdate = { status: "deleted", at: after(1) }
    assert.deepStrictEqual(
      revised(withFile, deleted),
      Changes.all(MediaRows.remove({ id: file }), preview("[deleted]"))
    )
    for (const before of [message, { ...withFile, media: { ...media, id: null } }]) {
      assert.deepStrictEqual(revised(before, deleted), preview("[deleted]"))
    }
  })
})
