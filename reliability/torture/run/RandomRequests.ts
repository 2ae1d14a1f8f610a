/** Random requests of a client for a few objects that all clients of an organization share. */
import { EventType } from "@messaging-crm/core/Events"
import { limits } from "@messaging-crm/core/Limits"
import { DateTime, Effect, Random, Struct } from "effect"
import { pick, pickAny } from "../../../packages/server/testing/Pick.ts"
import * as Api from "../../../packages/server/testing/processes/Api.ts"
import type { Resource } from "../History.ts"
import type { PlannedRequest } from "./Recorder.ts"
import type { SeenResources } from "./SeenResources.ts"

/** The number of objects of a kind that all clients change. */
const shared_max = 6

const pickShared = (ids: ReadonlyArray<string>) =>
  Effect.map(pickAny(ids.slice(0, shared_max)), (id) => id ?? "019aa0c2-5b00-7000-8000-00000000000b")

const chance = (probability: number) => Effect.map(Random.next, (value) => value < probability)

const tag_names = ["vip", "VIP", "Straße", "STRASSE", "late", "new", "old"]

/** Returns a text that no other request contains. */
type Unique = (prefix: string) => string

/** A request of the operation whose generator returns it, or of another one, if there is no object for the first. */
type Draft = Omit<PlannedRequest, "operation"> & Partial<Pick<PlannedRequest, "operation">>

type Generate = (seen: SeenResources, unique: Unique) => Effect.Effect<Draft>

type Operation = PlannedRequest["operation"]

/** The generators of some operations. */
type Generators = Readonly<Partial<Record<Operation, Generate>>>

/** A request that is safe to repeat. */
const write = (request: Draft, unique: Unique): Draft => ({ ...request, idempotency_key: unique("idempotency") })

const get = (path: string): Draft => ({ method: "GET", path })

const listWebhooks: Draft = { operation: "webhooks.list", ...get("/webhooks") }

const contactFields = Effect.fnUntraced(function*({ member_id, tags }: SeenResources, unique: Unique) {
  const owner = { owner_user_id: (yield* chance(0.5)) ? member_id : null }
  const tag = yield* pickAny(tags.slice(0, shared_max))
  const tagged = { tag_ids: tag === undefined ? [] : [tag] }
  const choices: ReadonlyArray<Resource> = [
    { first_name: unique("first") },
    { last_name: unique("last"), lifecycle_stage: "lead" },
    { company: unique("Straße"), ...owner },
    { city: unique("city"), ...tagged },
    tag === undefined ? { job_title: null } : { add_tag_ids: [tag] },
    tag === undefined ? {} : { remove_tag_ids: [tag] }
  ]
  return yield* pick(choices)
})

const contacts = {
  "contacts.create": Effect.fnUntraced(function*({ phones }, unique) {
    const body = { first_name: unique("created"), primary_phone: (yield* pickAny(phones)) ?? null }
    return write({ method: "POST", path: "/contacts", body }, unique)
  }),
  "contacts.update": Effect.fnUntraced(function*(seen, unique) {
    const path = `/contacts/${yield* pickShared(seen.contacts)}`
    const body = yield* contactFields(seen, unique)
    return write({ method: "PATCH", path, body }, unique)
  }),
  "contacts.add_note": Effect.fnUntraced(function*(seen, unique) {
    const path = `/contacts/${yield* pickShared(seen.contacts)}/notes`
    const request = { method: "POST", path, body: { text: unique("note") } } as const
    // The key is optional.
    return (yield* chance(0.2)) ? request : write(request, unique)
  }),
  "contacts.upsert": Effect.fnUntraced(function*(_, unique) {
    const emails = ["kim@acme.example", "KIM@acme.example", "alex@acme.example"]
    const rows = yield* Effect.forEach(
      [1, 2],
      () => Effect.map(pick(emails), (primary_email) => ({ primary_email, last_name: unique("upserted") }))
    )
    const body = { match: "primary_email", contacts: rows }
    return write({ method: "POST", path: "/contacts/upsert", body }, unique)
  }),
  "contacts.get": (seen) => Effect.map(pickShared(seen.contacts), (id) => get(`/contacts/${id}`)),
  "contacts.list": () =>
    Effect.map(
      pick(["", "?query=created", "?lifecycle_stage=lead", "?channel=phone_messaging&page_size=20", "?page_size=3"]),
      (query) => get(`/contacts${query}`)
    ),
  "contact_fields.list": () => Effect.succeed(get("/contact-fields"))
} satisfies Generators

