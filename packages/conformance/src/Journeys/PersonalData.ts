/** Journeys of a person's data: exported completely, and erased until nothing about the person is left. */
import { assert, it } from "@effect/vitest"
import { type AuditFilters, AuditStore } from "@messaging-crm/core/Audit"
import { Contacts } from "@messaging-crm/core/Contacts"
import { Conversations } from "@messaging-crm/core/Conversations"
import { IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { ContactId } from "@messaging-crm/core/Ids"
import { MediaStore } from "@messaging-crm/core/Media"
import { ContactExport, PersonalData } from "@messaging-crm/core/PersonalData"
import { SendMessage, Sends, SendStore } from "@messaging-crm/core/Sends"
import { DateTime, Effect, Option, Result, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import { greetingWith } from "../Provider.ts"
import { crm, type It, makeScene, type Storage, work } from "./JourneyScene.ts"
import { concurrentErasures } from "./PersonalData/ConcurrentErasure.ts"
import { erasedExternalIds } from "./PersonalData/ErasedExternalIds.ts"
import { canaries, key, person } from "./PersonalData/PersonScene.ts"
import { repeatedReports } from "./PersonalData/RepeatedReports.ts"

const decoder = new TextDecoder()

const every: AuditFilters = { resource_id: null, key_id: null, member_id: null, before: null }

const exportContact = (id: ContactId) =>
  PersonalData.use((data) => Stream.runCollect(data.export(id))).pipe(
    Effect.map((pieces) => Array.from(pieces).join(""))
  )

/** Returns an exported document without the time of the export. */
const withoutTime = (text: string): object => ({ ...JSON.parse(text), exported_at: null })

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(ContactExport))

const outcomeOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.result(effect), (result) => Result.isFailure(result) ? result.failure._tag : "done")

const exports = (it: It) => {
  it.effect("is exported whole, as one document: fields, names, conversations, sends, messages and files", () =>
    Effect.gen(function*() {
      const { as, contact_id, conversation_id, number, queued, sent } = yield* person
      const text = yield* as(exportContact(contact_id))
      const document = yield* decode(text)
      for (const [place, canary] of Object.entries(canaries)) {
        // The bytes are in base64, and a callback is erased but not exported.
        if (place !== "callback" && place !== "bytes") assert.include(text, canary, place)
      }
      assert.deepStrictEqual(document.contact, yield* as(Contacts.use((contacts) => contacts.get(contact_id))))
      assert.deepStrictEqual(document.names.map(({ name }) => name), [number])
      const [thread] = document.conversations
      assert.lengthOf(document.conversations, 1)
      assert.strictEqual(thread?.conversation.id, conversation_id)
      assert.deepStrictEqual(thread?.sends.map(({ id }) => id).toSorted(), [queued, sent].toSorted())
      assert.deepStrictEqual(thread?.messages.map(({ type }) => type), ["template", "document", "text"])
      const bytes = thread?.messages[1]?.media?.bytes ?? new Uint8Array()
      assert.strictEqual(decoder.decode(bytes), canaries.bytes)
    }))

  it.effect("is exported with every message, however many were stored at one time", () =>
    Effect.gen(function*() {
      const { as, contact_id, number, receiveText } = yield* person
      const texts = Array.from({ length: 120 }, (_, index) => `text ${index}`)
      yield* Effect.forEach(texts, (text, index) => receiveText(`many.${index}.${number}`, text), { concurrency: 8 })
      const document = yield* decode(yield* as(exportContact(contact_id)))
      const exportedTexts = document.conversations.flatMap(({ messages }) => messages.map(({ text }) => text))
      assert.lengthOf(exportedTexts, 123)
      assert.deepStrictEqual(texts.filter((text) => !exportedTexts.includes(text)), [])
    }))
}

