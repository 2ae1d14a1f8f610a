/**
 * Each command runs an operation on the service and the same on the model.
 * The results must be equal.
 */
import { assert } from "@effect/vitest"
import {
  AddNote,
  Contacts as ContactOperations,
  CreateContact,
  UpdateContact,
  type WritableContact
} from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { CloseConversation, Conversations as ConversationOperations } from "@messaging-crm/core/Conversations"
import { ChannelId, ConversationId, MessageId, SendId, TagId } from "@messaging-crm/core/Ids"
import { Messages as MessageOperations } from "@messaging-crm/core/Messages"
import { PersonalData as PersonalDataOperations } from "@messaging-crm/core/PersonalData"
import { Phone } from "@messaging-crm/core/Phones"
import { SendMessage, Sends as SendOperations, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Worker } from "@messaging-crm/core/Worker"
import { DateTime, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { ScriptedProvider } from "../Provider.ts"
import type { Command, ContactInput } from "./Commands.ts"
import * as Contacts from "./Contacts.ts"
import * as Conversations from "./Conversations.ts"
import * as Events from "./Events.ts"
import * as Messages from "./Messages.ts"
import { inbound, type Perform } from "./PerformInbound.ts"
import { webhooks } from "./PerformWebhooks.ts"
import * as PersonalData from "./PersonalData.ts"
import {
  agree,
  agreeOnCatalogs,
  agreeOnEvents,
  agreeOnLists,
  agreeOnPages,
  choose,
  chooseContact,
  chooseConversation,
  chooseMember,
  rejection,
  type Requirements,
  type Scene,
  unknownId
} from "./Scene.ts"
import * as Sends from "./Sends.ts"
import { ok, rejected, showContact, showConversation, showMessage, showSend } from "./State.ts"

/** Returns the input of the service's operation, and the same input for the model. */
const chooseFields = (scene: Scene, { custom_values, owner, plain = {}, tags }: ContactInput) => {
  const chosen = tags?.map((tag) => choose(scene, tag, (organization) => organization.tags))
  const values = custom_values && Object.fromEntries(
    custom_values.map(({ field, value }) => [choose(scene, field, ({ fields }) => fields).id, value])
  )
  const known = owner === undefined ? {} : { owner_user_id: chooseMember(scene, owner) }
  const custom = values === undefined ? {} : { custom_values: values }
  const tag_ids = tags === undefined ? {} : { tag_ids: chosen?.map(({ id }) => TagId.make(id)) ?? null }
  const labels = tags === undefined ? {} : { tags: chosen?.map(({ thing }) => thing) ?? [] }
  const input = { ...plain, ...known, ...custom, ...tag_ids } as WritableContact // The generator keeps to its values.
  return { input, modelInput: { plain: { ...plain, ...known }, ...custom, ...labels } }
}

/** Two spellings of one person's email. */
const emails = { "+4915100000001": "kim@acme.example", "+4915100000002": "KIM@Acme.example" }

/** Lets time pass and the worker do what is due. Then the model does the same, in the order of the provider's calls. */
const work = Effect.fnUntraced(function*(scene: Scene, { after_millis }: { readonly after_millis: number }) {
  const { names, ours, theirs } = scene
  yield* TestClock.adjust(after_millis)
  const at = { ...scene.at, now: yield* DateTime.now }
  const provider = yield* ScriptedProvider
  const before = (yield* provider.received).length
  while ((yield* Worker.use(({ runOnce }) => runOnce)) > 0) continue
  const organizations = [ours, theirs]
  for (const one of organizations) one.now = at.now
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
  assert.deepStrictEqual(organizations.flatMap((one) => Sends.due(at, one)), [])
  for (const one of organizations) {
    Sends.expireOutcome(at, one)
    Events.post(one)
  }
  yield* agreeOnLists(scene, ours.conversations)
  yield* agreeOnLists({ ...scene, ours: theirs, theirs: ours }, theirs.conversations)
  yield* agreeOnEvents(scene)
  yield* agreeOnEvents({ ...scene, ours: theirs, theirs: ours })
})

/** Makes the provider accept everything, and lets time pass until every send has ended. */
export const settle = Effect.fnUntraced(function*(scene: Scene) {
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

// ------------------------------------------------------------- commands

const secondsAgo = ({ at }: Scene, seconds: number | null) =>
  seconds === null ? null : DateTime.subtract(at.now, { seconds })

const perform: Perform = {
  wait: (_, { millis }) => TestClock.adjust(millis),

  createTag: (scene, { color, name }) =>
    agree(
      scene,
      Contacts.createTag(scene.at, scene.ours, name, color),
      Tags.use(({ create }) => create(CreateTag.make({ name, color })))
    ),

  createContact: (scene, { contact }) => {
    const { input, modelInput } = chooseFields(scene, contact)
    const expected = Contacts.createContact(scene.at, scene.ours, modelInput)
    return agree(scene, expected, ContactOperations.use(({ create }) => create(CreateContact.make(input))))
  },

  upsertContacts: (scene, { channel_type, match: by, people }) =>
    Effect.gen(function*() {
      const upserts = people.map(({ contact, value: number }) => {
        const { input, modelInput } = chooseFields(scene, contact)
        // One contact can have two identities, whose upserts would come in any order.
        const external_id = people[0]?.value ?? number
        const value = by === "primary_email" ? emails[number] : by === "external_id" ? external_id : number
        const match = by === "external_id" ? { by, channel_type, value } : { by, value }
        const set = by === "external_id" ? {} : { [by]: value }
        const expected = Contacts.upsertContact(scene.at, scene.ours, match, {
          ...modelInput,
          plain: { ...modelInput.plain, ...set }
        })
        return { input: { ...input, [by]: value }, expected }
      })
      const contacts = upserts.map(({ input }) => input)
      const input = UpsertContacts.make({ match: by, contacts, ...(by === "external_id" ? { channel_type } : {}) })
      const upsert = Effect.map(
        ContactUpserts.use((all) => all.upsert(input)),
        (results) => results.map(Result.match({ onFailure: rejection, onSuccess: ok }))
      )
      yield* agree(scene, ok(upserts.map(({ expected }) => expected)), upsert)
      yield* agreeOnLists(scene, [])
    }),

  getContact: (scene, command) => {
    const { contact, id } = chooseContact(scene, command.id)
    const expected = contact === undefined ? rejected("ContactNotFound") : ok(showContact(contact))
    return agree(scene, expected, ContactOperations.use(({ get }) => get(id)))
  },

  updateContact: (scene, command) => {
    const { contact, id } = chooseContact(scene, command.id)
    const { input, modelInput } = chooseFields(scene, command.contact)
    const expected = Contacts.updateContact(scene.at, scene.ours, contact, modelInput)
    return agree(scene, expected, ContactOperations.use(({ update }) => update(id, UpdateContact.make(input))))
  },

  editTags: (scene, command) => {
    const { contact, id } = chooseContact(scene, command.id)
    const chosen = (choices: typeof command.add) => choices.map((one) => choose(scene, one, ({ tags }) => tags))
    const add = chosen(command.add)
    const remove = chosen(command.remove).filter((one) => !add.some((other) => other.id === one.id))
    const expected = Contacts.editTags(scene.at, scene.ours, contact, {
      add: add.map(({ thing }) => thing),
      remove: remove.map(({ thing }) => thing)
    })
    const ids = (all: typeof add) => all.map(({ id }) => TagId.make(id))
    const input = UpdateContact.make({ add_tag_ids: ids(add), remove_tag_ids: ids(remove) })
    return agree(scene, expected, ContactOperations.use(({ update }) => update(id, input)))
  },

  addNote: (scene, command) => {
    const { contact, id } = chooseContact(scene, command.id)
    const expected = Contacts.addNote(scene.at, scene.ours, contact, command.text)
    const input = AddNote.make({ text: command.text })
    return agree(scene, expected, ContactOperations.use(({ addNote }) => addNote(id, input)))
  },

  eraseContact: (scene, command) =>
    Effect.gen(function*() {
      const { contact, id } = chooseContact(scene, command.id)
      const expected = PersonalData.erase(scene.at, scene.ours, contact, scene.names.idOf)
      yield* agree(scene, expected, PersonalDataOperations.use(({ erase }) => erase(id)))
      yield* agreeOnLists(scene, scene.ours.conversations)
    }),

  listContacts: (scene, { owner, page_size, tag, updated_seconds_ago, ...rest }) => {
    const chosen = tag === null ? null : choose(scene, tag, ({ tags }) => tags)
    const updated_since = secondsAgo(scene, updated_seconds_ago)
    const filters = { ...rest, owner_user_id: chooseMember(scene, owner), updated_since }
    const tag_id = chosen === null ? null : TagId.make(chosen.id)
    const expected = Contacts.listContacts(scene.ours, { ...filters, tag: chosen && (chosen.thing ?? "unknown") })
    return agreeOnPages(
      scene,
      page_size,
      expected,
      (cursor) => ContactOperations.use(({ list }) => list({ ...filters, tag_id, cursor, page_size }))
    )
  },

  listCatalogs: agreeOnCatalogs,

  start: (scene, { channel, phone, template, value }) =>
    Effect.gen(function*() {
      const { id, thing } = choose(scene, channel, ({ channels }) => channels)
      const channel_id = ChannelId.make(id)
      const expected = Sends.start(scene.at, scene.ours, thing, { phone, template, value })
      const start = SendOperations.use((sends) =>
        sends.start(
          StartConversation.make({ channel_id, phone: Phone.make(phone), template: choiceOf(template, value) })
        )
      )
      yield* agree(scene, expected, start)
      yield* agreeOnLists(scene, [])
    }),

  sendText: (scene, command) => {
    const { conversation, id } = chooseConversation(scene, command.id)
    const expected = Sends.sendText(scene.at, scene.ours, conversation, command.text)
    const input = SendMessage.make({ type: "text", text: command.text })
    return agree(scene, expected, SendOperations.use(({ send }) => send(id, input)))
  },

  sendTemplate: (scene, { id: choice, template, value }) => {
    const { conversation, id } = chooseConversation(scene, choice)
    const expected = Sends.sendTemplate(scene.at, scene.ours, conversation, { template, value })
    const input = { type: "template", template: choiceOf(template, value) } as const
    return agree(scene, expected, SendOperations.use(({ send }) => send(id, SendMessage.make(input))))
  },

  getSend: (scene, command) => {
    const { id, thing } = choose(scene, command.id, ({ sends }) => sends)
    const expected = thing === undefined ? rejected("SendNotFound") : ok(showSend(thing))
    return agree(scene, expected, SendOperations.use(({ get }) => get(SendId.make(id))))
  },

  listSends: (scene, { conversation: choice, created_seconds_ago, page_size, status }) => {
    const chosen = choice && chooseConversation(scene, choice)
    const created_since = secondsAgo(scene, created_seconds_ago)
    const expected = Sends.listSends(scene.ours, {
      status,
      conversation: chosen && (chosen.conversation ?? "unknown"),
      created_since
    })
    const filters = { status, conversation_id: chosen && chosen.id, created_since }
    return agreeOnPages(
      scene,
      page_size,
      expected,
      (cursor) => SendOperations.use(({ list }) => list({ ...filters, cursor, page_size }))
    )
  },

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
      channel: on && (on.thing ?? "unknown")
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
    const { id, thing } = choose(scene, command.id, ({ messages }) => messages)
    const elsewhere = scene.ours.conversations.find((one) => one !== thing?.conversation)
    const conversation = command.elsewhere ? elsewhere : thing?.conversation
    const conversation_id = ConversationId.make(
      conversation === undefined ? unknownId : scene.names.idOf(conversation.id)
    )
    const is_there = thing !== undefined && thing.conversation === conversation
    const expected = is_there ? ok(showMessage(thing)) : rejected("MessageNotFound")
    return agree(scene, expected, MessageOperations.use(({ get }) => get(conversation_id, MessageId.make(id))))
  },

  work,

  setBehavior: ({ ours }, { behavior }) =>
    Effect.sync(() => {
      ours.behavior = behavior
    }),

  ...inbound,

  ...webhooks
}

const choiceOf = (template: string, value: string) => ({
  id: template === "unknown" ? template : "greeting",
  components: template === "greeting"
    ? [{ type: "body" as const, parameters: [{ type: "text" as const, text: value }] }]
    : []
})

/** Runs one command on the service and on the model. */
export const run = (scene: Scene, command: Command): Effect.Effect<void, never, Requirements> => {
  for (const organization of [scene.ours, scene.theirs]) organization.now = scene.at.now
  // The compiler cannot see that the function found by `kind` accepts a command of that kind.
  const one = perform[command.do] as (scene: Scene, command: Command) => ReturnType<Perform["work"]>
  return one(scene, command)
}
