/** The commands of the model test about conversations and their messages. */
import {
  AssignConversation,
  CloseConversation,
  Conversations as ConversationOperations
} from "@messaging-crm/core/Conversations"
import { ChannelId, ConversationId, MessageId } from "@messaging-crm/core/Ids"
import { Messages as MessageOperations } from "@messaging-crm/core/Messages"
import { agree, agreeOnPages } from "../Agreement.ts"
import { choose, chooseContact, chooseConversation, chooseMember, unknownId } from "../Choices.ts"
import type { CommandHandlers } from "../CommandHandlers.ts"
import * as Conversations from "../Conversations.ts"
import * as Messages from "../Messages.ts"
import { ok, rejected, showConversation, showMessage } from "../Results.ts"

export const conversationHandlers = {
  getConversation: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = conversation === undefined ? rejected("ConversationNotFound") : ok(showConversation(conversation))
    return agree(scene, expected, ConversationOperations.use(({ get }) => get(id)))
  },

  listConversations: (scene, { assigned, channel, contact, page_size, status, unassigned }) => {
    const filters = { status, assigned_user_id: chooseMember(scene, assigned), unassigned }
    const person = contact && chooseContact(scene, contact)
    const chosen = channel && choose(scene, channel, ({ channels }) => channels)
    const expected = Conversations.listConversations(scene.ours, {
      ...filters,
      contact: person && (person.contact ?? "unknown"),
      channel: chosen && (chosen.row ?? "unknown")
    })
    const ids = { contact_id: person && person.id, channel_id: chosen && ChannelId.make(chosen.id) }
    return agreeOnPages(
      scene,
      page_size,
      expected,
      (cursor) => ConversationOperations.use(({ list }) => list({ ...filters, ...ids, cursor, page_size }))
    )
  },

  assign: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const assigned_user_id = chooseMember(scene, command.member)
    const sync = command.sync_contact_owner
    const expected = Conversations.assign(scene.ours, conversation, assigned_user_id, sync ?? true)
    const input = { assigned_user_id, ...(sync === null ? {} : { sync_contact_owner: sync }) }
    return agree(
      scene,
      expected,
      ConversationOperations.use(({ assign }) => assign(id, AssignConversation.make(input)))
    )
  },

  close: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = Conversations.close(scene.ours, conversation, command.category)
    const input = command.category === null ? {} : { category: command.category }
    return agree(
      scene,
      expected,
      ConversationOperations.use(({ close }) => close(id, CloseConversation.make(input)))
    )
  },

  reopen: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = Conversations.reopen(scene.ours, conversation)
    return agree(scene, expected, ConversationOperations.use(({ reopen }) => reopen(id)))
  },

  listMessages: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = conversation === undefined
      ? rejected("ConversationNotFound")
      : ok({ data: Messages.listMessages(scene.ours, conversation), next_cursor: null })
    return agree(scene, expected, MessageOperations.use(({ list }) => list(id, null)))
  },

  getMessage: (scene, command) => {
    const { id, row } = choose(scene, command.id, ({ messages }) => messages)
    const elsewhere = scene.ours.conversations.find((conversation) => conversation !== row?.conversation)
    const conversation = command.elsewhere ? elsewhere : row?.conversation
    const conversation_id = ConversationId.make(
      conversation === undefined ? unknownId : scene.names.idOf(conversation.id)
    )
    const isThere = row !== undefined && row.conversation === conversation
    const expected = isThere ? ok(showMessage(row)) : rejected("MessageNotFound")
    return agree(scene, expected, MessageOperations.use(({ get }) => get(conversation_id, MessageId.make(id))))
  }
} satisfies Partial<CommandHandlers>
