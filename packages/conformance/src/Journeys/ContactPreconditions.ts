/** Tests that a write with a precondition changes a contact only as its caller read it, with any storage (contract §8.12). */
import { assert, it } from "@effect/vitest"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import {
  AddNote,
  Contact,
  type ContactPrecondition,
  Contacts,
  CreateContact,
  UpdateContact
} from "@messaging-crm/core/Contacts"
import { Effect, Result, Schema } from "effect"
import { makeScene as makeRequestScene, request } from "./IdempotentRequests/RequestScene.ts"
import * as Scene from "./JourneyScene.ts"

const encode = Schema.encodeSync(Contact)

/** A contact as its response shows it. */
const shown = (contact: Contact): string => JSON.stringify(encode(contact))

/** Requires that a contact is as it was read. */
const unchangedSince = (read: Contact): ContactPrecondition => (contact) =>
  Effect.sync(() => shown(contact) === shown(read))

const set = (first_name: string) => UpdateContact.make({ first_name })
const called = AddNote.make({ text: "Called" })

/** A contact, and the operations of one actor. */
const makeScene = Effect.gen(function*() {
  const { as, receiveText } = yield* Scene.makeScene
  const contacts = yield* Contacts
  yield* receiveText("m.1", "Hello")
  const [contact] = (yield* as(contacts.list({ cursor: null, page_size: 1 }))).data
  if (contact === undefined) return assert.fail("The message created no contact.")
  return { as, contact, contacts, get: as(contacts.get(contact.id)), receiveText }
})

const rejections = (it: Scene.It) => {
  it.effect("applies to the contact as it was read, and afterward is rejected and changes nothing", () =>
    Effect.gen(function*() {
      const { as, contact, contacts, get } = yield* makeScene
      const asRead = unchangedSince(contact)
      const updated = yield* as(contacts.update(contact.id, set("Ada"), asRead))
      assert.strictEqual(shown(updated), shown(yield* get))
      const rejected = [
        yield* as(Effect.flip(contacts.update(contact.id, set("Eve"), asRead))),
        yield* as(Effect.flip(contacts.update(contact.id, UpdateContact.make({}), asRead))),
        yield* as(Effect.flip(contacts.addNote(contact.id, called, asRead)))
      ]
      assert.deepStrictEqual(rejected.map(({ _tag }) => _tag), Array.from({ length: 3 }, () => "ContactChanged"))
      assert.strictEqual(shown(updated), shown(yield* get))
      const noted = yield* as(contacts.addNote(contact.id, called, unchangedSince(updated)))
      assert.strictEqual(noted.notes, "Called")
    }))

  it.effect("is rejected after a message, which changes no row that the write names", () =>
    Effect.gen(function*() {
      const { as, contact, contacts, get, receiveText } = yield* makeScene
      yield* receiveText("m.2", "Are you there?")
      const rejected = yield* as(Effect.flip(contacts.update(contact.id, set("Ada"), unchangedSince(contact))))
      assert.strictEqual(rejected._tag, "ContactChanged")
      assert.strictEqual(
        (yield* as(contacts.update(contact.id, set("Ada"), unchangedSince(yield* get)))).first_name,
        "Ada"
      )
    }))

  it.effect("for no contact finds none, without its precondition", () =>
    Effect.gen(function*() {
      const { as, contacts } = yield* makeScene
      const { contact: foreign } = yield* makeScene
      const rejected = [
        yield* as(Effect.flip(contacts.update(foreign.id, set("Ada"), never))),
        yield* as(Effect.flip(contacts.addNote(foreign.id, called, never)))
      ]
      assert.deepStrictEqual(rejected.map(({ _tag }) => _tag), ["ContactNotFound", "ContactNotFound"])
    }))
}

const never: ContactPrecondition = () => Effect.die("The precondition was checked.")

const races = (it: Scene.It) => {
  it.effect("is rejected if the contact changes between its load and its commit", () =>
    Effect.gen(function*() {
      const { as, contact, contacts, get } = yield* makeScene
      let checks = 0
      const overtaken: ContactPrecondition = (loaded) =>
        Effect.gen(function*() {
          if (checks++ === 0) yield* Effect.orDie(as(contacts.update(contact.id, set("Eve"))))
          return yield* unchangedSince(contact)(loaded)
        })
      const rejected = yield* as(Effect.flip(contacts.update(contact.id, set("Ada"), overtaken)))
      assert.strictEqual(rejected._tag, "ContactChanged")
      assert.strictEqual(checks, 2)
      assert.strictEqual((yield* get).first_name, "Eve")
    }))

  it.effect("succeeds once of ten concurrent ones with the same precondition", () =>
    Effect.gen(function*() {
      const { as, contact, contacts, get } = yield* makeScene
      const outcomes = yield* Effect.all(
        Array.from({ length: 10 }, (_, index) =>
          Effect.result(as(contacts.update(contact.id, set(`${index}`), unchangedSince(contact))))),
        { concurrency: "unbounded" }
      )
      const [written, ...others] = outcomes.filter(Result.isSuccess)
      assert.deepStrictEqual(others, [])
      assert.strictEqual((yield* get).first_name, written?.success.first_name)
      const failures = outcomes.filter(Result.isFailure).map(({ failure }) =>
        failure._tag
      )
      assert.deepStrictEqual(new Set(failures), new Set(["ContactChanged"]))
    }))

  it.effect("gets its recorded response, although its precondition is no longer met", () =>
    Effect.gen(function*() {
      const { as, contact, get } = yield* makeRequestScene
      const contacts = yield* Contacts
      const rename = request((respond) => contacts.update(contact.id, set("Ada"), unchangedSince(contact), respond))
      const [first, again] = [yield* as(rename), yield* as(rename)]
      assert.deepStrictEqual(again, { ...first, replayed: true })
      assert.strictEqual((yield* get()).first_name, "Ada")
    }))
}

const responses = (it: Scene.It) => {
  it.effect("is met by the response of the write before, byte for byte", () =>
    Effect.gen(function*() {
      const { as, contacts } = yield* makeScene
      const fields = yield* Effect.forEach(["a", "b", "c"], (key) =>
        as(ContactFields.use((all) =>
          all.create(CreateContactField.make({ key, name: key, type: "text", options: null }))
        )))
      const values = (text: string) =>
        Object.fromEntries(fields.toReversed().map(({ id }) => [id, text]))
      const created = yield* as(contacts.create(CreateContact.make({ first_name: "Kim", custom_values: values("1") })))
      const [last] = fields.slice(-1)
      if (last === undefined) {
        return assert.fail("There is no field.")
      }
      const changes: ReadonlyArray<UpdateContact> = [
        UpdateContact.make({ custom_values: { [last.id]: null } }),
        UpdateContact.make({ custom_values: values("2"), birthday: "1990-03-14" }),
        UpdateContact.make({ company: "Brick", notes: " kept " })
      ]
      let read = created
      for (const change of changes) {
        assert.strictEqual(shown(read), shown(yield* as(contacts.get(created.id))))
        read = yield* as(contacts.update(created.id, change, unchangedSince(read)))
      }
      assert.strictEqual(shown(read), shown(yield* as(contacts.get(created.id))))
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "2 minutes" })("a write of a contact with a precondition", (it) => {
    rejections(it)
    races(it)
    responses(it)
  })
}
