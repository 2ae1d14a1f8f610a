/** Contact export: the document with everything about one person, which is written in pieces (contract §20.1). */
import { Schema, Stream } from "effect"
import { ChannelType } from "../catalog/Channels.ts"
import { Contact } from "../contacts/Contacts.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { Conversation } from "./Conversations.ts"
import { MessageMedia } from "./Media.ts"
import { Message } from "./Messages.ts"
import { Content } from "./outbound/Content.ts"
import { Send } from "./outbound/Sends.ts"

/** A message with the bytes of its file, in base64 in JSON; null if the file is not stored. */
export const ExportedMessage = Schema.Struct({
  ...Message.fields,
  type: Schema.String.annotate({ description: "`text`, `template`, `image` … More may appear." }),
  media: Schema.NullOr(Schema.Struct({ ...MessageMedia.fields, bytes: Schema.NullOr(Schema.Uint8ArrayFromBase64) }))
}).annotate({ identifier: "ExportedMessage", description: "A message, with its file as base64." })
export interface ExportedMessage extends Schema.Schema.Type<typeof ExportedMessage> {}

export const ExportedSend = Schema.Struct({ ...Send.fields, recipient: Schema.String, content: Content }).annotate({
  identifier: "ExportedSend",
  description: "A request to send a message to the person."
})
export interface ExportedSend extends Schema.Schema.Type<typeof ExportedSend> {}

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

/** Returns the pieces of a JSON object whose last fields are arrays of items, each in pieces itself. */
export const written = <E, R>(
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
