/**
 * The commands of the model test, and generators of their input.
 *
 * The compiler requires a command in `command_of` for every operation that an API key may run, and a handler in `Perform/` for
 * every command. The handler needs the command's meaning in the model.
 */
import type { WritableContact } from "@messaging-crm/core/Contacts"
import { EventType } from "@messaging-crm/core/Events"
import { limits } from "@messaging-crm/core/Limits"
import type { KeyedOperation } from "@messaging-crm/core/Operations"
import { TagColor } from "@messaging-crm/core/Tags"
import { Arbitrary } from "effect"
import {
  type Fields,
  hardText,
  literal,
  oneOf,
  orNull,
  partial,
  seldom,
  times,
  type Values,
  visibleHardText
} from "../Arbitraries.ts"

const { all, array, Constant } = Arbitrary

/** Mostly a row of ours, sometimes one of the other organization, sometimes one that does not exist. */
export interface Choice {
  readonly whose: "ours" | "theirs" | "unknown"
  readonly index: number
}

const choice: Arbitrary.Arbitrary<Choice> = all({
  // The rare cases are in the middle, because numbers at the ends of a range are generated more often.
  whose: literal(...times(5, "ours"), "theirs", "unknown", ...times(4, "ours")),
  index: literal(0, 1, 2, 3, 4, 5)
})

const text = hardText({ min: 1, max: 6 })
const visible = visibleHardText({ min: 1, max: 6 })

/** Few numbers, so that people return and contacts share a number. The last two are spellings of one number. */
const phone = literal("+4915100000001", "+5511987654321", "+551187654321")

/** A field that a caller may write and that has one value: each is generated. */
type PlainField = Exclude<keyof WritableContact, "custom_values" | "owner_user_id" | "tag_ids">

const contact = partial({
  plain: partial(
    {
      first_name: orNull(visible),
      last_name: orNull(visible),
      primary_email: orNull(literal("kim@acme.example", "KIM@ACME.EXAMPLE")),
      primary_phone: orNull(phone),
      company: orNull(visible),
      job_title: orNull(visible),
      birthday: orNull(literal("1990-02-28")),
      city: orNull(visible),
      region: orNull(visible),
      country: orNull(visible),
      street_address: orNull(visible),
      postal_code: orNull(visible),
      website_url: orNull(literal("https://acme.example/")),
      network_url: orNull(literal("https://network.example/kim")),
      source: orNull(visible),
      notes: orNull(oneOf([...times(3, visible), Constant("n".repeat(199_995))])),
      lead_status: orNull(literal("new", "open_deal")),
      lifecycle_stage: orNull(literal("lead", "customer"))
    } satisfies Record<PlainField, unknown>
  ),
  owner: orNull(choice),
  custom_values: orNull(array(all({ field: choice, value: orNull(literal("7", "red", "seven")) }), { maxLength: 3 })),
  tags: orNull(array(choice, { maxLength: 3 }))
})
export type ContactInput = typeof contact extends Arbitrary.Arbitrary<infer A> ? A : never

const template = literal(...times(4, "greeting"), "greeting without its value", "unknown")
const page_size = literal(1, 2, 3, 50)
/** A negative number is a time in the future. */
const seconds_ago = literal(0, 1, 60, -60, 86_400, -86_401)

/** Few IDs, so that messages come twice, and edits come before and after their message. */
const provider_message_id = literal("m0", "m1", "m2", "m3", "m4", "m5")

const event_types = Arbitrary.map(
  array(Arbitrary.schema(EventType), { minLength: 1, maxLength: 8 }),
  (types) => Array.from(new Set(types)).slice(0, limits.webhook_event_types_max)
)

