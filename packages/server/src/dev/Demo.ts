/** The demo organization of `dev`: real data, created through the operations. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { type Channel, Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { batch_size, ContactImports } from "@messaging-crm/core/ContactImports"
import { Contacts, CreateContact } from "@messaging-crm/core/Contacts"
import { CloseConversation, Conversations } from "@messaging-crm/core/Conversations"
import { type ChannelId, MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { Messages } from "@messaging-crm/core/Messages"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { CreateTag, Tags } from "@messaging-crm/core/Tags"
import { Templates } from "@messaging-crm/core/Templates"
import { Array, DateTime, Effect, Predicate, Record, Redacted, Schema } from "effect"
import { join } from "node:path"
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
import * as SecretFile from "./SecretFile.ts"

/** The facts that `dev` prints when it is ready. */
export interface Ready {
  readonly base_url: string
  readonly docs_url: string
  /** The console in a browser; null if the server is not on the loopback address, or has no demo organization. */
  readonly console_url: string | null
  readonly database_url: string | null
  /** The fake network that the provider uses, and its verify token; null without one. */
  readonly network: { readonly url: string; readonly verify_token: string } | null
  readonly api_key: string | null
  readonly organization_id: string | null
  readonly member_id: string | null
  readonly channels: ReadonlyArray<{ readonly id: string; readonly type: string }>
  readonly template_ids: ReadonlyArray<string>
}

const Account = Schema.fromJsonString(
  Schema.Struct({ api_key: Schema.String, organization_id: OrganizationId, member_id: MemberId })
)
const encodeAccount = Schema.encodeEffect(Account)
const decodeAccount = Schema.decodeUnknownEffect(Account)

const catalogs = Effect.gen(function*() {
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

/** Conversations with messages: some are started by the organization, some by contacts. */
const conversations = Effect.fnUntraced(function*(channels: ReadonlyArray<Channel>) {
  const inbound = yield* Inbound
  const sends = yield* Sends
  const templates = yield* Templates
  const template = (yield* Effect.orDie(templates.list)).find(({ name }) => name === "order_ready")
  const [phone, photo, page] = channels
  if (phone === undefined || photo === undefined || page === undefined || template === undefined) return
  for (const [index, [first_name, , number]] of people.slice(0, 4).entries()) {
    yield* Effect.orDie(sends.start(StartConversation.make({
      channel_id: phone.id,
      phone: Phone.make(number),
      template: orderReady(template.id, first_name, String(4711 + index))
    })))
  }
  // Numbers of the mock network: the first is unreachable, the second fails after it was sent.
  for (const number of ["+4915199990002", "+4915199990003"]) {
    yield* Effect.orDie(
      sends.start(
        StartConversation.make({
          channel_id: phone.id,
          phone: Phone.make(number),
          template: orderReady(template.id, "Max", "4719")
        })
      )
    )
  }
  const receive = (
    channel_id: ChannelId,
    external_id: string,
    display_name: string,
    index: number,
    content: MessageContent
  ) =>
    Effect.flatMap(DateTime.now, (sent_at) =>
      Effect.orDie(inbound.receive({
        event: "message_received",
        channel_id,
        provider_message_id: `demo.${channel_id}.${index}`,
        from: { external_id, display_name, username: null },
        ...content,
        sent_at
      })))
  yield* receive(phone.id, "+33612345601", "Amélie", 1, words("Merci ! Until when are you open today?"))
  yield* receive(phone.id, "+34612345605", "Mateo", 2, words("¿Tenéis la bici azul en talla M?"))
  yield* receive(photo.id, "photo-user-1", "lena.m", 3, words("Love the new color! Is it in stock?"))
  yield* receive(photo.id, "photo-user-1", "lena.m", 4, snapshot)
  yield* receive(page.id, "page-user-1", "Tom Becker", 5, words("My order has not arrived yet."))
  yield* receive(page.id, "page-user-1", "Tom Becker", 6, order)
})

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
  if (second !== undefined) yield* Effect.orDie(conversations.assign(second.id, { assigned_user_id }))
})

