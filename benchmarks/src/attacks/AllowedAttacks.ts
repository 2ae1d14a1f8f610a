/** Attacks by requests that the limits of one key allow: 120 a minute, 32 at once. */
import { limits } from "@messaging-crm/core/Limits"
import { createServer } from "node:http"
import { callApi, count, listen, send, type Target, writeHeaders } from "./Target.ts"

/** Acts as often as the limits of one key allow. */
const actAsAllowed = (act: (number: number) => Promise<unknown>): void => {
  let number = 0
  const actInWindow = async () => {
    let remaining: number = limits.requests_per_minute
    await Promise.all(Array.from({ length: limits.requests_at_once }, async () => {
      while (remaining-- > 0) await act(number++)
    }))
  }
  // The measurement begins two seconds after the start of the attack.
  setTimeout(actInWindow, 3000)
  setInterval(actInWindow, 60_000)
}

const rangeOf = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, index) => index)

const write = (target: Target, method: "PATCH" | "POST", path: string, body: object): Promise<void> =>
  send(target, { method, path: `/v1${path}`, headers: writeHeaders(target) }, JSON.stringify(body))

const read = (target: Target, path: string): Promise<void> =>
  send(target, { path: `/v1${path}`, headers: { authorization: `Bearer ${target.key}` } })

/** Lists contacts with notes of 60,000 characters. */
export const listLongContacts = async (target: Target): Promise<void> => {
  const contact = { first_name: "Long", notes: "a".repeat(60_000) }
  for (const _ of rangeOf(limits.page_size_max + 1)) await callApi(target, "POST", "/contacts", contact)
  actAsAllowed(() => read(target, `/contacts?page_size=${limits.page_size_max}`))
}

/** Starts endpoints at one port, and returns a function that subscribes some, each at its own host, with the IDs of their webhooks. */
const serveEndpoints = async (target: Target) => {
  const response = "a".repeat(limits.webhook_response_bytes_max)
  const server = createServer((request, reply) => {
    count(target, "received")
    request.resume().once("end", () => reply.end(response))
  })
  const { port } = new URL(await listen(server))
  return (hosts: ReadonlyArray<number>, options: { event_types: ReadonlyArray<string>; include_resource?: boolean }) =>
    Promise.all(
      hosts.map((host) =>
        callApi(target, "POST", "/webhooks", { url: `http://hook-${host}.localhost:${port}`, ...options })
      )
    )
}

const every_webhook = rangeOf(limits.webhooks_active_max)
const upserted = rangeOf(limits.upsert_contacts_max)

/** Creates contacts by upserts, with many webhooks that are subscribed to their events. */
export const upsertForManyWebhooks = async (target: Target): Promise<void> => {
  const subscribe = await serveEndpoints(target)
  await subscribe(every_webhook, { event_types: ["contact.created"] })
  actAsAllowed((number) =>
    write(target, "POST", "/contacts/upsert", {
      match: "primary_email",
      contacts: upserted.map((index) => ({ primary_email: `${number}-${index}@attack.example` }))
    })
  )
}

/** Changes the tags and a custom value of the same contacts by upserts, with many webhooks that receive the contacts. */
export const upsertWidely = async (target: Target): Promise<void> => {
  const subscribe = await serveEndpoints(target)
  await subscribe(every_webhook, { event_types: ["contact.created", "contact.updated"], include_resource: true })
  const [field] = await callApi(target, "GET", "/contact-fields")
  const tags = await Promise.all(
    rangeOf(100).map((index) => callApi(target, "POST", "/tags", { name: `Tag ${index}`, color: "red" }))
  )
  actAsAllowed((number) =>
    write(target, "POST", "/contacts/upsert", {
      match: "primary_phone",
      contacts: upserted.map((index) => ({
        primary_phone: `+49151123456${String(index).padStart(2, "0")}`,
        first_name: "Wide",
        tag_ids: rangeOf(10).map((tag) => tags[(number * 10 + index + tag) % tags.length]?.id),
        custom_values: { [field?.id ?? ""]: `${number}`.padStart(50, "0") }
      }))
    })
  )
}

const longNotes = (number: number) => ({ notes: `${number}`.padEnd(60_000, "a") })

/** Updates a contact with long notes, with many webhooks that receive the contact. */
export const raiseLongEvents = async (target: Target): Promise<void> => {
  const subscribe = await serveEndpoints(target)
  await subscribe(every_webhook, { event_types: ["contact.updated"], include_resource: true })
  const { id } = await callApi(target, "POST", "/contacts", { first_name: "Long" })
  actAsAllowed((number) => write(target, "PATCH", `/contacts/${id}`, longNotes(number)))
}

/** Posts every long event again to many webhooks. */
export const replayLongEvents = async (target: Target): Promise<void> => {
  const subscribe = await serveEndpoints(target)
  const options = { event_types: ["contact.updated"], include_resource: true }
  const since = new Date(Date.now() - 60_000).toISOString()
  const first = await subscribe(every_webhook.slice(0, 1), options)
  const { id } = await callApi(target, "POST", "/contacts", { first_name: "Long" })
  for (const number of rangeOf(100)) await callApi(target, "PATCH", `/contacts/${id}`, longNotes(number))
  const webhooks = [...first, ...await subscribe(every_webhook.slice(1), options)]
  actAsAllowed((number) =>
    write(target, "POST", `/webhooks/${webhooks[number % webhooks.length]?.id}/replay`, { since })
  )
}

/** Lists messages, deliveries, and other resources with texts of the maximum length. */
export const listLongTexts = async (target: Target): Promise<void> => {
  const subscribe = await serveEndpoints(target)
  const [webhook] = await subscribe(every_webhook, { event_types: ["message.sent"], include_resource: true })
  const [conversation] = await callApi(target, "GET", "/conversations")
  const messages = `/conversations/${conversation?.id}/messages`
  const text = "\u{1F600}".repeat(limits.message_text_chars_max / 2)
  const name = "\u{1F600}".repeat((limits.tag_name_chars_max - 4) / 2)
  for (const _ of rangeOf(limits.page_size_max + 1)) await callApi(target, "POST", messages, { type: "text", text })
  for (const index of rangeOf(limits.tags_max)) {
    await callApi(target, "POST", "/tags", {
      name: `${index}`.padStart(4, "0") + name,
      color: "red"
    })
  }
  const page = `?page_size=${limits.page_size_max}`
  const lists = [
    messages,
    `/webhooks/${webhook?.id}/deliveries`,
    `/conversations${page}`,
    `/sends${page}`,
    `/events${page}`,
    "/tags",
    "/webhooks",
    "/templates"
  ]
  actAsAllowed((number) => read(target, lists[number % lists.length] ?? ""))
}
