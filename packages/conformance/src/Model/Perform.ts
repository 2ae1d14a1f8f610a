/** Runs each command on the service and on the model, whose results must be equal. */
import { assert } from "@effect/vitest"
import { CloseConversation, Conversations as ConversationOperations } from "@messaging-crm/core/Conversations"
import { ChannelId, ConversationId, MessageId } from "@messaging-crm/core/Ids"
import { Messages as MessageOperations } from "@messaging-crm/core/Messages"
import { Worker } from "@messaging-crm/core/Worker"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { ScriptedProvider } from "../Provider.ts"
import { agree, agreeOnCatalogs, agreeOnEvents, agreeOnLists, agreeOnPages } from "./Agreement.ts"
import { choose, chooseContact, chooseConversation, chooseMember, unknownId } from "./Choices.ts"
import type { CommandHandlers } from "./CommandHandlers.ts"
import type { Command } from "./Commands.ts"
import * as Conversations from "./Conversations.ts"
import * as Events from "./Events.ts"
import * as Messages from "./Messages.ts"
import { contacts } from "./PerformContacts.ts"
import { inbound } from "./PerformInbound.ts"
import { sends } from "./PerformSends.ts"
import { webhooks } from "./PerformWebhooks.ts"
import { ok, rejected, showConversation, showMessage } from "./Results.ts"
import type { Requirements, Scene } from "./Scene.ts"
import * as Sends from "./Sends.ts"

/** Lets time pass and the worker do what is due. Then the model does the same, in the order of the provider's calls. */
const work = Effect.fnUntraced(function*(scene: Scene, { after_millis }: { readonly after_millis: number }) {
  const { names, ours, theirs } = scene
  yield* TestClock.adjust(after_millis)
  const at = { ...scene.at, now: yield* DateTime.now }
  const provider = yield* ScriptedProvider
  const before = (yield* provider.received).length
  while ((yield* Worker.use(({ runOnce }) => runOnce)) > 0) continue
  const organizations = [ours, theirs]
  for (const organization of organizations) organization.now = at.now
  for (const { channel, content, recipient, reference } of (yield* provider.received).slice(before)) {
    const organization = organizations.find(({ channels }) => channels.some(({ id }) => id === channel.id))
    // An earlier run that failed may have left work in the queue.
    if (organization === undefined) continue
    const send = Sends.due(at, organization).find(({ id }) => names.idOf(id) === reference)
    if (send === undefined) return assert.fail(`It was not the turn of send ${reference}.`)
    assert.deepStrictEqual([recipient, content.type, content.text], [
      send.recipient,
      send.content.type,
      send.content.text
    ])
    Sends.attempt(at, organization, send)
  }
  assert.deepStrictEqual(organizations.flatMap((organization) => Sends.due(at, organization)), [])
  for (const organization of organizations) {
    Sends.expireOutcome(at, organization)
    Events.post(organization)
  }
  yield* agreeOnLists(scene, ours.conversations)
  yield* agreeOnLists({ ...scene, ours: theirs, theirs: ours }, theirs.conversations)
  yield* agreeOnEvents(scene)
  yield* agreeOnEvents({ ...scene, ours: theirs, theirs: ours })
})

/** Makes the provider accept everything, and lets time pass until every send has ended. */
export const finishSends = Effect.fnUntraced(function*(scene: Scene) {
  const organizations = [scene.ours, scene.theirs]
  for (const organization of organizations) organization.behavior = "accepts"
  yield* work(scene, { after_millis: 900_000 })
  yield* agreeOnCatalogs(scene)
  yield* agreeOnCatalogs({ ...scene, ours: scene.theirs, theirs: scene.ours })
  const ended = organizations.flatMap(({ sends }) =>
    sends.map(({ status }) => status === "sent" || status === "failed")
  )
  assert.notInclude(ended, false)
})

const handlers: CommandHandlers = {
  wait: (_, { millis }) => TestClock.adjust(millis),

  listCatalogs: agreeOnCatalogs,

  getConversation: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = conversation === undefined ? rejected("ConversationNotFound") : ok(showConversation(conversation))
    return agree(scene, expected, ConversationOperations.use(({ get }) => get(id)))
  },

  listConversations: (scene, { assigned, channel, contact, page_size, status, unassigned }) => {
    const filters = { status, assigned_user_id: chooseMember(scene, assigned), unassigned }
    const person = contact && chooseContact(scene, contact)
    const on = channel && choose(scene, channel, ({ channels }) => channels)
    const expected = Conversations.listConversations(scene.ours, {
      ...filters,
      contact: person && (person.contact ?? "unknown"),
      channel: on && (on.row ?? "unknown")
    })
    const ids = { contact_id: person && person.id, channel_id: on && ChannelId.make(on.id) }
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
    const expected = Conversations.assign(scene.at, scene.ours, conversation, assigned_user_id, sync ?? true)
    const input = { assigned_user_id, ...(sync === null ? {} : { sync_contact_owner: sync }) }
    return agree(scene, expected, ConversationOperations.use(({ assign }) => assign(id, input)))
  },

  close: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = Conversations.close(scene.at, scene.ours, conversation, command.category)
    const input = command.category === null ? {} : { category: command.category }
    return agree(
      scene,
      expected,
      ConversationOperations.use(({ close }) => close(id, CloseConversation.make(input)))
    )
  },

  reopen: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = Conversations.reopen(scene.at, scene.ours, conversation)
    return agree(scene, expected, ConversationOperations.use(({ reopen }) => reopen(id)))
  },

  listMessages: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = conversation === undefined
      ? rejected("ConversationNotFound")
      : ok({ data: Messages.messagesOf(scene.ours, conversation), next_cursor: null })
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
  },

  work,

  setBehavior: ({ ours }, { behavior }) =>
    Effect.sync(() => {
      ours.behavior = behavior
    }),

  ...contacts,

  ...sends,

  ...inbound,

  ...webhooks
}

/** Runs one command on the service and on the model. */
export const perform = (scene: Scene, command: Command): Effect.Effect<void, never, Requirements> => {
  for (const organization of [scene.ours, scene.theirs]) organization.now = scene.at.now
  // The compiler cannot see that the handler of a command's name accepts that command.
  const handle = handlers[command.do] as (scene: Scene, command: Command) => ReturnType<CommandHandlers["work"]>
  return handle(scene, command)
}
