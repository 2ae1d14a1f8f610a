/** Creates the demo organization and its data through the operations. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { type Channel, Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { batch_size, ContactImports } from "@messaging-crm/core/ContactImports"
import { Contacts, CreateContact } from "@messaging-crm/core/Contacts"
import { AssignConversation, CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import type { ChannelId, MemberId, SendId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Phone } from "@messaging-crm/core/Phones"
import { isOpen, Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, type Tag, Tags } from "@messaging-crm/core/Tags"
import { Templates } from "@messaging-crm/core/Templates"
import { Array, DateTime, Effect, Redacted } from "effect"
import * as Print from "../cli/Print.ts"
import {
  channelsToConnect,
  generatedContact,
  manyContacts,
  type MessageContent,
  order,
  orderReady,
  people,
  snapshot,
  words
} from "./DemoData.ts"

const createCatalogs = Effect.gen(function*() {
  const channels = yield* Channels
  const fields = yield* ContactFields
  const members = yield* Members
  const tags = yield* Tags
  yield* Effect.orDie(members.add(AddMember.make({ name: "Grace Hopper", email: "grace@demo.example", role: "admin" })))
  yield* Effect.orDie(members.add(AddMember.make({ name: "Alan Turing", email: "alan@demo.example", role: "member" })))
  yield* Effect.orDie(
    fields.create(
      CreateContactField.make({ key: "customer_number", name: "Customer number", type: "text", options: null })
    )
  )
  yield* Effect.orDie(
    fields.create(
      CreateContactField.make({ key: "plan", name: "Plan", type: "select", options: ["basic", "plus", "pro"] })
    )
  )
  const regular = yield* Effect.orDie(tags.create(CreateTag.make({ name: "Regular", color: "amber" })))
  yield* Effect.orDie(tags.create(CreateTag.make({ name: "Newsletter", color: "teal" })))
  const connected = yield* Effect.forEach(
    channelsToConnect,
    (input) => Effect.orDie(channels.connect(ConnectChannel.make(input)))
  )
  return { regular, connected }
})

const createContacts = Effect.fnUntraced(function*(regular: Tag) {
  const contacts = yield* Contacts
  for (const [index, [first_name, last_name, number, company]] of people.entries()) {
    const tag_ids = index % 3 === 0 ? [regular.id] : []
    const primary_phone = Phone.make(number)
    yield* Effect.orDie(
      contacts.create(CreateContact.make({ first_name, last_name, primary_phone, company, source: "demo", tag_ids }))
    )
  }
  yield* Effect.forEach(manyContacts, (input) => Effect.orDie(contacts.create(input)), { discard: true })
})

/** Starts conversations with contacts, and with two numbers whose sends fail. Returns the IDs of the sends. */
const startConversations = Effect.fnUntraced(function*(channel_id: ChannelId, template_id: string) {
  const sends = yield* Sends
  const start = (number: string, first_name: string, order_number: string) => {
    const template = orderReady(template_id, first_name, order_number)
    return Effect.orDie(sends.start(StartConversation.make({ channel_id, phone: Phone.make(number), template })))
  }
  const orders = people.slice(0, 4).map(([first_name, , number], index) =>
    start(number, first_name, String(4711 + index))
  )
  // Numbers of the mock network: the first is unreachable, the second fails after it was sent.
  const failing = ["+4915199990002", "+4915199990003"].map((number) => start(number, "Max", "4719"))
  return (yield* Effect.all([...orders, ...failing])).map(({ id }) => id)
})

/**
 * Waits until a worker has finished the sends, for at most 5 s. The pause after the last check separates the times of their
 * messages from those of later ones: contacts of the same time are in the order of their IDs.
 */
const finish = (ids: ReadonlyArray<SendId>) =>
  Effect.repeat(
    Effect.forEach(ids, (id) => Effect.orDie(Sends.use(({ get }) => get(id)))).pipe(
      Effect.tap(() => Effect.sleep("20 millis"))
    ),
    { while: (sends) => sends.some(isOpen), times: 250 }
  )