/** Each command's fields. */
const commands = {
  wait: { millis: literal(0, 1000, 5000, 15_000, 60_000, 1, 43_200_000, 900_000, 86_400_000) },
  createTag: {
    name: literal("VIP", "vip", "\u00DF", "SS", "\u00E9", "e\u0301", "k", "\u212A", "%"),
    color: Arbitrary.schema(TagColor)
  },
  createContact: { contact },
  upsertContacts: {
    match: literal("primary_phone", "primary_email", "external_id"),
    channel_type: literal("phone_messaging", "photo_social"),
    people: array(all({ value: phone, contact }), { minLength: 1, maxLength: 3 })
  },
  getContact: { id: choice },
  updateContact: { id: choice, contact },
  editTags: { id: choice, add: array(choice, { maxLength: 3 }), remove: array(choice, { maxLength: 2 }) },
  addNote: { id: choice, text },
  eraseContact: { id: choice },
  listContacts: {
    query: seldom(
      oneOf([
        hardText({ min: 1, max: 2 }),
        literal("151", "(+49) 151-0", "\u202A+49\u00A0151\u201100000001\u202C", "acme", "\u200BKIM@", " ", "\uFEFF")
      ])
    ),
    tag: seldom(choice),
    owner: seldom(choice),
    lifecycle_stage: seldom(literal("lead", "customer")),
    channel: seldom(literal("phone_messaging", "photo_social", "page_messaging")),
    phone: seldom(phone),
    email: seldom(literal("kim@acme.example", "kim@Acme.Example", "other@acme.example")),
    external_id: seldom(phone),
    updated_seconds_ago: seldom(seconds_ago),
    page_size
  },
  listCatalogs: {},
  start: { channel: choice, phone, template, value: text },
  sendText: { id: choice, text },
  sendTemplate: { id: choice, template, value: text },
  getSend: { id: choice },
  listSends: {
    status: seldom(literal("queued", "sent", "failed", "unknown")),
    conversation: seldom(choice),
    created_seconds_ago: seldom(seconds_ago),
    page_size
  },
  getConversation: { id: choice },
  listConversations: {
    status: seldom(literal("open", "closed")),
    assigned: seldom(choice),
    unassigned: seldom(literal(true)),
    contact: seldom(choice),
    channel: seldom(choice),
    page_size
  },
  assign: { id: choice, member: orNull(choice), sync_contact_owner: orNull(literal(true, false)) },
  close: { id: choice, category: orNull(visible) },
  reopen: { id: choice },
  listMessages: { id: choice },
  getMessage: { id: choice, elsewhere: literal(false, true) },
  work: { after_millis: literal(0, 1000, 5000, 15_000, 60_000, 899_999, 1) },
  /** Sets how the provider responds to the organization's sends from now on. */
  setBehavior: { behavior: literal("accepts", "rejects", "is busy", "is unresponsive") },
  reportStatus: {
    id: choice,
    status: literal("sent", "delivered", "read", "failed"),
    code: orNull(literal(131026, 131049)),
    seconds_ago,
    with_reference: literal(true, false),
    through: literal(...times(4, "ours"), "theirs", "unknown")
  },
  receive: {
    channel: choice,
    from: phone,
    display_name: orNull(text),
    provider_message_id,
    content: orNull(oneOf([text, Constant("w".repeat(150))])),
    quoted: orNull(text),
    is_written_by_person: literal(true, false, true),
    seconds_ago
  },
  /** The business writes in the network's own app. */
  sendByApp: { channel: choice, to: phone, provider_message_id, content: text, seconds_ago },
  /** A person has received or read every message of a time and before. */
  reportAll: {
    channel: choice,
    to: phone,
    status: literal("delivered", "read"),
    until_seconds_ago: seconds_ago,
    seconds_ago
  },
  revise: {
    /** Of an inbound message that has come, or of one that may come later. */
    message: seldom(Constant("early")),
    index: literal(0, 1, 2),
    channel: choice,
    provider_message_id,
    status: literal("edited", "deleted"),
    text: orNull(text),
    seconds_ago
  },
  /** A person stops or resumes marketing messages. */
  prefer: { channel: choice, from: phone, preference: literal("stop", "resume"), seconds_ago },
  changeIdentity: { channel: choice, former: phone, external_id: phone, display_name: orNull(text) },
  createWebhook: { event_types, include_resource: literal(false, true) },
  updateWebhook: {
    id: choice,
    event_types: seldom(event_types),
    include_resource: seldom(literal(false, true)),
    moves: literal(false, true)
  },
  rotateSecret: { id: choice },
  testWebhook: { id: choice },
  replayWebhook: { id: choice, since_seconds_ago: literal(86_400, 60, 0, -60, 2_592_000, 2_592_001) },
  disableWebhook: { id: choice }
} satisfies Record<string, Fields>

type Commands = typeof commands
export type Command<K extends keyof Commands = keyof Commands> = {
  readonly [Kind in K]: { readonly do: Kind; readonly by: 0 | 1 } & Values<Commands[Kind]>
}[K]

/** The command that runs an operation, or the reason why the model has none. Operators' commands are rare, and not random. */
export const command_of: Readonly<Record<KeyedOperation, keyof Commands | { readonly none: string }>> = {
  "channels.list": "listCatalogs",
  "contact_fields.list": "listCatalogs",
  "contacts.add_note": "addNote",
  "contacts.create": "createContact",
  "contacts.get": "getContact",
  "contacts.list": "listContacts",
  "contacts.update": "updateContact",
  "contacts.upsert": "upsertContacts",
  "conversations.assign": "assign",
  "conversations.close": "close",
  "conversations.get": "getConversation",
  "conversations.list": "listConversations",
  "conversations.reopen": "reopen",
  "events.get": { none: "It reads a row of `events.list`." },
  "events.list": "work",
  "members.list": "listCatalogs",
  "messages.get": "getMessage",
  "messages.list": "listMessages",
  "sends.get": "getSend",
  "sends.list": "listSends",
  "sends.send": "sendText",
  "sends.start": "start",
  "tags.create": "createTag",
  "tags.list": "listCatalogs",
  "templates.list": "listCatalogs",
  "webhook_deliveries.list": "work",
  "webhook_deliveries.retry": { none: "The endpoints of the model accept every request, so no delivery needs it." },
  "webhooks.create": "createWebhook",
  "webhooks.disable": "disableWebhook",
  "webhooks.get": { none: "It reads a row of `webhooks.list`." },
  "webhooks.list": "listCatalogs",
  "webhooks.replay": "replayWebhook",
  "webhooks.rotate_secret": "rotateSecret",
  "webhooks.test": "testWebhook",
  "webhooks.update": "updateWebhook"
}

const kinds = Object.keys(commands) as ReadonlyArray<keyof Commands>

const command = (kind: keyof Commands) =>
  // The fields are those of the kind, which the type of the union does not express.
  all({ do: Constant(kind), by: literal(0, 0, 1), ...commands[kind] }) as Arbitrary.Arbitrary<Command>

/** Frequent commands. They are at both ends of the list, because numbers at the ends of a range are generated more often. */
const first = ["start", "createContact", "receive", "work"] as const
const last = [
  "createWebhook",
  "revise",
  "updateContact",
  "listContacts",
  "setBehavior",
  "receive",
  "reportStatus",
  "sendText",
  "setBehavior",
  "work"
] as const

/** Forty commands. */
export const sequence = array(
  oneOf([command("work"), ...[...first, ...kinds, ...last].map(command)]),
  { minLength: 40, maxLength: 40 }
)