const erasures = (it: It) => {
  it.effect("is erased, while conversations keep their shape", () =>
    Effect.gen(function*() {
      const { as, callback, contact_id, number, organization_id, other, queued, sent } = yield* person
      const otherExport = yield* as(exportContact(other.contact_id))
      const before = yield* decode(yield* as(exportContact(contact_id)))
      yield* as(PersonalData.use((data) => data.erase(contact_id)))
      const text = yield* as(exportContact(contact_id))
      for (const canary of [...Object.values(canaries), number, number.slice(1)]) assert.notInclude(text, canary)
      assert.notInclude(text, Buffer.from(canaries.bytes).toString("base64"))
      const after = yield* decode(text)
      const shape = (document: typeof before) =>
        document.conversations.map(({ conversation, messages }) => [
          conversation.id,
          conversation.status,
          messages.map(({ created_at, direction, id, status, type }) => ({ created_at, direction, id, status, type }))
        ])
      assert.deepStrictEqual(shape(after), shape(before))
      const senders = (document: typeof before) =>
        document.conversations.flatMap(({ messages }) => messages)
          .toSorted((one, other) => one.direction.localeCompare(other.direction))
          .map(({ sender }) => sender.name)
      const [thread] = after.conversations
      assert.isTrue(thread?.messages.every(({ media, text }) => text === "[erased]" && media === null))
      assert.strictEqual(thread?.conversation.last_activity_preview, "[erased]")
      assert.isNotNull(before.conversations[0]?.conversation.reply_window_expires_at)
      assert.isNull(thread?.conversation.reply_window_expires_at)
      assert.deepStrictEqual(senders(after), [null, null, ...senders(before).slice(2)])
      assert.strictEqual(after.contact.first_name, "[erased]")
      assert.strictEqual(after.contact.last_activity_preview, "[erased]")
      assert.deepStrictEqual(after.names, [])

      const sends = yield* SendStore
      const failed = Option.getOrThrow(yield* sends.find(organization_id, queued))
      assert.deepStrictEqual([failed.status, failed.failure_reason], ["failed", "recipient_opted_out"])
      assert.deepStrictEqual(withoutTime(yield* as(exportContact(contact_id))), withoutTime(text))
      assert.isTrue(Option.isNone(yield* IdempotencyStore.use((store) => store.find(organization_id, key))))
      const file = before.conversations[0]?.messages[1]?.media?.id
      if (!file) return assert.fail("The message has no stored file.")
      assert.isTrue(Option.isNone(yield* MediaStore.use((store) => store.find(organization_id, file))))
      assert.deepStrictEqual(yield* Fixtures.areCallbacksStored([callback]), [false])

      // The worker finds nothing to send.
      yield* work
      assert.deepStrictEqual(withoutTime(yield* as(exportContact(contact_id))), withoutTime(text))
      assert.strictEqual(Option.getOrThrow(yield* sends.find(organization_id, sent)).recipient, "[erased]")
      const untouched = yield* as(exportContact(other.contact_id))
      assert.deepStrictEqual(withoutTime(untouched), withoutTime(otherExport))
      assert.strictEqual((yield* decode(untouched)).conversations[0]?.messages[0]?.text, "stays")
    }))
}

const withoutPreviews = (it: It) => {
  it.effect("is erased without a preview if there was none", () =>
    Effect.gen(function*() {
      const { as, start } = yield* makeScene
      const { conversation_id } = yield* start()
      const conversation = as(Conversations.use((conversations) => conversations.get(conversation_id)))
      const { contact: { id } } = yield* conversation
      yield* as(PersonalData.use((data) => data.erase(id)))
      const contact = yield* as(Contacts.use((contacts) => contacts.get(id)))
      assert.deepStrictEqual([contact.first_name, contact.last_activity_preview], ["[erased]", null])
      assert.isNull((yield* conversation).last_activity_preview)
    }))
}

const duplicates = (it: It) => {
  it.effect("of a duplicate is erased without the unprocessed messages of the contact with the same phone", () =>
    Effect.gen(function*() {
      const { as, callback, number, organization_id } = yield* person
      const duplicate = yield* Fixtures.contact(organization_id, { primary_phone: number })
      yield* as(PersonalData.use((data) => data.erase(duplicate.id)))
      assert.deepStrictEqual(yield* Fixtures.areCallbacksStored([callback]), [true])
    }))
}

