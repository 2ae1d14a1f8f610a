/** Contact export: the document with everything about one person, which is written in pieces (contract §20.1). */
import { DateTime, Effect, Option, Schema, Stream, Struct } from "effect"
import { ChannelType } from "../catalog/Channels.ts"
import { Contact, ContactNotFound, ContactStore } from "../contacts/Contacts.ts"
import { Conversation, type ConversationRow, toConversation } from "../conversations/Conversations.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { encoder } from "../kernel/Codecs.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import type { ContactId, MediaId, OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { MediaStore, MessageMedia } from "../messages/Media.ts"
import { Message } from "../messages/Messages.ts"
import { Content } from "../sends/MessagingProvider.ts"
import { Send } from "../sends/Sends.ts"
import { inPages, PersonalDataStore } from "./PersonalDataStore.ts"

// ---------------------------------------------------------------- data

/** A message with the bytes of its file, in base64 in JSON; null if the file is not stored. */
const ExportedMessage = Schema.Struct({
  ...Message.fields,
  type: Schema.String.annotate({ description: "`text`, `template`, `image` … More may appear." }),
  media: Schema.NullOr(Schema.Struct({ ...MessageMedia.fields, bytes: Schema.NullOr(Schema.Uint8ArrayFromBase64) }))
}).annotate({ identifier: "ExportedMessage", description: "A message, with its file as base64." })

const ExportedSend = Schema.Struct({ ...Send.fields, recipient: Schema.String, content: Content }).annotate({
  identifier: "ExportedSend",
  description: "A request to send a message to the person."
})

/** Schema for everything about a person. An export is one JSON document of it. */
export const ContactExport = Schema.Struct({
  exported_at: Timestamp,
  contact: Contact,
  names: Schema.Array(Schema.Struct({ channel_type: ChannelType, name: Schema.String })).annotate({
    description: "Every ID under which the networks know the person."
  }),
  conversations: Schema.Array(Schema.Struct({
    conversation: Conversation,
    sends: Schema.Array(ExportedSend),
    messages: Schema.Array(ExportedMessage).annotate({ description: "The newest first." })
  }))
}).annotate({ identifier: "ContactExport", description: "Everything about one person." })

const document = Schema.toJsonSchemaDocument(ContactExport)

/** The JSON Schema of an export, as it is published in `docs/contact-export.schema.json`. */
export const export_schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  ...document.schema,
  $defs: document.definitions
}

// ----------------------------------------------------------- decisions

const [encodeContact, encodeConversation, encodeMessage, encodeSend] = [
  encoder(Contact),
  encoder(Conversation),
  encoder(ExportedMessage),
  encoder(ExportedSend)
]

/** Returns the pieces of a JSON object whose last fields are arrays of items, each in pieces itself. */
const jsonObject = <E, R>(
  head: object,
  lists: Readonly<Record<string, Stream.Stream<Stream.Stream<string, E, R>, E, R>>>
): Stream.Stream<string, E, R> => {
  const list = ([name, items]: readonly [string, Stream.Stream<Stream.Stream<string, E, R>, E, R>]) =>
    Stream.flatten(Stream.intersperseAffixes(items, {
      start: Stream.make(`,${JSON.stringify(name)}:[`),
      middle: Stream.make(","),
      end: Stream.make("]")
    }))
  return Stream.make(JSON.stringify(head).slice(0, -1)).pipe(
    Stream.concat(Stream.flatMap(Stream.fromIterable(Object.entries(lists)), list)),
    Stream.concat(Stream.make("}"))
  )
}

// ---------------------------------------------------------- operations

/** Makes the function that returns the bytes of a file, or null if it is removed meanwhile. */
const makeReadFile = Effect.gen(function*() {
  const media = yield* MediaStore

  return Effect.fnUntraced(function*(organization_id: OrganizationId, id: MediaId) {
    const file = yield* media.find(organization_id, id)
    if (Option.isNone(file)) return null
    const bytes = new Uint8Array(file.value.byte_size)
    for (let start = 0; start < bytes.byteLength;) {
      const slice = yield* media.read(organization_id, id, { start, length: bytes.byteLength - start })
      if (Option.isNone(slice)) return null
      bytes.set(slice.value, start)
      start += slice.value.byteLength
    }
    return bytes
  })
})

/** Makes the function that exports a conversation with its sends and messages. */
const makeExportConversation = Effect.gen(function*() {
  const readFile = yield* makeReadFile
  const store = yield* PersonalDataStore

  const exportMessage = Effect.fnUntraced(function*(organization_id: OrganizationId, message: Message) {
    const bytes = message.media?.id ? yield* readFile(organization_id, message.media.id) : null
    return encodeMessage({ ...message, media: message.media === null ? null : { ...message.media, bytes } })
  })

  const messagesOf = (organization_id: OrganizationId, { id }: ConversationRow) =>
    inPages((page) => store.messages(organization_id, id, page)).pipe(
      Stream.mapEffect((message) => exportMessage(organization_id, message))
    )

  const sendsOf = (organization_id: OrganizationId, { id }: ConversationRow) =>
    inPages((page) => store.sends(organization_id, id, page)).pipe(
      Stream.map((send) => encodeSend(Struct.pick(send, Struct.keys(ExportedSend.fields))))
    )

  return (organization_id: OrganizationId, row: ConversationRow) =>
    jsonObject({ conversation: encodeConversation(toConversation(row)) }, {
      sends: Stream.map(sendsOf(organization_id, row), (send) => Stream.make(JSON.stringify(send))),
      messages: Stream.map(messagesOf(organization_id, row), (message) => Stream.make(JSON.stringify(message)))
    })
})

export const makeExport = Effect.gen(function*() {
  const contacts = yield* ContactStore
  const exportConversation = yield* makeExportConversation
  const store = yield* PersonalDataStore

  return (id: ContactId) =>
    Stream.unwrap(
      operation("contacts.export")(function*() {
        const { organization_id } = yield* CurrentActor
        const { found, network_ids, rows } = yield* Effect.all({
          found: contacts.find(organization_id, id),
          network_ids: store.networkIds(organization_id, id),
          rows: store.conversations(organization_id, id)
        }, concurrently)
        const contact = yield* Effect.fromOption(found, () => new ContactNotFound())
        const head = {
          exported_at: DateTime.formatIso(yield* DateTime.now),
          contact: encodeContact(contact),
          names: network_ids.map(Struct.pick(["channel_type", "name"]))
        }
        const conversations = Stream.fromIterable(rows).pipe(
          Stream.map((row) => exportConversation(organization_id, row))
        )
        return jsonObject(head, { conversations })
      })()
    )
})
