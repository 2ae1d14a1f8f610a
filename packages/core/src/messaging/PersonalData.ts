/**
 * Personal data: everything about one person, exported or erased (contract §20).
 *
 * An erasure keeps the rows that others refer to, with `[erased]` in place of what
 * they contained about the person, so that conversations keep their shape. It runs in
 * steps, each of which can be repeated: to finish an interrupted erasure, run it again.
 */
import { Context, DateTime, Effect, Equal, Layer, Option, Result, Stream, Struct } from "effect"
import { type IdentityNetworkId, IdentityNetworkIdRows, IdentityRows } from "../contacts/ContactIdentities.ts"
import {
  changeContact,
  Contact,
  ContactNotFound,
  ContactStore,
  emptyContact,
  erasedExternalId,
  type LoadedContact
} from "../contacts/Contacts.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { Codecs } from "../kernel/Codecs.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import type { ContactId, MediaId, OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import type { PageRequest, Position } from "../kernel/Page.ts"
import { erased } from "../kernel/Text.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import * as Changes from "../work/Changes.ts"
import { type ConcurrentChanges, Decide, type DecisionContext } from "../work/Decide.ts"
import { ExportedMessage, ExportedSend, written } from "./ContactExport.ts"
import { Conversation, type ConversationRow, ConversationRows, toConversation } from "./Conversations.ts"
import { MediaRows, MediaStore } from "./Media.ts"
import { type Message, type MessageRow, MessageRows, ProviderMessageRows } from "./Messages.ts"
import { type SendRow, SendRows, SendState } from "./outbound/Sends.ts"

export { ContactExport, export_schema } from "./ContactExport.ts"

// ----------------------------------------------------------- decisions

/** The number of messages or sends on one page of an export, and the maximum number of rows that one commit of an erasure writes. */
const page_size = 100

/** The maximum size of the files that one commit of an erasure deletes, unless a single file is larger: a statement has 5 seconds. */
const file_bytes_max = 100_000_000

/** Returns the first messages whose files together are not too large for one commit. */
export const withinFileBytes = (messages: ReadonlyArray<MessageRow>): ReadonlyArray<MessageRow> => {
  let bytes = 0
  const end = messages.findIndex(({ media }, index) => {
    bytes += media?.id ? media.byte_size ?? 0 : 0
    return index > 0 && bytes > file_bytes_max
  })
  return end === -1 ? messages : messages.slice(0, end)
}

/** Returns whether a row has these values already. */
const has = (row: object, set: object): boolean => Equal.equals({ ...row, ...set }, { ...row })

/** Erases a message of a conversation, with its file and the row of its provider's id. */
export const eraseMessage = (
  { channel_id }: Pick<ConversationRow, "channel_id">,
  message: MessageRow
): Changes.Changes => {
  const { direction, media, provider_message_id, sender } = message
  const set = {
    text: erased,
    media: null,
    details: null,
    provider_message_id: null,
    sender: direction === "inbound" ? { ...sender, name: null } : sender
  }
  return has(message, set) ? Changes.none : Changes.all(
    MessageRows.update(message, set),
    media?.id ? MediaRows.remove({ id: media.id }) : Changes.none,
    provider_message_id === null ? Changes.none : ProviderMessageRows.remove({ channel_id, provider_message_id })
  )
}

/** Erases a send. One that has not ended fails. */
const eraseSend = (send: SendRow): Changes.Changes =>
  send.recipient === erased ? Changes.none : SendRows.update(send, {
    content: { type: "text", text: erased },
    recipient: erased,
    ...SendState.fail(send, "recipient_opted_out")
  })

/** Returns the preview of a contact's or conversation's last activity after an erasure. */
const erasedPreview = ({ last_activity_preview }: Pick<ConversationRow, "last_activity_preview">) =>
  last_activity_preview === null ? null : erased

/**
 * Erases the preview and the category of a conversation, and closes its reply window. The row is always written, so that
 * a concurrent change that has loaded the person's names conflicts, and stores no event with them.
 */
const eraseConversation = (conversation: ConversationRow): Changes.Changes =>
  ConversationRows.update(conversation, {
    last_activity_preview: erasedPreview(conversation),
    close_category: null,
    last_inbound_at: null
  })

/** Erases the contents of a contact's row, of its identities, and of their network IDs. An erased contact does not change. */
export const erase = (
  { found, network_ids }: {
    readonly found: Option.Option<LoadedContact>
    readonly network_ids: ReadonlyArray<LoadedNetworkId>
  },
  context: DecisionContext
): Result.Result<Changes.Decision<LoadedContact>, ContactNotFound> => {
  if (Option.isNone(found)) return Result.fail(new ContactNotFound())
  const contact = found.value
  const identities = contact.identities.map((identity) => ({
    ...identity,
    external_id: erasedExternalId(identity.id),
    display_name: null,
    username: null
  }))
  const set = {
    ...Struct.omit(emptyContact, ["last_activity_at", "last_conversation_id"]),
    last_activity_preview: erasedPreview(contact),
    first_name: erased,
    identities
  }
  if (has(contact, set) && network_ids.length === 0) return Result.succeed({ result: contact, changes: Changes.none })
  const versions = new Map(network_ids.map(({ identity_id, identity_version }) => [identity_id, identity_version]))
  return Result.succeed({
    result: contact,
    changes: Changes.all(
      changeContact(contact, set, context).changes,
      ...identities.flatMap(({ id, ...identity }) => {
        const version = versions.get(id)
        return version === undefined
          ? []
          : [IdentityRows.update({ id, version }, Struct.omit(identity, ["channel_type"]))]
      }),
      ...network_ids.map((network_id) => IdentityNetworkIdRows.remove(network_id))
    )
  })
}

// ---------------------------------------------------------------- port

/** A network ID, with the version of its identity. */
export interface LoadedNetworkId extends IdentityNetworkId {
  readonly identity_version: Changes.Version
}

/**
 * Port: what is stored about a contact in other resources.
 *
 * **Contract** (checked by `conformance/Ports/PersonalData.ts`)
 *
 * - `networkIds` returns every network ID of the contact's identities, `conversations` returns
 *   its conversations, each in any order. `messages` and `sends` return a page of the messages or
 *   sends of a conversation, the newest first, then by the greatest id.
 * - `eraseCopies` deletes the idempotency records whose body contains the contact's ID, and all other records with
 *   the same fingerprints. It removes the resources of events about the contact, its conversations, and its messages,
 *   and the endpoints' responses to such events. The versions of their deliveries that are pending or have a response increase.
 * - `eraseCallbacks` deletes the stored callbacks of the organization's channels that are about the contact: those with
 *   one of its network IDs on this type of channel, without the plus sign, or with its phone, unless that is a network ID
 *   of another contact when they are deleted.
 * - Nothing of another contact or organization is changed. Each may be repeated.
 */
export class PersonalDataStore extends Context.Service<PersonalDataStore, {
  readonly networkIds: (
    organization_id: OrganizationId,
    contact_id: ContactId
  ) => Effect.Effect<ReadonlyArray<LoadedNetworkId>>
  readonly conversations: (
    organization_id: OrganizationId,
    contact_id: ContactId
  ) => Effect.Effect<ReadonlyArray<ConversationRow>>
  readonly messages: (
    organization_id: OrganizationId,
    conversation_id: ConversationRow["id"],
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<MessageRow>>
  readonly sends: (
    organization_id: OrganizationId,
    conversation_id: ConversationRow["id"],
    page: PageRequest
  ) => Effect.Effect<ReadonlyArray<SendRow>>
  readonly eraseCopies: (organization_id: OrganizationId, contact_id: ContactId) => Effect.Effect<void>
  readonly eraseCallbacks: (organization_id: OrganizationId, contact_id: ContactId) => Effect.Effect<void>
}>()("@messaging-crm/core/PersonalData/PersonalDataStore") {}

/** Returns the rows of a conversation, in the pages that `read` returns. A page can be shorter than requested; the last one is empty. */
const inPages = <Row extends MessageRow | SendRow, E, R>(
  read: (page: PageRequest) => Effect.Effect<ReadonlyArray<Row>, E, R>
) =>
  Stream.paginate(null as Position | null, (after) =>
    Effect.map(read({ after, size: page_size }), (found) => {
      const last = found.at(-1)
      return [found, Option.map(Option.fromUndefinedOr(last), ({ created_at, id }) => ({ at: created_at, id }))]
    }))

// ---------------------------------------------------------- operations

/** Makes the function that exports a contact. */
const makeExport = Effect.gen(function*() {
  const { encode } = yield* Codecs
  const contacts = yield* ContactStore
  const media = yield* MediaStore
  const store = yield* PersonalDataStore

  const encodeMessage = encode(ExportedMessage)
  const encodeSend = encode(ExportedSend)

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
    return yield* encodeMessage({ ...message, media: message.media === null ? null : { ...message.media, bytes } })
  })

  const messagesOf = (organization_id: OrganizationId, { id }: ConversationRow) =>
    inPages((page) => store.messages(organization_id, id, page)).pipe(
      Stream.mapEffect((message) => exportMessage(organization_id, message))
    )

  const sendsOf = (organization_id: OrganizationId, { id }: ConversationRow) =>
    inPages((page) => store.sends(organization_id, id, page)).pipe(
      Stream.mapEffect((send) => encodeSend(Struct.pick(send, Struct.keys(ExportedSend.fields))))
    )

  const conversationOf = Effect.fnUntraced(function*(organization_id: OrganizationId, row: ConversationRow) {
    return written({ conversation: yield* encode(Conversation)(toConversation(row)) }, {
      sends: Stream.map(sendsOf(organization_id, row), (send) => Stream.make(JSON.stringify(send))),
      messages: Stream.map(messagesOf(organization_id, row), (message) => Stream.make(JSON.stringify(message)))
    })
  })

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
          exported_at: yield* encode(Timestamp)(yield* DateTime.now),
          contact: yield* encode(Contact)(contact),
          names: network_ids.map(Struct.pick(["channel_type", "name"]))
        }
        const conversations = Stream.fromIterable(rows).pipe(
          Stream.mapEffect((row) => conversationOf(organization_id, row))
        )
        return written(head, { conversations })
      })()
    )
})

