/** The organization of a run in memory, and the requests that its clients may make. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { type Channel, Channels, ConnectChannel } from "@messaging-crm/core/Channels"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { Effect, Redacted } from "effect"
import { pick } from "../Pick.ts"
import type { Call, Resource } from "./History.ts"
import { textOf } from "./Requests.ts"

/** Creates an organization with a channel and an API key. */
export const setUp = Effect.gen(function*() {
  const { organization: { id: organization_id }, owner } = yield* Organizations.use((organizations) =>
    organizations.create(CreateOrganization.make({ name: "Acme", owner_name: "Ada", owner_email: "ada@acme.example" }))
  )
  const as = Effect.provideService(CurrentActor, { organization_id, member_id: owner.id })
  const channel = yield* as(Channels.use((channels) =>
    channels.connect(ConnectChannel.make({
      type: "phone_messaging",
      name: "Support",
      address: "+4930123456",
      phone_messaging_business_account_id: "account"
    }))
  ))
  const { api_key, key } = yield* as(
    ApiKeys.use((keys) =>
      keys.create(CreateApiKey.make({ created_by: owner.id, name: "run", scopes: Scope.literals, expires: "90d" }))
    )
  )
  return { as, channel, organization_id, member_id: owner.id, key: Redacted.value(key), key_id: api_key.id }
})

export type Scene = Effect.Success<typeof setUp>
/** A request that a client wants to make. */
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

  readonly learn = (operation: string, resource: Resource) => {
    const id = textOf(resource, "id")
    const conversation = textOf(resource, "conversation_id")
    const all = this as unknown as Readonly<Record<string, Array<string> | undefined>> // its fields are lists of IDs
    const kind = operation.split(".")[0] ?? ""
    const known = kind === "messages" ? `${conversation}/messages/${id}` : id
    if (known !== null && all[kind]?.includes(known) === false) all[kind].push(known)
    if (conversation !== null && !this.conversations.includes(conversation)) this.conversations.push(conversation)
  }
}

const none = "019aa0c2-5b00-7000-8000-00000000000b"

/** Few rows, so that clients meet. */
const pickHot = (ids: ReadonlyArray<string>) => ids.length === 0 ? Effect.succeed(none) : pick(ids.slice(0, 3))

/** Every request that a client may make. */
export const wishes = (
  known: SeenResources,
  { channel, member_id }: Scene,
  unique: string
): ReadonlyArray<Effect.Effect<MemoryRequest>> => {
  const write = (
    operation: Call["operation"],
    path: Effect.Effect<string>,
    body: unknown,
    method: MemoryRequest["method"] = "POST"
  ) => Effect.map(path, (path): MemoryRequest => ({ operation, method, path, body }))
  const read = (operation: Call["operation"], path: Effect.Effect<string>) => write(operation, path, null, "GET")
  const at = (prefix: string, ids: ReadonlyArray<string>, suffix = "") =>
    Effect.map(pickHot(ids), (id) => `/${prefix}/${id}${suffix}`)
  const fixed = Effect.succeed
  const [tag = none] = known.tags
  const update = (body: unknown) => write("contacts.update", at("contacts", known.contacts), body, "PATCH")
  const conversation = (suffix = "") => at("conversations", known.conversations, suffix)
  return [
    Effect.flatMap(
      pick(phones),
      (primary_phone) => write("contacts.create", fixed("/contacts"), { first_name: unique, primary_phone })
    ),
    update({ city: unique }),
    update({ company: unique, custom_values: null }),
    update({ add_tag_ids: [tag] }),
    update({ remove_tag_ids: [tag] }),
    update({}),
    write("contacts.add_note", at("contacts", known.contacts, "/notes"), { text: unique }),
    write("contacts.upsert", fixed("/contacts/upsert"), {
      match: "primary_email",
      contacts: [{ primary_email: "kim@acme.example", job_title: unique }]
    }),
    read("contacts.get", at("contacts", known.contacts)),
    read("contacts.get", at("contacts", known.contacts)),
    read("contacts.list", fixed("/contacts?page_size=100")),
    Effect.flatMap(
      pick(["VIP", "vip", unique]),
      (name) => write("tags.create", fixed("/tags"), { name, color: "red" })
    ),
    read("tags.list", fixed("/tags")),
    ...[1, 2].map(() =>
      Effect.flatMap(pick(phones), (phone) =>
        write("sends.start", fixed("/conversations"), {
          channel_id: channel.id,
          phone,
          template: template(channel, unique)
        }))
    ),
    write("sends.send", conversation("/messages"), text(unique)),
    write("sends.send", conversation("/messages"), { type: "template", template: template(channel, unique) }),
    read("sends.get", at("sends", known.sends)),
    read("sends.list", fixed("/sends")),
    read("conversations.get", conversation()),
    read("conversations.list", fixed("/conversations")),
    write("conversations.assign", conversation("/assignment"), { assigned_user_id: member_id }, "PATCH"),
    write("conversations.assign", conversation("/assignment"), { assigned_user_id: null }, "PATCH"),
    write("conversations.close", conversation("/close"), { category: unique }),
    write("conversations.reopen", conversation("/reopen"), null),
    read("messages.list", conversation("/messages")),
    ...[1, 2].map(() => read("messages.get", at("conversations", known.messages))),
    read("webhooks.list", fixed("/webhooks")),
    write("webhooks.create", fixed("/webhooks"), {
      url: `https://shop.example/${unique}`,
      event_types: ["contact.created", "message.sent"]
    }),
    write("webhooks.update", at("webhooks", known.webhooks), { event_types: ["send.failed"] }, "PATCH"),
    write("webhooks.replay", at("webhooks", known.webhooks, "/replay"), { since: "1970-01-01T00:00:00.000Z" }),
    Effect.map(pick(known.webhooks.length < 3 ? [none] : known.webhooks.slice(2)), (id): MemoryRequest => ({
      operation: "webhooks.disable",
      method: "DELETE",
      path: `/webhooks/${id}`,
      body: null
    }))
  ]
}
