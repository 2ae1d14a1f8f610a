/**
 * Send completion: the changes that record that a send was accepted by the provider, or has failed (contract §12.4, §12.8).
 */
import { Effect, Option } from "effect"
import { addAliases } from "../contacts/ContactIdentities.ts"
import * as Events from "../events/Events.ts"
import { concurrently } from "../kernel/Concurrency.ts"
import type { ChannelId, ContactId, OrganizationId, SendId } from "../kernel/Ids.ts"
import { erased } from "../kernel/Text.ts"
import {
  applyUpdate,
  arrived,
  clamped,
  earlyUpdates,
  eraseProviderMessage,
  insert as insertMessage,
  isErased,
  type LookedUpMessage,
  makeLookUpMessage,
  type Message,
  type MessageRow,
  newMessage,
  resourceOf,
  revise,
  type StatusUpdate,
  updateEvent
} from "../messages/Messages.ts"
import * as Changes from "../work/Changes.ts"
import type { DecisionContext } from "../work/Decide.ts"
import type { Accepted, FailureReason } from "./MessagingProvider.ts"
import { isOpen, isUnproven, type OutgoingSend, type SendRow, SendRows, SendState, SendStore } from "./Sends.ts"

// ----------------------------------------------------------- decisions

/** The rows that `complete` needs. */
export interface Loaded {
  readonly outgoing: Option.Option<OutgoingSend>
  readonly provider_message: LookedUpMessage
}

const senderOf = ({ member_name, send }: OutgoingSend): Message["sender"] =>
  send.member_id === null ? { type: "system", name: null } : { type: "member", name: member_name }

const acceptedMessage = (
  outgoing: OutgoingSend,
  reported: Pick<Message, "provider_message_id" | "sent_at">,
  context: DecisionContext
): Message => {
  const { content: { text, type }, conversation_id } = outgoing.send
  return newMessage({
    conversation_id,
    direction: "outbound",
    type,
    text,
    sender: senderOf(outgoing),
    status: "sent",
    details: null,
    ...reported
  }, context)
}

/** Returns `message.sent`, and `message.updated` where an early report has already moved the status on. */
export const messageEvents = (
  contact_id: ContactId,
  message: Message,
  context: DecisionContext
): Changes.Changes => {
  const { conversation_id, id: message_id, status } = message
  const data = { conversation_id, message_id }
  const resource = resourceOf(contact_id, message)
  const sent = Changes.raise(Events.make("message.sent", data, context, resource))
  if (status === "sent" || status === "received") return sent
  return Changes.all(sent, Changes.raise(Events.make("message.updated", { ...data, status }, context, resource)))
}

/** Fails a send that has not ended, and raises `send.failed`. */
export const fail = (send: SendRow, failure_reason: FailureReason, context: DecisionContext): Changes.Changes => {
  if (!isOpen(send)) return Changes.none
  const { conversation_id, id: send_id } = send
  return Changes.all(
    SendRows.update(send, SendState.fail(send, failure_reason)),
    Changes.raise(Events.make("send.failed", { conversation_id, send_id, failure_reason }, context))
  )
}

/**
 * Returns whether the stored message with a send's provider message ID is the message of that send.
 *
 * If the contents differ, it is not: the provider reused the id. If the network reported it as written in its own app
 * before it responded, it is.
 */
const isMessageOf = ({ content, conversation_id }: SendRow, message: Message): boolean =>
  message.direction === "outbound" && message.conversation_id === conversation_id &&
  (message.text === content.text || message.sender.type === "business_app")

/** Returns whether the send was to a person whose data is erased. */
export const isToErased = ({ outgoing }: Loaded): boolean =>
  Option.exists(outgoing, ({ send }) => send.recipient === erased)

/** Returns whether the provider may have accepted the send, which is not known yet. */
export const isAwaited = (loaded: Loaded): boolean =>
  !isToErased(loaded) && Option.exists(loaded.outgoing, ({ send }) => isUnproven(send))

/**
 * Keeps only the erased ID of the message of a send to a person whose data is erased, so that later reports about it are not stored. A
 * stored message keeps its ID.
 */