/** Makes the function that erases a contact. */
const makeErase = Effect.gen(function*() {
  const { run, runAudited } = yield* Decide
  const contacts = yield* ContactStore
  const store = yield* PersonalDataStore

  const eraseConversationOf = Effect.fnUntraced(function*(organization_id: OrganizationId, row: ConversationRow) {
    const loadMessages = (page: PageRequest): Effect.Effect<ReadonlyArray<MessageRow>> =>
      Effect.map(store.messages(organization_id, row.id, page), withinFileBytes)
    const messages = inPages((page) =>
      run(organization_id, {
        load: loadMessages(page),
        decide: (found) =>
          Result.succeed({
            result: found,
            changes: Changes.all(...found.map((message) => eraseMessage(row, message)))
          })
      })
    )
    const sends = inPages((page) =>
      run(organization_id, {
        load: store.sends(organization_id, row.id, page),
        decide: (found) => Result.succeed({ result: found, changes: Changes.all(...found.map(eraseSend)) })
      })
    )
    yield* Stream.runDrain(messages)
    yield* Stream.runDrain(sends)
  })

  const eraseStored = Effect.fnUntraced(function*(organization_id: OrganizationId, id: ContactId) {
    const load = store.conversations(organization_id, id)
    const eraseConversations = run(organization_id, {
      load,
      decide: (rows) => Result.succeed({ result: undefined, changes: Changes.all(...rows.map(eraseConversation)) })
    })
    // Commits that were decided with the person's data conflict from now on. The rows of earlier commits are erased below.
    yield* eraseConversations
    yield* Effect.forEach(yield* load, (row) => eraseConversationOf(organization_id, row), { discard: true })
    yield* eraseConversations
    yield* store.eraseCopies(organization_id, id)
  })

  return operation("contacts.erase")(function*(id: ContactId) {
    const { organization_id } = yield* CurrentActor
    const load = Effect.all({
      found: contacts.load(organization_id, id),
      network_ids: store.networkIds(organization_id, id)
    }, concurrently)
    yield* Effect.fromOption(yield* contacts.load(organization_id, id), () => new ContactNotFound())
    yield* store.eraseCallbacks(organization_id, id)
    // From here on, the person's network IDs lead to no identity. What was decided before can still be committed until
    // `eraseStored` has written the conversations, so it runs after this, and then the contact's preview is erased.
    yield* runAudited("contacts.erase", { load, decide: erase })
    yield* eraseStored(organization_id, id)
    yield* runAudited("contacts.erase", { load, decide: erase })
  })
})

/** Operations on everything that is stored about one of the current actor's contacts. */
export class PersonalData extends Context.Service<PersonalData, {
  /**
   * Returns everything about a contact as the text of one `ContactExport` in JSON,
   * in pieces, so that a person's files need not fit into memory together.
   */
  readonly export: (id: ContactId) => Stream.Stream<string, ContactNotFound, CurrentActor>
  /**
   * Erases a contact: its fields, its network IDs, the texts and files of its messages.
   * Repeating it erases what arrived meanwhile, and changes nothing else.
   */
  readonly erase: (id: ContactId) => Effect.Effect<void, ContactNotFound | ConcurrentChanges, CurrentActor>
}>()("@messaging-crm/core/PersonalData") {
  static readonly layer = Layer.effect(
    PersonalData,
    Effect.gen(function*() {
      return PersonalData.of({ export: yield* makeExport, erase: yield* makeErase })
    })
  )
}
