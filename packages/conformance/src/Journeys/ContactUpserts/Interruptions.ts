/** Upserts that were killed between their commits, and other requests under their key. */
import { assert } from "@effect/vitest"
import { AddNote, Contacts, CreateContact, UpdateContact } from "@messaging-crm/core/Contacts"
import * as Crm from "@messaging-crm/core/Crm"
import { type EncodedResponse, Idempotency, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { Effect, Exit, Layer } from "effect"
import type * as Scene from "../JourneyScene.ts"
import { type CommitControl, killAfter, makeScene } from "./UpsertScene.ts"

/** The fingerprint of another request. */
const otherFingerprint = "e".repeat(64)

const twoContacts = [{ primary_email: "a@acme.example" }, { primary_email: "b@acme.example" }]

export const interruptions = (it: Scene.It, control: CommitControl) => {
  it.effect("returns the recorded outcomes and processes the rest after it was killed", () =>
    Effect.gen(function*() {
      const { as, everyone, request } = yield* makeScene
      const contacts = Array.from({ length: 10 }, (_, index) => ({ primary_email: `p${index}@acme.example` }))
      assert.isTrue(Exit.isFailure(yield* killAfter(control, 5, request("upsert-1", contacts))))
      const before = yield* everyone
      assert.isAbove(before.length, 0)
      assert.isBelow(before.length, 10)
      // A concurrent change stays.
      const [first] = before
      if (first === undefined) return assert.fail("No contact was created.")
      yield* as(Contacts.use((contacts) => contacts.addNote(first.id, AddNote.make({ text: "called" }))))
      const done = { outcomes: Array(10).fill("created").join(), replayed: true }
      assert.deepStrictEqual(yield* request("upsert-1", contacts), done)
      assert.deepStrictEqual(yield* request("upsert-1", contacts), done)
      assert.lengthOf(yield* everyone, 10)
      const rejection = yield* Effect.flip(request("upsert-1", contacts, otherFingerprint))
      assert.strictEqual(rejection._tag, "IdempotencyConflict")
      assert.deepStrictEqual(
        yield* request("upsert-2", contacts),
        { outcomes: Array(10).fill("unchanged").join(), replayed: false }
      )
    }))

  it.effect("keeps the outcome of a contact that it left unchanged before it was killed, and changes nothing later", () =>
    Effect.gen(function*() {
      const { as, create, everyone, request } = yield* makeScene
      const contact = { primary_email: "a@acme.example", company: "Brick" }
      const { id } = yield* create(contact)
      // The commits of its start and of its contact, but not the one of its response.
      assert.isTrue(Exit.isFailure(yield* killAfter(control, 2, request("upsert-8", [contact]))))
      yield* as(Contacts.use((contacts) => contacts.update(id, UpdateContact.make({ company: "Acme" }))))
      for (const _ of ["continued", "replayed"]) {
        assert.deepStrictEqual(yield* request("upsert-8", [contact]), { outcomes: "unchanged", replayed: true })
      }
      assert.deepStrictEqual((yield* everyone).map(({ company }) => company), ["Acme"])
    }))

  it.effect("keeps the outcome of a contact that its retry created meanwhile, and did not finish", () =>
    Effect.gen(function*() {
      const { request } = yield* makeScene
      const contacts = [{ primary_email: "a@acme.example" }]
      const otherProcess = Layer.fresh(Crm.layer)
      const services = yield* Layer.build(otherProcess)
      const killed: Array<boolean> = []
      const retry = Effect.gen(function*() {
        // The commits of its start, which finds the used key, and of its contact, but not the one of its response.
        killed.push(Exit.isFailure(yield* killAfter(control, 2, request("upsert-7", contacts))))
      })
      control.beforeLookup = Effect.provideContext(retry, services)
      assert.strictEqual((yield* request("upsert-7", contacts)).outcomes, "created")
      assert.deepStrictEqual(killed, [true])
      assert.strictEqual((yield* request("upsert-7", contacts)).outcomes, "created")
    }))
}

const usedKeys = (it: Scene.It, control: CommitControl) => {
  it.effect("rejects another request with its key, even after it was killed", () =>
    Effect.gen(function*() {
      const { everyone, request } = yield* makeScene
      yield* killAfter(control, 1, request("upsert-3", twoContacts))
      const otherContacts = [{ primary_email: "c@acme.example" }]
      const rejected = yield* Effect.flip(request("upsert-3", otherContacts, otherFingerprint))
      assert.strictEqual(rejected._tag, "IdempotencyConflict")
      assert.deepStrictEqual(yield* everyone, [])
      assert.strictEqual((yield* request("upsert-3", twoContacts)).outcomes, "created,created")
    }))

  it.effect("rejects another operation with its key once it has begun, and completes", () =>
    Effect.gen(function*() {
      const { as, everyone, request } = yield* makeScene
      yield* killAfter(control, 1, request("upsert-4", twoContacts))
      const otherOperation = { key: IdempotencyKey.make("upsert-4"), fingerprint: otherFingerprint, request_id: "r" }
      const rejected = yield* Effect.flip(as(Idempotency.use((idempotency) =>
        idempotency.once(otherOperation, (record) =>
          Contacts.use((contacts) =>
            contacts.create(CreateContact.make({ first_name: "Kim" }), {
              encode: (): Effect.Effect<EncodedResponse> =>
                Effect.succeed({ status: 201, body: "" }),
              record
            })
          ))
      )))
      assert.strictEqual(rejected._tag, "IdempotencyConflict")
      assert.deepStrictEqual(yield* everyone, [])
      assert.strictEqual((yield* request("upsert-4", twoContacts)).outcomes, "created,created")
    }))
}

const freedKeys = (it: Scene.It, control: CommitControl) => {
  it.effect("leaves no record of an erased person, whether it has ended or not", () =>
    Effect.gen(function*() {
      const { as, everyone, request } = yield* makeScene
      for (const [key, commits] of [["upsert-5", 2], ["upsert-6", Infinity]] as const) {
        const emails = [`a-${key}@acme.example`, `b-${key}@acme.example`]
        yield* killAfter(control, commits, request(key, emails.map((primary_email) => ({ primary_email }))))
        // The contacts of a request are upserted concurrently. Of the one that was killed, either was the first.
        const kim = (yield* everyone).find(({ primary_email }) => emails.includes(primary_email ?? ""))
        if (kim === undefined) return assert.fail("No contact was upserted.")
        yield* as(PersonalData.use((personalData) => personalData.erase(kim.id)))
        // The key is unused again.
        const repeated = yield* request(key, [{ primary_email: `${key}@shop.example` }], otherFingerprint)
        assert.deepStrictEqual(repeated, { outcomes: "created", replayed: false })
      }
    }))
}

export const keys = (it: Scene.It, control: CommitControl) => {
  usedKeys(it, control)
  freedKeys(it, control)
}