const catalog = {
  "tags.create": Effect.fnUntraced(function*(_, unique) {
    const name = (yield* chance(0.7)) ? yield* pick(tag_names) : unique("tag")
    const request = { method: "POST", path: "/tags", body: { name, color: "blue" } } as const
    return (yield* chance(0.2)) ? request : write(request, unique)
  }),
  "tags.list": () => Effect.succeed(get("/tags")),
  "members.list": () => Effect.succeed(get("/members")),
  "channels.list": () => Effect.succeed(get("/channels")),
  "templates.list": () => Effect.succeed(get("/templates"))
} satisfies Generators

const onConversation =
  (method: "PATCH" | "POST", suffix: string) =>
  (bodyOf: (seen: SeenResources) => Effect.Effect<Resource | undefined>): Generate =>
    Effect.fnUntraced(function*(seen, unique) {
      const path = `/conversations/${yield* pickShared(seen.conversations)}${suffix}`
      const body = yield* bodyOf(seen)
      return write(body === undefined ? { method, path } : { method, path, body }, unique)
    })

const conversations = {
  "sends.start": Effect.fnUntraced(function*({ channel_id, phones, template_id }, unique) {
    const phone = (yield* pickAny(phones)) ?? ""
    const body = Api.newConversation(channel_id, phone, unique("started"), template_id)
    return write({ method: "POST", path: "/conversations", body }, unique)
  }),
  "sends.send": Effect.fnUntraced(function*(seen, unique) {
    const path = `/conversations/${yield* pickShared(seen.conversations)}/messages`
    const { template } = Api.newConversation(seen.channel_id, "", unique("template"), seen.template_id)
    const text = { type: "text", text: unique("text 👋") }
    const body = (yield* chance(0.3)) ? { type: "template", template } : text
    return write({ method: "POST", path, body }, unique)
  }),
  "conversations.assign": onConversation("PATCH", "/assignment")(
    Effect.fnUntraced(function*({ member_id }) {
      return {
        assigned_user_id: (yield* chance(0.6)) ? member_id : null,
        sync_contact_owner: yield* chance(0.5)
      }
    })
  ),
  "conversations.close": onConversation("POST", "/close")(() =>
    Effect.map(pick(["resolved", "spam", null]), (category) => ({ category }))
  ),
  "conversations.reopen": onConversation("POST", "/reopen")(() => Effect.succeed(undefined)),
  "conversations.get": ({ conversations }) =>
    Effect.map(pickShared(conversations), (id) => get(`/conversations/${id}`)),
  "conversations.list": () =>
    Effect.map(
      pick(["", "?status=open", "?status=closed", "?unassigned=true"]),
      (query) => get(`/conversations${query}`)
    ),
  "messages.list": ({ conversations }) =>
    Effect.map(pickShared(conversations), (id) => get(`/conversations/${id}/messages`)),
  "messages.get": ({ messages }) =>
    Effect.map(pickAny(messages), (message) =>
      message === undefined
        ? { operation: "channels.list" as const, ...get("/channels") }
        : get(`/conversations/${message.conversation_id}/messages/${message.id}`)),
  "sends.get": ({ sends }) =>
    Effect.map(
      pickAny(sends.slice(-20)),
      (id) => id === undefined ? { operation: "sends.list" as const, ...get("/sends") } : get(`/sends/${id}`)
    ),
  "sends.list": () => Effect.map(pick(["", "?status=sent", "?status=queued"]), (query) => get(`/sends${query}`))
} satisfies Generators

/** The maximum number of active webhooks of an organization, because each event has a delivery for each webhook. */
const webhooks_max = 3

const onWebhook =
  (method: "DELETE" | "PATCH" | "POST", suffix: string) =>
  (bodyOf: (seen: SeenResources) => Effect.Effect<Resource | undefined>): Generate =>
    Effect.fnUntraced(function*(seen, unique) {
      const id = yield* pickAny(seen.webhooks)
      if (id === undefined) return listWebhooks
      const body = yield* bodyOf(seen)
      const path = `/webhooks/${id}${suffix}`
      return write(body === undefined ? { method, path } : { method, path, body }, unique)
    })