const receive = (
  channel_id: ChannelId,
  external_id: string,
  display_name: string,
  index: number,
  content: MessageContent
) =>
  Effect.flatMap(DateTime.now, (sent_at) =>
    Effect.orDie(Inbound.use(({ receive }) =>
      receive({
        event: "message_received",
        channel_id,
        provider_message_id: `demo.${channel_id}.${index}`,
        from: { external_id, display_name, username: null },
        ...content,
        sent_at
      })
    )))

/** Closes one conversation and assigns another. */
const closeAndAssign = Effect.fnUntraced(function*(assigned_user_id: MemberId) {
  const conversations = yield* Conversations
  const { data } = yield* Effect.orDie(
    conversations.list({ cursor: null, page_size: 2 })
  )
  const [first, second] = data
  if (first !== undefined) {
    yield* Effect.orDie(conversations.close(first.id, CloseConversation.make({ category: "resolved" })))
  }
  if (second !== undefined) {
    yield* Effect.orDie(conversations.assign(second.id, AssignConversation.make({ assigned_user_id })))
  }
})

/**
 * Conversations with messages: some are started by the organization, some by contacts.
 *
 * The last message determines the first contact of the list, and the first conversation: on WhatsApp, with a person who has a
 * name, a number, and an open reply window.
 */
const createConversations = Effect.fnUntraced(function*(
  [phone, photo, page]: ReadonlyArray<Channel>,
  owner: MemberId
) {
  const templates = yield* Effect.orDie(Templates.use(({ list }) => list))
  const template = templates.find(({ name }) => name === "order_ready")
  if (phone === undefined || photo === undefined || page === undefined || template === undefined) return
  yield* receive(photo.id, "photo-user-1", "lena.m", 1, words("Love the new color! Is it in stock?"))
  yield* receive(photo.id, "photo-user-1", "lena.m", 2, snapshot)
  yield* receive(page.id, "page-user-1", "Tom Becker", 3, words("My order has not arrived yet."))
  yield* receive(page.id, "page-user-1", "Tom Becker", 4, order)
  yield* closeAndAssign(owner)
  yield* Effect.flatMap(startConversations(phone.id, template.id), finish)
  yield* receive(phone.id, "+33612345601", "Amélie", 5, words("Merci ! Until when are you open today?"))
  yield* receive(phone.id, "+34612345605", "Mateo", 6, words("¿Tenéis la bici azul en talla M?"))
})

/** Creates the demo organization, and returns its IDs and its API key. */
export const createOrganization = Effect.gen(function*() {
  const organizations = yield* Organizations
  const { organization, owner } = yield* organizations.create(CreateOrganization.make({
    name: "Demo Shop",
    owner_name: "Ada Lovelace",
    owner_email: "ada@demo.example"
  }))
  const actor = { organization_id: organization.id, member_id: owner.id }
  return yield* Effect.gen(function*() {
    const keys = yield* ApiKeys
    const { connected, regular } = yield* createCatalogs
    yield* createContacts(regular)
    yield* createConversations(connected, owner.id)
    const { key } = yield* Effect.orDie(
      keys.create(CreateApiKey.make({ created_by: owner.id, name: "demo", scopes: Scope.literals, expires: "1y" }))
    )
    return { ...actor, api_key: Redacted.value(key) }
  }).pipe(Effect.provideService(CurrentActor, actor))
})

/** Adds the generated contacts that do not exist from an earlier start. */
export const addContacts = Effect.fnUntraced(function*(total: number) {
  const imports = yield* ContactImports
  for (let done = 0; done < total; done += batch_size) {
    const size = Math.min(batch_size, total - done)
    yield* imports.add(Array.makeBy(size, (index) => generatedContact(done + index + 1)))
    yield* Print.progress("Contacts", (done + size) / total, `${done + size}/${total}`)
  }
  yield* Print.progressed
})
