/**
 * Contact erasure: removes a person's data (contract §20.2).
 *
 * It keeps the rows that others refer to, with `[erased]` in place of what they contained about the person, so that
 * conversations keep their shape. It runs in steps, each of which can be repeated: to finish an interrupted erasure,
 * run it again.
 */
import { Effect, Equal, Option, Result, Stream, Struct } from "effect"
import { IdentityNetworkIdRows, IdentityRows } from "../contacts/ContactIdentities.ts"
import {
  changeContact,
  ContactNotFound,
  ContactStore,
  emptyContact,
  erasedExternalId,
  type LoadedContact,
  no_marketing_preference
} from "../contacts/Contacts.ts"
import { type ConversationRow, ConversationRows } from "../conversations/Conversations.ts"
import { CurrentActor } from "../kernel/Actor.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import type { ContactId, OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import type { PageRequest } from "../kernel/Page.ts"
import { spellings } from "../kernel/Phones.ts"
import { erased } from "../kernel/Text.ts"
import { MediaRows } from "../messages/Media.ts"
import {
  eraseProviderMessage,
  type LookedUpMessage,
  makeLookUpMessage,
  type MessageRow,
  MessageRows
} from "../messages/Messages.ts"
import { type SendRow, SendRows, SendState } from "../sends/Sends.ts"
import * as Changes from "../work/Changes.ts"
import { Decide, type DecisionContext } from "../work/Decide.ts"
import { inPages, type LoadedNetworkId, PersonalDataStore } from "./PersonalDataStore.ts"

// ----------------------------------------------------------- decisions

/**
 * The maximum size of the files that one commit of an erasure deletes, unless a single file is larger: a statement
 * has 5 seconds.
 */
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
const hasValues = (row: object, set: object): boolean => Equal.equals({ ...row, ...set }, { ...row })

/** A message, with the row of its provider's ID; null if it has none. */
interface LoadedMessage extends MessageRow {
  readonly lookedUp: LookedUpMessage | null
}

