import { assert, describe, it } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import * as Contacts from "@messaging-crm/core/Contacts"
import { ContactId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { MemberRows } from "@messaging-crm/core/Members"
import { Option, Result } from "effect"
import { ada, after, contact, context, field, id, noon, nothing, references, refusal, tag } from "./Fixtures.ts"

describe("a contact", () => {
  it("is created with the given fields, and expects its owner's version", () => {
    const { answer, changes } = Result.getOrThrow(Contacts.create(
      references,
      Contacts.CreateContact.make({
        first_name: "Kim",
        company: "Acme",
        owner_user_id: ada.id,
        custom_values: { [field.id]: "gold" },
        tag_ids: [tag.id]
      }),
      context()
    ))
    const expected: Contacts.Contact = {
      ...Contacts.newContact(ContactId.make(id(100)), { phone: null }, after(9)),
      first_name: "Kim",
      company: "Acme",
      owner_user_id: ada.id,
      custom_values: { [field.id]: "gold" },
      tags: [tag]
    }
    assert.deepStrictEqual(answer, expected)
    assert.deepStrictEqual(
      changes,
      Changes.all(
        Contacts.ContactRows.insert({ ...expected, search_text: Contacts.searchText(expected) }),
        MemberRows.expect(ada)
      )
    )
  })

  it("is not created without a name, or with a member, tag or field that does not exist", () => {
    const create = (input: Contacts.CreateContact) => refusal(Contacts.create(nothing, input, context()))
    assert.strictEqual(create(Contacts.CreateContact.make({ company: "Acme" })), "ContactUnnamed")
    assert.strictEqual(
      create(Contacts.CreateContact.make({ first_name: "Kim", owner_user_id: ada.id })),
      "ReferenceUnknown"
    )
    assert.strictEqual(
      create(Contacts.CreateContact.make({ first_name: "Kim", tag_ids: [tag.id] })),
      "ReferenceUnknown"
    )
    assert.strictEqual(
      create(Contacts.CreateContact.make({ first_name: "Kim", custom_values: { [field.id]: "x" } })),
      "ReferenceUnknown"
    )
  })

  const update = (input: Contacts.UpdateContact, now = after(9)) =>
    Contacts.update(
      Option.some(contact),
      input.owner_user_id ? references : { ...references, owners: new Map() },
      input,
      context(now)
    )

  it("is updated by the given columns only, at the version that was loaded", () => {
    const row = { id: contact.id, version: 7 }
    const { answer, changes } = Result.getOrThrow(update(Contacts.UpdateContact.make({ city: "Rome" })))
    const { version: _version, ...before } = contact
    assert.deepStrictEqual(answer, { ...before, city: "Rome", updated_at: after(9) })
    assert.deepStrictEqual(changes, Contacts.ContactRows.update(row, { city: "Rome", updated_at: after(9) }))
    const renamed = { ...before, first_name: "Lee", updated_at: after(9) }
    assert.deepStrictEqual(
      Result.getOrThrow(update(Contacts.UpdateContact.make({ first_name: "Lee" }))).changes,
      Contacts.ContactRows.update(row, {
        first_name: "Lee",
        updated_at: after(9),
        search_text: Contacts.searchText(renamed)
      })
    )
    assert.deepStrictEqual(
      Result.getOrThrow(update(Contacts.UpdateContact.make({ owner_user_id: ada.id, tag_ids: [tag.id] }))).changes,
      Changes.all(
        Contacts.ContactRows.update(row, { owner_user_id: ada.id, tags: [tag], updated_at: after(9) }),
        MemberRows.expect(ada)
      )
    )
    assert.deepStrictEqual(
      Result.getOrThrow(update(Contacts.UpdateContact.make({ tag_ids: null }), after(-9))).changes,
      Contacts.ContactRows.update(row, { tags: [], updated_at: noon })
    )
  })

  it("has custom values that merge by key", () => {
    const found = Option.some({ ...contact, custom_values: { [field.id]: "gold", other: "1" } })
    const merged = (custom_values: Contacts.UpdateContact["custom_values"] & {}) =>
      Result.getOrThrow(Contacts.update(found, references, Contacts.UpdateContact.make({ custom_values }), context()))
        .answer.custom_values
    assert.deepStrictEqual(merged({ [field.id]: "silver" }), { [field.id]: "silver", other: "1" })
    assert.deepStrictEqual(merged({ [field.id]: null }), { other: "1" })
  })

  it("keeps an owner who has left and a value that its field does not accept any more, if they are sent as they are", () => {
    const kept = { ...contact, owner_user_id: ada.id, custom_values: { [field.id]: "former", [tag.id]: "unknown" } }
    const { custom_values, owner_user_id } = kept
    const send = (input: object) =>
      Contacts.update(Option.some(kept), nothing, Contacts.UpdateContact.make(input), context())
    assert.deepInclude(Result.getOrThrow(send({ custom_values, owner_user_id })).answer, {
      custom_values,
      owner_user_id
    })
    assert.strictEqual(refusal(send({ owner_user_id: id(77) })), "ReferenceUnknown")
    assert.strictEqual(refusal(send({ custom_values: { [field.id]: "other" } })), "ReferenceUnknown")
    const optional = { ...references, fields: new Map([[field.id, { ...field, type: "number" as const }]]) }
    const resolved = (value: string) =>
      Contacts.update(
        Option.some(kept),
        optional,
        Contacts.UpdateContact.make({ custom_values: { [field.id]: value } }),
        context()
      )
    assert.isNull(refusal(resolved("former")))
    assert.strictEqual(refusal(resolved("other")), "CustomValueInvalid")
  })

  it("does not change without fields, and is not found when it does not exist", () => {
    assert.deepStrictEqual(Result.getOrThrow(update(Contacts.UpdateContact.make({}))).changes, Changes.none)
    assert.strictEqual(
      refusal(Contacts.update(Option.none(), nothing, Contacts.UpdateContact.make({}), context())),
      "ContactNotFound"
    )
    // What is wrong with the request comes first.
    assert.strictEqual(
      refusal(Contacts.update(Option.none(), nothing, Contacts.UpdateContact.make({ tag_ids: [tag.id] }), context())),
      "ReferenceUnknown"
    )
  })

  it("takes a note after a blank line, up to the limit", () => {
    const add = (notes: string | null, text: string) =>
      Contacts.addNote(Option.some({ ...contact, notes }), Contacts.AddNote.make({ text }), context())
    assert.deepStrictEqual(
      Result.getOrThrow(add(null, "Called")).changes,
      Contacts.ContactRows.update(contact, { notes: "Called", updated_at: after(9) })
    )
    assert.strictEqual(Result.getOrThrow(add("Called", "Wrote")).answer.notes, "Called\n\nWrote")
    const full = "\u{1F600}".repeat(limits.notes_chars_max - 3)
    assert.isNull(refusal(add(full, "x")))
    assert.strictEqual(refusal(add(full, "xx")), "NotesTooLong")
    assert.strictEqual(
      refusal(Contacts.addNote(Option.none(), Contacts.AddNote.make({ text: "x" }), context())),
      "ContactNotFound"
    )
  })
})
