/** A person with data in every place that can contain personal data. */
import { Contacts, UpdateContact } from "@messaging-crm/core/Contacts"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { type EncodedResponse, Idempotency, type IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { ContactId } from "@messaging-crm/core/Ids"
import { Effect } from "effect"
import * as Fixtures from "../../Fixtures.ts"
import { makeScene, work } from "../JourneyScene.ts"

/** Texts about the person, each in a different place. */
export const canaries = {
  name: "Canaria",
  family: "Kanarienvogel",
  email: "canary-mail@example.com",
  notes: "canary-notes",
  text: "canary-text",
  file: "canary-file.pdf",
  bytes: "canary-bytes",
  transcript: "canary-transcript",
  details: "canary-details",
  template: "canary-template",
  queued: "canary-queued",
  category: "canary-category",
  callback: "canary-callback"
} as const

export const key = "canary-key-1234" as IdempotencyKey

/** A message with a file, as the provider reports it. */
const receivedFile = {
  type: "document",
  text: null,
  media: {
    kind: "document",
    mime_type: "application/pdf",
    filename: canaries.file,
    transcript: canaries.transcript,
    bytes: new TextEncoder().encode(canaries.bytes)
  },
  details: { flow: { name: null, response: { answer: canaries.details } } }
} as const

/** Updates a contact by a request with an idempotency key, whose record then contains the contact. */
const updateWithKey = (id: ContactId) => {
  const { email: primary_email, family: last_name, name: first_name, notes } = canaries
  const update = UpdateContact.make({ first_name, last_name, primary_email, notes })
  return Idempotency.use((idempotency) =>
    idempotency.once(
      { ...Fixtures.keyedRequest, key },
      (record) =>
        Contacts.use((contacts) =>
          contacts.update(id, update, undefined, {
            encode: (contact): Effect.Effect<EncodedResponse> =>
              Effect.succeed({ status: 200, body: JSON.stringify(contact) }),
            record
          })
        )
    )
  ).pipe(Effect.orDie)
}

/** A person with data in every place that can contain personal data, and another who must stay as they are. */
export const person = Effect.gen(function*() {
  const scene = yield* makeScene
  const { as, channel, number, organization_id, receiveMessage, receiveText, start } = scene
  yield* receiveText(`m.1.${number}`, canaries.text)
  yield* receiveMessage(`m.2.${number}`, receivedFile)
  const { id: sent } = yield* start(canaries.template)
  yield* work
  const { conversation_id } = yield* scene.get(sent)
  const { contact } = yield* as(Conversations.use((conversations) => conversations.get(conversation_id)))
  yield* as(updateWithKey(ContactId.make(contact.id)))
  const { id: queued } = yield* start(canaries.queued)
  yield* as(
    Conversations.use((conversations) =>
      conversations.close(conversation_id, CloseConversation.make({ category: canaries.category }))
    )
  )
  const callback = yield* Fixtures.callback(
    channel.id,
    [number.slice(1)],
    `${canaries.callback} of ${number.slice(1)}`
  )
  const other = yield* Fixtures.thread(organization_id)
  yield* Fixtures.message(organization_id, other, { text: "stays" })
  return { ...scene, callback, contact_id: ContactId.make(contact.id), conversation_id, other, queued, sent }
})