/** Erases a message, with its file. Of its provider's ID, only the erased ID stays. */
const eraseMessage = ({ lookedUp, ...message }: LoadedMessage, { now }: DecisionContext): Changes.Changes => {
  const { direction, media, sender } = message
  const set = {
    text: erased,
    media: null,
    details: null,
    provider_message_id: null,
    sender: direction === "inbound" ? { ...sender, name: null } : sender
  }
  return hasValues(message, set) ? Changes.none : Changes.all(
    MessageRows.update(message, set),
    media?.id ? MediaRows.remove({ id: media.id }) : Changes.none,
    lookedUp === null ? Changes.none : eraseProviderMessage(lookedUp, now)
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

const erasedIdentity = (identity: LoadedContact["identities"][number]): LoadedContact["identities"][number] => ({
  ...identity,
  external_id: erasedExternalId(identity.id),
  display_name: null,
  username: null,
  ...no_marketing_preference
})

/** Erases the contents of a contact's row, of its identities, and of their network IDs. An erased contact does not change. */
const eraseContact = (
  { found, network_ids }: {
    readonly found: Option.Option<LoadedContact>
    readonly network_ids: ReadonlyArray<LoadedNetworkId>
  },
  context: DecisionContext
): Result.Result<Changes.Decision<LoadedContact>, ContactNotFound> => {
  if (Option.isNone(found)) return Result.fail(new ContactNotFound())
  const contact = found.value
  const identities = contact.identities.map(erasedIdentity)
  const set = {
    ...Struct.omit(emptyContact, ["last_activity_at", "last_conversation_id"]),
    last_activity_preview: erasedPreview(contact),
    first_name: erased,
    identities
  }
  if (hasValues(contact, set) && network_ids.length === 0) {
    return Result.succeed({ result: contact, changes: Changes.none })
  }
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

// ---------------------------------------------------------- operations

/** Makes the function that erases the messages and sends of a conversation. */
const makeEraseContents = Effect.gen(function*() {
  const { run } = yield* Decide
  const lookUpMessage = yield* makeLookUpMessage
  const store = yield* PersonalDataStore

  /** Erases rows of a conversation in pages, in a commit each. */
  const eraseInPages = <Row extends MessageRow | SendRow>(
    organization_id: OrganizationId,
    load: (page: PageRequest) => Effect.Effect<ReadonlyArray<Row>>,
    eraseRow: (row: Row, context: DecisionContext) => Changes.Changes
  ) =>
    Stream.runDrain(inPages((page) =>
      run(organization_id, {
        load: load(page),
        decide: (rows, context) =>
          Result.succeed({ result: rows, changes: Changes.all(...rows.map((row) => eraseRow(row, context))) })
      })
    ))

  const loadMessages = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    { channel_id, id }: ConversationRow,
    page: PageRequest
  ) {
    const messages = withinFileBytes(yield* store.messages(organization_id, id, page))
    return yield* Effect.forEach(messages, (message): Effect.Effect<LoadedMessage> => {
      const { provider_message_id } = message
      return provider_message_id === null
        ? Effect.succeed({ ...message, lookedUp: null })
        : Effect.map(
          lookUpMessage(organization_id, { channel_id, provider_message_id }),
          (lookedUp) => ({ ...message, lookedUp })
        )
    }, concurrently)
  })

  return Effect.fnUntraced(function*(organization_id: OrganizationId, conversation: ConversationRow) {
    // First the sends: one that the provider accepts from then on stores no message.
    yield* eraseInPages(organization_id, (page) => store.sends(organization_id, conversation.id, page), eraseSend)
    yield* eraseInPages(organization_id, (page) => loadMessages(organization_id, conversation, page), eraseMessage)
  })
})

/** Makes the function that erases the conversations of a contact. */
const makeEraseConversations = Effect.gen(function*() {
  const { run } = yield* Decide
  const eraseContents = yield* makeEraseContents
  const store = yield* PersonalDataStore

  return Effect.fnUntraced(function*(organization_id: OrganizationId, id: ContactId) {
    const load = store.conversations(organization_id, id)
    const eraseRows = run(organization_id, {
      load,
      decide: (rows) => Result.succeed({ result: undefined, changes: Changes.all(...rows.map(eraseConversation)) })
    })
    // Commits that were decided with the person's data conflict from now on. The rows of earlier commits are erased below.
    yield* eraseRows
    yield* Effect.forEach(yield* load, (row) => eraseContents(organization_id, row), { discard: true })
    yield* eraseRows
  })
})

export const makeErase = Effect.gen(function*() {
  const contacts = yield* ContactStore
  const eraseConversations = yield* makeEraseConversations
  const { write } = yield* Decide
  const store = yield* PersonalDataStore

  const eraseFields = write("contacts.erase", function*(id: ContactId) {
    const { organization_id } = yield* CurrentActor
    return {
      load: Effect.all({
        found: contacts.load(organization_id, id),
        network_ids: store.networkIds(organization_id, id)
      }, concurrently),
      decide: eraseContact
    }
  })

  return operation("contacts.erase")(function*(id: ContactId) {
    const { organization_id } = yield* CurrentActor
    const { primary_phone } = yield* Effect.fromOption(
      yield* contacts.load(organization_id, id),
      () => new ContactNotFound()
    )
    yield* store.eraseCallbacks(organization_id, id, primary_phone === null ? [] : spellings(primary_phone))
    // From here on, the person's network IDs lead to no identity. What was decided before can still be committed until
    // `eraseConversations` has written the conversations, so it runs after this, and then the contact's preview is erased.
    yield* eraseFields(id)
    yield* eraseConversations(organization_id, id)
    yield* eraseFields(id)
    // Last: until the contact's preview is erased, a request can load it and commit copies.
    yield* store.eraseCopies(organization_id, id)
  })
})