const seed = Effect.gen(function*() {
  const organizations = yield* Organizations
  const { organization, owner } = yield* organizations.create(CreateOrganization.make({
    name: "Demo Shop",
    owner_name: "Ada Lovelace",
    owner_email: "ada@demo.example"
  }))
  const actor = { organization_id: organization.id, member_id: owner.id }
  return yield* Effect.gen(function*() {
    const contacts = yield* Contacts
    const keys = yield* ApiKeys
    const { connected, regular } = yield* catalogs
    for (const [index, [first_name, last_name, number, company]] of people.entries()) {
      const tag_ids = index % 3 === 0 ? [regular.id] : []
      const primary_phone = Phone.make(number)
      yield* Effect.orDie(
        contacts.create(CreateContact.make({ first_name, last_name, primary_phone, company, source: "demo", tag_ids }))
      )
    }
    yield* Effect.forEach(manyContacts, (input) => Effect.orDie(contacts.create(input)), { discard: true })
    yield* conversations(connected)
    yield* closeAndAssign(owner.id)
    const { key } = yield* Effect.orDie(
      keys.create(CreateApiKey.make({ created_by: owner.id, name: "demo", scopes: Scope.literals, expires: "1y" }))
    )
    return yield* Effect.orDie(encodeAccount({ ...actor, api_key: Redacted.value(key) }))
  }).pipe(Effect.provideService(CurrentActor, actor))
})

/** Adds the generated contacts that do not exist from an earlier start. */
const seedContacts = Effect.fnUntraced(function*(total: number) {
  const imports = yield* ContactImports
  for (let done = 0; done < total; done += batch_size) {
    const size = Math.min(batch_size, total - done)
    yield* imports.add(Array.makeBy(size, (index) => generatedContact(done + index + 1)))
    yield* Print.progress("Contacts", (done + size) / total, `${done + size}/${total}`)
  }
  yield* Print.progressed
})

const none = { api_key: null, organization_id: null, member_id: null, channels: [], template_ids: [] }

type Prepared = Effect.Success<ReturnType<typeof prepare>>

/** Creates the demo organization at the first start, or finds the existing one, and returns its IDs and key. */
export const prepare = Effect.fnUntraced(function*(options: {
  readonly data_dir: string
  readonly demo: boolean
  readonly seed_contacts: number
  readonly storage: "embedded" | "memory"
}) {
  if (!options.demo) return none
  // With storage in memory the organization and its key are new at each start.
  const text = options.storage === "memory"
    ? yield* seed
    : yield* SecretFile.readOrCreate(join(options.data_dir, "demo.json"), seed)
  const { api_key, member_id, organization_id } = yield* Effect.orDie(decodeAccount(text))
  return yield* Effect.gen(function*() {
    if (options.seed_contacts > 0) yield* seedContacts(options.seed_contacts)
    const channels = (yield* Channels.use(({ list }) => list)).map(({ id, type }) => ({ id, type }))
    const templates = yield* Effect.orDie(Templates.use(({ list }) => list))
    return { api_key, organization_id, member_id, channels, template_ids: templates.map(({ id }) => id) }
  }).pipe(Effect.provideService(CurrentActor, { organization_id, member_id }))
})

/** Returns IDs of the demo for the forms of the docs page. */
export const exampleIds = Effect.fnUntraced(
  function*({ channels, member_id, organization_id, template_ids }: Prepared) {
    if (organization_id === null) return {}
    return yield* Effect.gen(function*() {
      const filters = { status: "open", cursor: null, page_size: 1 } as const
      const { data: [conversation] } = yield* Effect.orDie(Conversations.use(({ list }) => list(filters)))
      const messages = conversation === undefined
        ? []
        : (yield* Effect.orDie(Messages.use(({ list }) => list(conversation.id, null)))).data
      const ids = {
        contact_id: conversation?.contact.id,
        conversation_id: conversation?.id,
        message_id: messages[0]?.id,
        tag_id: (yield* Tags.use(({ list }) => list))[0]?.id,
        owner_user_id: member_id,
        assigned_user_id: member_id,
        contact_field_id: (yield* ContactFields.use(({ list }) => list))[0]?.id,
        channel_id: channels.find(({ type }) => type === "phone_messaging")?.id,
        template_id: template_ids[0]
      }
      return Record.filter(ids, Predicate.isString)
    }).pipe(Effect.provideService(CurrentActor, { organization_id, member_id }))
  }
)