const someTypes = Effect.map(
  Random.shuffle(EventType.literals),
  (types) => types.slice(0, limits.webhook_event_types_max)
)

const disable = onWebhook("DELETE", "")(() => Effect.succeed(undefined))

const webhooks = {
  "webhooks.create": Effect.fnUntraced(function*(seen, unique) {
    if (seen.webhooks.length >= webhooks_max) {
      return (yield* chance(0.2))
        ? { operation: "webhooks.disable" as const, ...yield* disable(seen, unique) }
        : { ...listWebhooks, path: "/webhooks?status=active" }
    }
    const body = { url: seen.newUrl(), event_types: yield* someTypes }
    return write({ method: "POST", path: "/webhooks", body }, unique)
  }),
  "webhooks.disable": disable,
  "webhooks.update": onWebhook("PATCH", "")(() => Effect.map(someTypes, (event_types) => ({ event_types }))),
  "webhooks.rotate_secret": onWebhook("POST", "/rotate_secret")(() => Effect.succeed(undefined)),
  "webhooks.test": onWebhook("POST", "/test")(() => Effect.succeed(undefined)),
  "webhooks.replay": Effect.fnUntraced(function*(seen, unique) {
    const now = yield* DateTime.now
    const seconds = yield* Random.nextIntBetween(1, 30)
    const since = DateTime.formatIso(DateTime.subtract(now, { seconds }))
    return yield* onWebhook("POST", "/replay")(() => Effect.succeed({ since }))(seen, unique)
  }),
  "webhooks.get": ({ webhooks }) =>
    Effect.map(
      pickAny(webhooks),
      (id) => id === undefined ? listWebhooks : get(`/webhooks/${id}`)
    ),
  "webhooks.list": () => Effect.succeed(get("/webhooks")),
  "webhook_deliveries.list": ({ webhooks }) =>
    Effect.map(pickAny(webhooks), (id) =>
      id === undefined
        ? listWebhooks
        : get(`/webhooks/${id}/deliveries`)),
  "webhook_deliveries.retry": Effect.fnUntraced(function*({ deliveries }, unique) {
    const delivery = yield* pickAny(deliveries.slice(-20))
    if (delivery === undefined) return listWebhooks
    const path = `/webhooks/${delivery.webhook_id}/deliveries/${delivery.id}/retry`
    return write({ method: "POST", path }, unique)
  }),
  "events.get": ({ events }) =>
    Effect.map(
      pickAny(events.slice(-20)),
      (id) => id === undefined ? { operation: "events.list", ...get("/events") } : get(`/events/${id}`)
    ),
  "events.list": () => Effect.map(pick(["", "?type=contact.created"]), (query) => get(`/events${query}`))
} satisfies Generators

/** The relative frequency of an operation; 2 for the others. `webhooks.create` disables a webhook when there are too many. */
const weights: Readonly<Partial<Record<Operation, number>>> = {
  "contacts.update": 10,
  "contacts.add_note": 8,
  "sends.start": 7,
  "sends.send": 10,
  "contacts.upsert": 4,
  "contacts.create": 4,
  "contacts.get": 6,
  "conversations.assign": 4,
  "conversations.close": 4,
  "conversations.reopen": 4,
  "messages.list": 4,
  "sends.get": 4,
  "tags.create": 3,
  "webhooks.disable": 0
}

/** Every operation of the API. A new one does not compile until it is in a table above. */
const generators: Readonly<Record<Operation, Generate>> = { ...contacts, ...catalog, ...conversations, ...webhooks }

/** Each operation as often as its weight. */
const weighted = Struct.keys(generators).flatMap((operation) =>
  Array.from({ length: weights[operation] ?? 2 }, () => operation)
)

/** Returns the next request of a client. */
export const next = Effect.fnUntraced(function*(seen: SeenResources, unique: Unique) {
  const operation = yield* pick(weighted)
  return { operation, ...yield* generators[operation](seen, unique) } satisfies PlannedRequest
})
