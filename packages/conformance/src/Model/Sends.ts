/** The model of sends and their status updates (contract §12). */
import type { Channel } from "@messaging-crm/core/Channels"
import { DateTime } from "effect"
import { open } from "./Conversations.ts"
import { raise } from "./Events.ts"
import { addMessage } from "./Messages.ts"
import { newestFirst, ok, type Outcome, rejected, showMessage, showSend } from "./Results.ts"
import type { Conversation, Message, Organization, Report, Send } from "./State.ts"

/** Returns the error of sending this template on the channel, if any. */
const findRejection = (channel: Channel, template: string): Outcome | null => {
  if (channel.type !== "phone_messaging") return rejected("ChannelTypeUnsuited")
  if (template === "unknown") return rejected("TemplateNotFound")
  return template === "greeting" ? null : rejected("TemplateValuesMismatch")
}

const queue = (
  organization: Organization,
  conversation: Conversation,
  content: Send["content"],
  recipient = conversation.identity.external_id
) => {
  const send: Send = {
    id: organization.newName(),
    conversation,
    recipient,
    content,
    created_at: organization.now,
    reports: [],
    status: "queued",
    message: null,
    failure_reason: null,
    attempts: 0,
    first_attempt_at: null,
    due_at: organization.now
  }
  organization.sends.push(send)
  conversation.lane = [...conversation.lane, send]
  return ok(showSend(send))
}

export const start = (
  organization: Organization,
  channel: Channel | undefined,
  { phone, template, value }: { readonly phone: string; readonly template: string; readonly value: string }
): Outcome => {
  if (channel === undefined) return rejected("ReferenceUnknown", "channel_id")
  const rejection = findRejection(channel, template)
  if (rejection !== null) return rejection
  const conversation = open(organization, channel, phone, null)
  return queue(organization, conversation, { type: "template", text: `Hello ${value}` }, phone)
}

const isErased = ({ identity }: Conversation): boolean => identity.external_id.startsWith("erased-")

export const sendTemplate = (
  organization: Organization,
  conversation: Conversation | undefined,
  { template, value }: { readonly template: string; readonly value: string }
): Outcome => {
  if (conversation === undefined) return rejected("ConversationNotFound")
  if (isErased(conversation)) return rejected("RecipientErased")
  return findRejection(conversation.channel, template) ??
    queue(organization, conversation, { type: "template", text: `Hello ${value}` })
}

export const sendText = (
  organization: Organization,
  conversation: Conversation | undefined,
  text: string
): Outcome => {
  if (conversation === undefined) return rejected("ConversationNotFound")
  if (isErased(conversation)) return rejected("RecipientErased")
  const { last_inbound_at } = conversation
  const isWindowOpen = last_inbound_at !== null &&
    DateTime.isLessThan(organization.now, DateTime.add(last_inbound_at, { hours: 24 }))
  return isWindowOpen ? queue(organization, conversation, { type: "text", text }) : rejected("ReplyWindowClosed")
}

const complete = (organization: Organization, send: Send) => {
  const { name = null } = organization.members[0] ?? {}
  const message: Message = {
    id: organization.newName(),
    conversation: send.conversation,
    ...send.content,
    details: null,
    sender: { type: "member", name },
    provider_message_id: organization.newName(),
    created_at: organization.now,
    sent_at: organization.now,
    reports: send.reports,
    revisions: []
  }
  addMessage(organization, message)
  send.status = "sent"
  send.failure_reason = null
  send.message = message
  const data = { conversation_id: send.conversation.id, message_id: message.id }
  const { status } = showMessage(message)
  raise(organization, "message.sent", data)
  if (status !== "sent") raise(organization, "message.updated", { ...data, status })
}

const fail = (organization: Organization, send: Send, failure_reason: string) => {
  const { conversation, id: send_id } = send
  send.status = "failed"
  send.failure_reason = failure_reason
  raise(organization, "send.failed", { conversation_id: conversation.id, send_id, failure_reason })
}

const isOpen = ({ status }: Send) => status === "queued" || status === "unknown"

/** Applies a status update. One that carries the send's reference proves that the provider accepted the message. */
export const applyStatus = (
  organization: Organization,
  send: Send | undefined,
  report: Report,
  with_reference: boolean
) => {
  if (send === undefined || send.recipient === null) return
  const { message } = send
  const before = message === null ? null : showMessage(message).status
  send.reports.push(report)
  const isAccepted = with_reference && (isOpen(send) || send.failure_reason === "outcome_unknown")
  if (message === null) return isAccepted ? complete(organization, send) : undefined
  const { status } = report
  if (status === "sent" || showMessage(message).status === before) return
  raise(organization, "message.updated", {
    conversation_id: send.conversation.id,
    message_id: message.id,
    status
  })
}

/** Returns the sends that are due: the first of each lane, unless it waits. */
export const due = (organization: Organization): ReadonlyArray<Send> =>
  organization.conversations.flatMap((conversation) => {
    const isDue = (send: Send) => DateTime.isLessThanOrEqualTo(send.due_at, organization.now)
    // A status update may have ended a send that waits in its lane. The send leaves the lane when its turn comes.
    const stays = conversation.lane.findIndex((send) => isOpen(send) || !isDue(send))
    conversation.lane = stays === -1 ? [] : conversation.lane.slice(stays)
    return conversation.lane.slice(0, 1).filter(isDue)
  })

const pauses = [1, 5, 15, 30, 60]

/** Makes one attempt for the first send of a lane. */
export const attempt = (organization: Organization, send: Send) => {
  const { conversation } = send
  const first_attempt_at = send.first_attempt_at ?? organization.now
  const retry_at = DateTime.add(organization.now, { seconds: pauses[send.attempts] ?? 60 })
  send.first_attempt_at = first_attempt_at
  send.attempts += 1
  if (organization.behavior === "is busy") {
    send.due_at = retry_at
    if (DateTime.isLessThanOrEqualTo(retry_at, DateTime.add(first_attempt_at, { minutes: 2 }))) return
  }
  conversation.lane = conversation.lane.slice(1)
  switch (organization.behavior) {
    case "accepts":
      return complete(organization, send)
    case "rejects":
      return fail(organization, send, "recipient_unreachable")
    case "is busy":
      return fail(organization, send, "provider_unavailable")
    case "is unresponsive":
      send.status = "unknown"
      send.due_at = DateTime.add(organization.now, { minutes: 15 })
  }
}

/** A send fails when its outcome is still unknown after 15 minutes. */
export const expireOutcome = (organization: Organization) => {
  for (const send of organization.sends) {
    const isOver = send.status === "unknown" && DateTime.isLessThanOrEqualTo(send.due_at, organization.now)
    if (isOver) fail(organization, send, "outcome_unknown")
  }
}

export const listSends = (
  organization: Organization,
  { conversation, created_since, status }: {
    readonly status: string | null
    readonly conversation: Conversation | "unknown" | null
    readonly created_since: DateTime.Utc | null
  }
) =>
  newestFirst(
    organization.sends.filter((send) =>
      (status === null || send.status === status) &&
      (conversation === null || send.conversation === conversation) &&
      (created_since === null || DateTime.isGreaterThanOrEqualTo(send.created_at, created_since))
    ),
    ({ created_at }) => created_at
  ).map(showSend)