const forgetMessage = ({ provider_message }: Loaded, { now }: DecisionContext): Changes.Changes =>
  isErased(provider_message) || Option.isSome(arrived(provider_message.found))
    ? Changes.none
    : eraseProviderMessage(provider_message, now)

/**
 * Links a send to a message that is stored already, and corrects the sender of one that was reported as written in
 * the network's app.
 */
const adopt = (
  known: MessageRow & { readonly contact_id: ContactId },
  outgoing: OutgoingSend,
  update: StatusUpdate | null,
  context: DecisionContext
): Changes.Changes => {
  const own = known.sender.type === "business_app" ? { ...known, sender: senderOf(outgoing) } : known
  const after = update === null ? own : applyUpdate(own, update)
  return Changes.all(
    SendRows.update(outgoing.send, SendState.accept(outgoing.send, known.id)),
    after === known ? Changes.none : revise(known.contact_id, known, after),
    update === null ? Changes.none : updateEvent(known.contact_id, known, after, update, context)
  )
}

/**
 * Records that the provider accepted a send, known from the response to an attempt
 * or from a callback with the reference, whichever comes first. Inserts the
 * message with the updates that arrived before it, and with the status that the
 * callback reports. If the provider has reused an ID, the ID stays with its first
 * message, and this one is stored without it.
 */
export const complete = (
  loaded: Loaded,
  { provider_message_id, recipient_aliases = [], sent_at }: Accepted,
  update: StatusUpdate | null,
  context: DecisionContext
): Changes.Changes => {
  const { outgoing, provider_message } = loaded
  if (Option.isNone(outgoing)) return Changes.none
  const { channel, contact_id, identity_id, send: row } = outgoing.value
  // What the provider reports about a person whose data was erased is not stored.
  if (isToErased(loaded)) return forgetMessage(loaded, context)
  const aliases = addAliases(channel.type, identity_id, recipient_aliases)
  // A concurrent erasure of the person writes the send, and so makes this commit fail.
  const aliasesOnly = recipient_aliases.length === 0 ? Changes.none : Changes.all(aliases, SendRows.expect(row))
  if (!isUnproven(row)) return aliasesOnly
  const { found } = provider_message
  const known = Option.getOrNull(arrived(found))
  if (known !== null && isMessageOf(row, known)) {
    return Changes.all(aliases, adopt(known, outgoing.value, update, context))
  }
  const named = {
    provider_message_id: known === null && !isErased(provider_message) ? provider_message_id : null,
    sent_at: clamped(sent_at ?? context.now, context.now)
  }
  const accepted = acceptedMessage(outgoing.value, named, context)
  const message = [...earlyUpdates(found), ...update === null ? [] : [update]].reduce(applyUpdate, accepted)
  return Changes.all(
    aliases,
    insertMessage(row.channel_id, contact_id, found, message),
    SendRows.update(row, SendState.accept(row, message.id)),
    messageEvents(contact_id, message, context)
  )
}

// ---------------------------------------------------------- operations

/**
 * Makes the function that loads what `complete` needs.
 *
 * It reuses the send loaded at the start of the attempt, unless its message is already stored. If the send has changed
 * since, the commit conflicts and the send is reloaded.
 */
export const makeLoadCompletion = Effect.gen(function*() {
  const lookUpMessage = yield* makeLookUpMessage
  const sends = yield* SendStore

  return Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    { channel_id, provider_message_id, send_id }: {
      readonly channel_id: ChannelId
      readonly provider_message_id: string
      readonly send_id: SendId
    },
    begun?: OutgoingSend
  ) {
    const load = sends.load(organization_id, send_id)
    const lookUp = lookUpMessage(organization_id, { channel_id, provider_message_id })
    if (begun === undefined) return yield* Effect.all({ outgoing: load, provider_message: lookUp }, concurrently)
    const provider_message = yield* lookUp
    const isStored = Option.isSome(provider_message.found)
    return { outgoing: isStored ? yield* load : Option.some(begun), provider_message }
  })
})
