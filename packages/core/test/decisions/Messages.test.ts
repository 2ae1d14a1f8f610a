import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { MediaId } from "@messaging-crm/core/Ids"
import { MediaRows } from "@messaging-crm/core/Media"
import { applyUpdate, type MessageRow, type MessageUpdate, revise } from "@messaging-crm/core/Messages"
import { after, contact, conversation, id, message } from "./Fixtures.ts"

describe("an update of a message", () => {
  const file = MediaId.make(id(40))
  const media = { kind: "image", mime_type: "image/png", filename: "a.png", byte_size: 1, transcript: null } as const
  const withFile: MessageRow = { ...message, text: "Look", media: { ...media, id: file } }
  const revised = (before: MessageRow, update: MessageUpdate) => {
    const now = applyUpdate(before, update)
    const { update: [row] = [], ...others } = revise(contact.id, before, now)
    assert.deepStrictEqual({ ...before, ...row?.set }, now)
    return others
  }
  const preview = (text: string) =>
    Changes.touch({
      conversation_id: conversation.id,
      contact_id: contact.id,
      at: message.created_at,
      preview: text,
      conversation_version: null,
      last_inbound_at: null
    })

  it("writes every column that updates change", () => {
    const [at, later] = [after(1), after(2)]
    const times = { sent_at: at, delivered_at: at, read_at: at, failed_at: later, edited_at: later, deleted_at: later }
    const now: MessageRow = {
      ...withFile,
      ...times,
      status: "failed",
      text: "Now",
      media: null,
      details: { is_truncated: true }
    }
    const { update: [row] = [] } = revise(contact.id, withFile, now)
    assert.deepStrictEqual({ ...withFile, ...row?.set }, now)
    assert.deepStrictEqual([row?.key, row?.version], [
      { conversation_id: conversation.id, id: message.id },
      message.version
    ])
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
