/** Changes of contacts: notes, and updates that change nothing (contract §8.4, §8.7). */
import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as Contacts from "@messaging-crm/core/Contacts"
import { TagId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { Option, Result } from "effect"
import { contact, context, rejection } from "./Fixtures.ts"

const no_references = { owners: new Map(), fields: new Map(), tags: [] }

describe("a note", () => {
  const noted = (notes: string | null, text: string) =>
    Contacts.addNote(Option.some({ ...contact, notes }), Contacts.AddNote.make({ text }), context())
  const notesOf = (notes: string | null, text: string) => Result.getOrThrow(noted(notes, text)).result.notes

  it("is the first, or follows the others after a blank line", () => {
    assert.strictEqual(notesOf(null, "Called"), "Called")
    assert.strictEqual(notesOf("Called", "Called again"), "Called\n\nCalled again")
  })

  it("is rejected if all notes were longer than their limit, in code points", () => {
    // The blank line has two characters, and an emoji is one character of two units.
    const notes = "\u{1F600}".repeat(limits.notes_chars_max - 3)
    assert.isNull(rejection(noted(notes, "a")))
    const rejected = Option.getOrNull(Result.getFailure(noted(notes, "ab")))
    assert.deepInclude(rejected, { _tag: "NotesTooLong", limit: limits.notes_chars_max })
  })

  it("for no contact is rejected", () => {
    const text = Contacts.AddNote.make({ text: "Called" })
    assert.strictEqual(rejection(Contacts.addNote(Option.none(), text, context())), "ContactNotFound")
  })
})

describe("an update of a contact", () => {
  it("clears a field that is null, whichever it is, and keeps each that is absent", () => {
    const fields = Object.keys(Contacts.WritableContact.fields)
    const tag = { id: TagId.make("01990000-0000-7000-8000-000000000009"), name: "VIP", color: "red" } as const
    const texts = Object.fromEntries(fields.filter((field) => field !== "tag_ids").map((field) => [field, "text"]))
    const { version: _version, ...full } = { ...contact, ...texts, custom_values: { size: "XL" }, tags: [tag] }
    for (const field of fields) {
      const input = Contacts.UpdateContact.make({ [field]: null })
      const stored = Option.some({ ...full, version: 1 } as Contacts.LoadedContact) // No rule reads these texts.
      const { result } = Result.getOrThrow(Contacts.update(stored, no_references, input, context()))
      const name = field === "tag_ids" ? "tags" : field as keyof typeof Contacts.emptyContact
      assert.deepEqual(
        { ...result },
        { ...full, [name]: Contacts.emptyContact[name], updated_at: result.updated_at },
        field
      )
    }
  })

  it("that gives the stored values raises no event, and names only the fields that it changes", () => {
    const { changes, result } = Contacts.changeContact(contact, { first_name: "Kim" }, context())
    assert.isUndefined(changes.raise)
    assert.strictEqual(result.first_name, "Kim")
    const renamed = Contacts.changeContact(contact, { first_name: "Kimberly", last_name: contact.last_name }, context())
    const event = JSON.parse(renamed.changes.raise?.[0]?.body ?? "")
    assert.deepStrictEqual(event.data, {
      conversation_id: null,
      contact_id: contact.id,
      changed_fields: ["first_name"]
    })
    assert.deepStrictEqual(Contacts.raiseUpdated(contact, [], context()), Changes.none)
  })
})
