/**
 * Personal data: everything about one person, exported or erased (contract §20).
 *
 * An erasure keeps the rows that others refer to, with `[erased]` in place of what
 * they said of the person, so that conversations keep their shape. It runs in
 * steps, each of which may be repeated: an erasure that was interrupted is run
 * again, and changes nothing where there is nothing left to erase.
 */
import { Context, DateTime, Effect, Layer, Option, Result, Schema, Stream, Struct } from "effect"
import { ChannelType } from "../catalog/Channels.ts"
import { type IdentityNetworkId, IdentityNetworkIdRows, IdentityRows } from "../contacts/ContactIdentities.ts"
import {
  change,
  Contact,
  ContactNotFound,
  ContactStore,
  emptyContact,
  type LoadedContact
} from "../contacts/Contacts.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import type { ContactId, MediaId, OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import type { PageRequest, Position } from "../kernel/Page.ts"
import { erased } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, concurrently, Decide, type DecisionContext } from "../work/Decide.ts"
import { Content } from "./Content.ts"
import { Conversation, type ConversationRow, toConversation } from "./Conversations.ts"
import { MediaStore, MessageMedia } from "./Media.ts"
import { Message, MessageStore } from "./Messages.ts"
import { Send, type SendRow } from "./Sends.ts"

// ---------------------------------------------------------------- data

/** A message with the bytes of its file, in base64 in JSON; null where the file is not stored. */
export const ExportedMessage = Schema.Struct({
  ...Message.fields,
  type: Schema.String.annotate({ description: "`text`, `template`, `image` … More may appear." }),
  media: Schema.NullOr(Schema.Struct({ ...MessageMedia.fields, bytes: Schema.NullOr(Schema.Uint8ArrayFromBase64) }))
}).annotate({ identifier: "ExportedMessage", description: "A message, with its file as base64." })
export interface ExportedMessage extends Schema.Schema.Type<typeof ExportedMessage> {}

export const ExportedSend = Schema.Struct({ ...Send.fields, recipient: Schema.String, content: Content }).annotate({
  identifier: "ExportedSend",
  description: "An order to send a message to the person."
})
export interface ExportedSend extends Schema.Schema.Type<typeof ExportedSend> {}