const repeatedErasures = (it: It) => {
  it.effect("is erased once: a repeat changes nothing, and the audit has one record", () =>
    Effect.gen(function*() {
      const { as, contact_id, organization_id } = yield* person
      const erase = as(PersonalData.use((data) => data.erase(contact_id)))
      const records = Effect.map(
        AuditStore.use((store) => store.list(organization_id, every, 100)),
        (audit) => audit.filter(({ operation }) => operation === "contacts.erase").map(({ resource_id }) => resource_id)
      )
      yield* erase
      const text = yield* as(exportContact(contact_id))
      assert.deepStrictEqual(yield* records, [contact_id])
      yield* erase
      assert.deepStrictEqual(yield* records, [contact_id])
      assert.deepStrictEqual(withoutTime(yield* as(exportContact(contact_id))), withoutTime(text))
    }))
}

const afterwards = (it: It) => {
  it.effect("of a person who writes after the erasure belongs to a new contact, and a late report brings nothing back", () =>
    Effect.gen(function*() {
      const { as, contact_id, number, receiveStatus, receiveText, sent } = yield* person
      yield* as(PersonalData.use((data) => data.erase(contact_id)))
      const erased = yield* as(exportContact(contact_id))
      yield* TestClock.adjust("1 second")
      yield* receiveStatus(sent, { status: "read", at: yield* DateTime.now }, { recipient_aliases: ["canary-alias"] })
      yield* receiveText(`m.9.${number}`, "Hello again")
      const same = yield* as(exportContact(contact_id))
      assert.deepStrictEqual(withoutTime(same), withoutTime(erased))
      assert.notInclude(same, "canary-alias")
      const conversations = yield* as(
        Conversations.use((conversations) => conversations.list({ cursor: null, page_size: 9 }))
      )
      assert.isTrue(
        conversations.data.some(({ contact }) => contact.external_id === number && contact.id !== contact_id)
      )
    }))

  it.effect("leaves no address once erased: a message to it is rejected, and a start creates another contact", () =>
    Effect.gen(function*() {
      const { as, contact_id, conversation_id, get, start } = yield* person
      yield* as(PersonalData.use((data) => data.erase(contact_id)))
      const text = SendMessage.make({ type: "text", text: "Hello" })
      const template = SendMessage.make({ type: "template", template: greetingWith() })
      for (const message of [text, template]) {
        const rejected = yield* outcomeOf(as(Sends.use((sends) => sends.send(conversation_id, message))))
        assert.strictEqual(rejected, "RecipientErased")
      }
      yield* work
      const { contact: old } = yield* as(Conversations.use((conversations) => conversations.get(conversation_id)))
      const { conversation_id: next } = yield* get((yield* start()).id)
      const { contact } = yield* as(Conversations.use((conversations) => conversations.get(next)))
      assert.deepStrictEqual([old.id, contact.id === contact_id], [contact_id, false])
    }))

  it.effect("of an unknown contact, or of another organization's, is neither exported nor erased", () =>
    Effect.gen(function*() {
      const { as, contact_id } = yield* person
      const theirs = yield* makeScene
      const whole = yield* as(exportContact(contact_id))
      for (const id of [contact_id, ContactId.make(yield* Fixtures.uuid)]) {
        assert.strictEqual(yield* outcomeOf(theirs.as(exportContact(id))), "ContactNotFound")
        assert.strictEqual(yield* outcomeOf(theirs.as(PersonalData.use((data) => data.erase(id)))), "ContactNotFound")
      }
      assert.deepStrictEqual(withoutTime(yield* as(exportContact(contact_id))), withoutTime(whole))
    }))
}

export const journeyTests = (storage: Storage) => {
  it.layer(crm(storage), { timeout: "5 minutes" })("a person's data", (it) => {
    exports(it)
    erasures(it)
    withoutPreviews(it)
    duplicates(it)
    repeatedErasures(it)
    repeatedReports(it)
    concurrentErasures(it)
    erasedExternalIds(it)
    afterwards(it)
  })
}
