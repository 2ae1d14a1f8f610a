/** The random requests of the clients of a run in memory. */
import type { Channel } from "@messaging-crm/core/Channels"
import { Effect } from "effect"
import { pick } from "../../testing/Pick.ts"
import type { TestOrganization } from "../../testing/TestOrganization.ts"
import type { Call, Resource } from "../History.ts"
import { textOf } from "../Responses.ts"

/** A request that a client has not made yet. */
export type MemoryRequest = Pick<Call, "operation"> & Pick<Call["request"], "body" | "method" | "path">

export const phones = ["+491511234567", "+491511234568", "+491510000002", "+491510000003", "+491510000007"]

const text = (value: string) => ({ type: "text", text: value })

const template = (channel: Channel, value: string) => ({
  id: `${channel.phone_messaging_business_account_id}.order_ready`,
  components: [
    { type: "header", parameters: [text("7")] },
    { type: "body", parameters: [text("Kim"), text(value)] },
    { type: "button", sub_type: "url", index: 0, parameters: [text("7")] }
  ]
})

/** The objects that clients have seen in responses. */
export class SeenResources {
  readonly contacts: Array<string> = []
  readonly conversations: Array<string> = []
  readonly messages: Array<string> = []
  readonly sends: Array<string> = []
  readonly tags: Array<string> = []
  readonly webhooks: Array<string> = []

  /** Adds the IDs in a resource that an operation returned. */
  readonly add = (operation: string, resource: Resource) => {
    const id = textOf(resource, "id")
    const conversation = textOf(resource, "conversation_id")
    const all = this as unknown as Readonly<Record<string, Array<string> | undefined>> // its fields are lists of IDs
    const kind = operation.split(".")[0] ?? ""
    const known = kind === "messages" ? `${conversation}/messages/${id}` : id
    if (known !== null && all[kind]?.includes(known) === false) all[kind].push(known)
    if (conversation !== null && !this.conversations.includes(conversation)) this.conversations.push(conversation)
  }
}

/** An ID that no object has. */
const none = "019aa0c2-5b00-7000-8000-00000000000b"

/** Picks one of the first three objects, so that clients conflict with each other. */
const pickShared = (ids: ReadonlyArray<string>) => ids.length === 0 ? Effect.succeed(none) : pick(ids.slice(0, 3))

type RandomRequest = Effect.Effect<MemoryRequest>

const write = (
  operation: Call["operation"],
  path: Effect.Effect<string> | string,
  body: unknown,
  method: MemoryRequest["method"] = "POST"
): RandomRequest =>
  Effect.map(typeof path === "string" ? Effect.succeed(path) : path, (path) => ({ operation, method, path, body }))

const read = (operation: Call["operation"], path: Effect.Effect<string> | string): RandomRequest =>
  write(operation, path, null, "GET")

const pathOf = (prefix: string, ids: ReadonlyArray<string>, suffix = "") =>
  Effect.map(pickShared(ids), (id) => `/${prefix}/${id}${suffix}`)

const contactRequests = ({ contacts, tags: [tag = none] }: SeenResources, unique: string) => {
  const update = (body: unknown) => write("contacts.update", pathOf("contacts", contacts), body, "PATCH")
  return [
    Effect.flatMap(
      pick(phones),
      (primary_phone) => write("contacts.create", "/contacts", { first_name: unique, primary_phone })
    ),
    update({ city: unique }),
    update({ company: unique, custom_values: null }),
    update({ add_tag_ids: [tag] }),
    update({ remove_tag_ids: [tag] }),
    update({}),
    write("contacts.add_note", pathOf("contacts", contacts, "/notes"), { text: unique }),
    write("contacts.upsert", "/contacts/upsert", {
      match: "primary_email",
      contacts: [{ primary_email: "kim@acme.example", job_title: unique }]
    }),
    ...[1, 2].map(() => read("contacts.get", pathOf("contacts", contacts))),
    read("contacts.list", "/contacts?page_size=100")
  ]
}

const tagRequests = (unique: string) => [
  Effect.flatMap(pick(["VIP", "vip", unique]), (name) => write("tags.create", "/tags", { name, color: "red" })),
  read("tags.list", "/tags")
]

const conversationRequests = (seen: SeenResources, { channel, member_id }: TestOrganization, unique: string) => {
  const conversation = (suffix = "") => pathOf("conversations", seen.conversations, suffix)
  const greeting = template(channel, unique)
  const assign = (assigned_user_id: string | null) =>
    write("conversations.assign", conversation("/assignment"), { assigned_user_id }, "PATCH")
  return [
    ...[1, 2].map(() =>
      Effect.flatMap(
        pick(phones),
        (phone) => write("sends.start", "/conversations", { channel_id: channel.id, phone, template: greeting })
      )
    ),
    write("sends.send", conversation("/messages"), text(unique)),
    write("sends.send", conversation("/messages"), { type: "template", template: greeting }),
    read("sends.get", pathOf("sends", seen.sends)),
    read("sends.list", "/sends"),
    read("conversations.get", conversation()),
    read("conversations.list", "/conversations"),
    assign(member_id),
    assign(null),
    write("conversations.close", conversation("/close"), { category: unique }),
    write("conversations.reopen", conversation("/reopen"), null),
    read("messages.list", conversation("/messages")),
    ...[1, 2].map(() => read("messages.get", pathOf("conversations", seen.messages)))
  ]
}

const webhookRequests = ({ webhooks }: SeenResources, unique: string) => [
  read("webhooks.list", "/webhooks"),
  write("webhooks.create", "/webhooks", {
    url: `https://shop.example/${unique}`,
    event_types: ["contact.created", "message.sent"]
  }),
  write("webhooks.update", pathOf("webhooks", webhooks), { event_types: ["send.failed"] }, "PATCH"),
  write("webhooks.replay", pathOf("webhooks", webhooks, "/replay"), { since: "1970-01-01T00:00:00.000Z" }),
  // The first two webhooks stay active.
  Effect.flatMap(
    pick(webhooks.length < 3 ? [none] : webhooks.slice(2)),
    (id) => write("webhooks.disable", `/webhooks/${id}`, null, "DELETE")
  )
]

/** Returns every request that a client can make. */
export const randomRequests = (
  seen: SeenResources,
  organization: TestOrganization,
  unique: string
): ReadonlyArray<RandomRequest> => [
  ...contactRequests(seen, unique),
  ...tagRequests(unique),
  ...conversationRequests(seen, organization, unique),
  ...webhookRequests(seen, unique)
]