/** Schema for everything about a person. An export is one JSON document of it. */
export const ContactExport = Schema.Struct({
  exported_at: Timestamp,
  contact: Contact,
  names: Schema.Array(Schema.Struct({ channel_type: ChannelType, name: Schema.String })).annotate({
    description: "Every id under which the networks know the person."
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

const toJson = {
  time: Schema.encodeSync(Timestamp),
  contact: Schema.encodeSync(Contact),
  conversation: Schema.encodeSync(Conversation),
  send: Schema.encodeSync(ExportedSend),
  message: Schema.encodeSync(ExportedMessage)
}

// ----------------------------------------------------------- decisions

/** How many messages one step erases, and how many one page of an export holds. */
const [erased_at_once, exported_at_once] = [500, 50]

/** Returns the pieces of a JSON object whose last field is an array of items, each in pieces itself. */
const written = <E, R, E2, R2>(
  head: object,
  name: string,
  items: Stream.Stream<Stream.Stream<string, E, R>, E2, R2>
): Stream.Stream<string, E | E2, R | R2> =>
  Stream.concat(
    Stream.make(`${JSON.stringify(head).slice(0, -1)},${JSON.stringify(name)}:`),
    Stream.flatten(
      Stream.intersperseAffixes(items, { start: Stream.make("["), middle: Stream.make(","), end: Stream.make("]}") })
    )
  )

/** Erases what a contact's own row, its identities and their names hold. An erased contact stays as it is. */
export const erase = (
  { found, names }: { readonly found: Option.Option<LoadedContact>; readonly names: ReadonlyArray<LoadedNetworkId> },
  { now }: DecisionContext
): Result.Result<Changes.Decision<LoadedContact>, ContactNotFound> => {
  if (Option.isNone(found)) return Result.fail(new ContactNotFound())
  const contact = found.value
  const identities = contact.identities.map((identity) => ({
    ...identity,
    // Unique, as the id of an account must be.
    external_id: `erased-${identity.id}`,
    display_name: null,
    username: null
  }))
  const fields = Struct.omit(emptyContact, ["last_activity_at", "last_activity_preview", "last_conversation_id"])
  const set = { ...fields, first_name: erased, identities }
  const isErased = Object.entries(set).every(([name, value]) =>
    JSON.stringify(contact[name as keyof typeof set]) === JSON.stringify(value)
  )
  if (isErased && names.length === 0) return Result.succeed({ answer: contact, changes: Changes.none })
  const versions = new Map(names.map(({ identity_id, identity_version }) => [identity_id, identity_version]))
  return Result.succeed({
    answer: contact,
    changes: Changes.all(
      change(contact, set, now).changes,
      ...identities.flatMap(({ id, ...identity }) => {
        const version = versions.get(id)
        return version === undefined
          ? []
          : [IdentityRows.update({ id, version }, Struct.omit(identity, ["channel_type"]))]
      }),
      ...names.map((name) => IdentityNetworkIdRows.remove(name))
    )
  })
}

// ---------------------------------------------------------------- port

/** A name of an identity, with the version of the identity. */
export interface LoadedNetworkId extends IdentityNetworkId {
  readonly identity_version: Changes.Version
}

/**
 * Port: what an export reads and an erasure writes beside the contact itself.
 *
 * **Contract** (checked by `conformance/PersonalData.ts`)
 *
 * - `names` returns every name of the contact's identities, `conversations` its
 *   conversations and `sends` the sends of one, each in any order.
 * - `eraseMessages` erases at most `limit` messages of the contact that are not
 *   erased: their text is `[erased]`, their details and the name of a person who wrote are null, and
 *   their file and the row of their provider id are deleted. Returns their number.
 * - `eraseRest` erases the sends of the contact (those that have not ended fail
 *   with `recipient_opted_out`), the previews and categories of its conversations,
 *   closes their reply windows, brings copies of the contact's text up to date, and deletes idempotency records whose body
 *   contains the contact's id, and the answers of endpoints to events about its
 *   conversations.
 * - `eraseCallbacks` deletes the stored callbacks of the organization's channels
 *   that are about one of the people.
 * - Nothing of another contact or organization is changed. Each may be repeated.
 */
export class PersonalDataStore extends Context.Service<PersonalDataStore, {
  readonly names: (
    organization_id: OrganizationId,
    contact_id: ContactId
  ) => Effect.Effect<ReadonlyArray<LoadedNetworkId>>
  readonly conversations: (
    organization_id: OrganizationId,
    contact_id: ContactId
  ) => Effect.Effect<ReadonlyArray<ConversationRow>>
  readonly sends: (
    organization_id: OrganizationId,
    conversation_id: ConversationRow["id"]
  ) => Effect.Effect<ReadonlyArray<SendRow>>
  readonly eraseMessages: (
    organization_id: OrganizationId,
    contact_id: ContactId,
    limit: number
  ) => Effect.Effect<number>
  readonly eraseRest: (organization_id: OrganizationId, contact_id: ContactId) => Effect.Effect<void>
  readonly eraseCallbacks: (organization_id: OrganizationId, people: ReadonlyArray<string>) => Effect.Effect<void>
}>()("@messaging-crm/core/PersonalData/PersonalDataStore") {}

// ---------------------------------------------------------- operations

/** Operations on everything that is stored about one of the current actor's contacts. */
export class PersonalData extends Context.Service<PersonalData, {
  /**
   * Returns everything about a contact as the text of one `ContactExport` in JSON,
   * in pieces, so that a person's files need not fit into memory together.
   */
  readonly export: (id: ContactId) => Stream.Stream<string, ContactNotFound, CurrentActor>
  /**
   * Erases a contact: its fields, its names on the networks, the texts and files
   * of its messages. Repeating it changes nothing, and erases what came in meanwhile.
   */
  readonly erase: (id: ContactId) => Effect.Effect<void, ContactNotFound | ConcurrentChanges, CurrentActor>
}>()("@messaging-crm/core/PersonalData") {
  static readonly layer = Layer.effect(
    PersonalData,
    Effect.gen(function*() {
      const { runAudited } = yield* Decide
      const contacts = yield* ContactStore
      const media = yield* MediaStore
      const messages = yield* MessageStore
      const store = yield* PersonalDataStore

      /** Returns the bytes of a file, or null if it is removed meanwhile. */
      const readFile = Effect.fnUntraced(function*(organization_id: OrganizationId, id: MediaId) {
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

      const exportMessage = Effect.fnUntraced(function*(organization_id: OrganizationId, message: Message) {
        const bytes = message.media?.id ? yield* readFile(organization_id, message.media.id) : null
        return toJson.message({ ...message, media: message.media === null ? null : { ...message.media, bytes } })
      })

      const messagesOf = (organization_id: OrganizationId, conversation: ConversationRow) =>
        Stream.paginate(null as Position | null, (after) => {
          const page: PageRequest = { after, size: exported_at_once }
          return Effect.map(messages.list(organization_id, conversation.id, page), (found) => {
            const last = found.length < exported_at_once ? undefined : found.at(-1)
            return [found, Option.map(Option.fromUndefinedOr(last), ({ created_at, id }) => ({ at: created_at, id }))]
          })
        }).pipe(Stream.mapEffect((message) => exportMessage(organization_id, message)))

      const conversationOf = Effect.fnUntraced(function*(organization_id: OrganizationId, row: ConversationRow) {
        const sends = yield* store.sends(organization_id, row.id)
        const head = {
          conversation: toJson.conversation(toConversation(row)),
          sends: sends.map((send) => toJson.send(Struct.pick(send, Struct.keys(ExportedSend.fields))))
        }
        const pieces = Stream.map(messagesOf(organization_id, row), (message) => Stream.make(JSON.stringify(message)))
        return written(head, "messages", pieces)
      })

      const exportContact = (id: ContactId) =>
        Stream.unwrap(
          operation("contacts.export")(function*() {
            const { organization_id } = yield* CurrentActor
            const { found, names, rows } = yield* Effect.all({
              found: contacts.find(organization_id, id),
              names: store.names(organization_id, id),
              rows: store.conversations(organization_id, id)
            }, concurrently)
            const contact = yield* Effect.fromOption(found, () => new ContactNotFound())
            const head = {
              exported_at: toJson.time(yield* DateTime.now),
              contact: toJson.contact(contact),
              names: names.map(Struct.pick(["channel_type", "name"]))
            }
            const conversations = Stream.fromIterable(rows).pipe(
              Stream.map((row) => Stream.unwrap(conversationOf(organization_id, row)))
            )
            return written(head, "conversations", conversations)
          })()
        )

      const eraseStored = (organization_id: OrganizationId, id: ContactId) =>
        store.eraseMessages(organization_id, id, erased_at_once).pipe(
          Effect.repeat({ until: (erased) => erased < erased_at_once }),
          Effect.andThen(store.eraseRest(organization_id, id))
        )

      const eraseContact = operation("contacts.erase")(function*(id: ContactId) {
        const { organization_id } = yield* CurrentActor
        const load = Effect.all({
          found: contacts.load(organization_id, id),
          names: store.names(organization_id, id)
        }, concurrently)
        const { found, names } = yield* load
        const { primary_phone } = yield* Effect.fromOption(found, () => new ContactNotFound())
        const phone = primary_phone === null ? [] : [primary_phone]
        // Callbacks name people without a plus sign.
        const people = [...names.map(({ name }) => name), ...phone].map((name) => name.replace(/^\+/, ""))
        yield* store.eraseCallbacks(organization_id, people)
        yield* eraseStored(organization_id, id)
        yield* runAudited("contacts.erase", { load, decide: erase })
        // What was committed by others until the names were gone, and what the sends among it told.
        yield* eraseStored(organization_id, id)
        yield* runAudited("contacts.erase", { load, decide: erase })
      })

      return PersonalData.of({ export: exportContact, erase: eraseContact })
    })
  )
}
