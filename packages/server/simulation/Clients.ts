/** The clients of a run: people at work, who use the API for a few minutes at a time, over days. */
import type { Channel } from "@messaging-crm/core/Channels"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { Effect, Option } from "effect"
import { IdempotencyRows } from "../../adapter-memory/src/work/OwnRows.ts"
import * as Table from "../../adapter-memory/src/world/Table.ts"
import type { Process, Request, Response } from "./Hosts.ts"
import { require } from "./Ledger.ts"
import { type Network, template_id } from "./Network.ts"
import type { Scene, Truth } from "./Store.ts"

/** A request with its final response: another one with its key gets the same. */
export interface Answered {
  readonly request: Request
  readonly response: Response
  readonly at: number
}

export interface Clients {
  /** The responses to writes. */
  readonly answered: ReadonlyArray<Answered>
  /** One session: some requests, and messages of people in between. */
  readonly session: Effect.Effect<void>
}

export interface Setting {
  readonly key: string
  readonly channel: Channel
  readonly member_id: string
  readonly organization_id: OrganizationId
}

const [second, hour] = [1000, 3_600_000]

/** Whether a client repeats its request after a response. */
const isTemporary = ({ hasRetryAfter, status }: Response): boolean => status >= 500 || hasRetryAfter

const event_types = [
  ["message.received", "message.sent", "message.updated", "send.failed", "conversation.opened"],
  ["conversation.closed", "conversation.assigned", "contact.created", "contact.updated", "webhook.disabled"],
  ["message.sent"],
  ["message.received", "contact.updated"]
] as const

export const make = (
  { faults, random, timeline: { now, wait }, trace }: Scene,
  { channel, key, member_id, organization_id }: Setting,
  network: Network,
  truth: Truth,
  target: () => Process | null
): Clients => {
  const answered: Array<Answered> = []
  const known = {
    contacts: [] as Array<string>,
    conversations: [] as Array<string>,
    tags: [] as Array<string>,
    webhooks: [] as Array<string>
  }
  const phones = Array.from({ length: 4 }, (_, index) => `+4915112345${random.between(10, 99)}${index}`)
  const some = (ids: ReadonlyArray<string>): string | null => ids[Math.floor(random.next() * ids.length)] ?? null
  let written = 0

  /** Whether a response is stored under a key. The replay of a request that changed nothing shows the resource as it is now. */
  const isRecorded = (key: string): boolean =>
    Option.exists(Table.get(truth.rows().tables, IdempotencyRows, organization_id, key), ({ body }) => body !== null)

  /** Sends a request once; null without a response. */
  const attempt = Effect.fnUntraced(function*(request: Request) {
    const process = target()
    if (process === null) return null
    const before = truth.faults
    const response = yield* process.request(request)
    if (response === null || random.chance(faults().lost_connection)) return null
    trace.add("client", `${request.method} ${request.path} ${response.status} ${response.text.slice(0, 120)}`)
    require(
      response.status < 500 || response.status === 503 || truth.faults > before,
      `${request.method} ${request.path} responds ${response.status} without a fault: ${response.text}`
    )
    return response
  })

  /** Repeats a request until it has a final response. */
  const send = Effect.fnUntraced(function*(method: string, path: string, json?: unknown) {
    const keyed = method === "GET" ? {} : { "idempotency-key": `request-${++written}-of-a-client` }
    const headers = { authorization: `Bearer ${key}`, ...keyed }
    const request: Request = json === undefined ? { method, path, headers } : { method, path, headers, json }
    for (let tries = 0;; tries++) {
      const response = yield* attempt(request)
      if (response !== null && !isTemporary(response)) {
        if (method !== "GET") answered.push({ request, response, at: now() })
        const isSuccess = response.status < 300 && response.text !== ""
        return isSuccess ? JSON.parse(response.text).data : null
      }
      yield* wait(Math.min(2 ** tries, 60) * second)
    }
  })

  const repeat = Effect.gen(function*() {
    const one = answered[Math.floor(random.next() * answered.length)]
    if (one === undefined || now() - one.at > 23 * hour) return
    const again = yield* attempt(one.request)
    if (again === null || isTemporary(again)) return
    require(again.status === one.response.status, `${one.request.path} is replayed with ${again.status}`)
    const isStored = isRecorded(one.request.headers["idempotency-key"] ?? "")
    require(!isStored || again.text === one.response.text, `${one.request.path} is replayed with ${again.text}`)
  })

  const create = (kind: keyof typeof known, path: string, json: unknown) =>
    Effect.map(send("POST", path, json), (made) => {
      if (made !== null) known[kind].push(made.id)
    })

  const template = { id: template_id, components: [{ type: "body", parameters: [{ type: "text", text: "Kim" }] }] }

  const start = Effect.gen(function*() {
    const made = yield* send("POST", "/conversations", {
      channel_id: channel.id,
      phone: random.pick([phones[0] ?? "", ...phones]),
      template
    })
    if (made !== null && !known.conversations.includes(made.conversation_id)) {
      known.conversations.push(made.conversation_id)
    }
  })

  const inConversation = (act: (path: string) => Effect.Effect<unknown>) => {
    const id = some(known.conversations)
    return id === null ? start : act(`/conversations/${id}`)
  }

  const onContact = (act: (path: string) => Effect.Effect<unknown>) => {
    const id = some(known.contacts)
    return id === null ? create("contacts", "/contacts", { first_name: "Kim" }) : act(`/contacts/${id}`)
  }

  const onWebhook = (act: (path: string) => Effect.Effect<unknown>) => {
    const id = some(known.webhooks)
    return id === null ? subscribe : act(`/webhooks/${id}`)
  }

  const subscribe = Effect.suspend(() =>
    create("webhooks", "/webhooks", {
      url: `https://${random.pick(["a", "b", "c"])}.example/${written}`,
      event_types: random.pick(event_types)
    })
  )

  const word = () => `text ${random.between(1, 999)}`

  const actions: readonly [
    readonly [number, () => Effect.Effect<unknown>],
    ...ReadonlyArray<readonly [number, () => Effect.Effect<unknown>]>
  ] = [
    [3, () => start],
    [8, () => inConversation((path) => send("POST", `${path}/messages`, { type: "text", text: word() }))],
    [3, () => inConversation((path) => send("POST", `${path}/messages`, { type: "template", template }))],
    [2, () => inConversation((path) => send("POST", `${path}/close`, { category: "resolved" }))],
    [1, () => inConversation((path) => send("POST", `${path}/reopen`))],
    [
      1,
      () =>
        inConversation((path) =>
          send("PATCH", `${path}/assignment`, { assigned_user_id: random.pick([null, member_id]) })
        )
    ],
    [2, () => create("contacts", "/contacts", { first_name: word(), primary_phone: random.pick([null, ...phones]) })],
    [1, () =>
      send("POST", "/contacts/upsert", {
        match: "primary_phone",
        contacts: [{ primary_phone: random.pick([phones[0] ?? "", ...phones]), last_name: word() }, {
          primary_phone: "+4915199999999"
        }]
      })],
    [2, () => onContact((path) => send("PATCH", path, { job_title: word() }))],
    [1, () => onContact((path) => send("POST", `${path}/notes`, { text: word() }))],
    [1, () => create("tags", "/tags", { name: word(), color: "amber" })],
    [
      1,
      () => onContact((path) => send("PATCH", path, { add_tag_ids: [some(known.tags)].filter((id) => id !== null) }))
    ],
    [1, () => subscribe],
    [1, () => onWebhook((path) => send("POST", `${path}/test`))],
    [1, () => onWebhook((path) => send("POST", `${path}/replay`, { since: new Date(now() - 5 * hour).toISOString() }))],
    [0.5, () => onWebhook((path) => send("POST", `${path}/rotate_secret`))],
    [0.3, () => onWebhook((path) => send("DELETE", path))],
    [1, () => send("GET", random.pick(["/contacts", "/conversations", "/sends", "/events", "/tags", "/webhooks"]))],
    [2, () => repeat],
    [8, () => network.write(channel, random.pick([phones[0] ?? "", ...phones]), word())]
  ]
  const total = actions.reduce((sum, [weight]) => sum + weight, 0)

  const act = Effect.suspend(() => {
    let left = random.next() * total
    const [, action] = actions.find(([weight]) => (left -= weight) < 0) ?? actions[0]
    return action()
  })

  const session = Effect.gen(function*() {
    const count = random.between(2, 5)
    for (let index = 0; index < count; index++) {
      yield* act
      yield* wait(random.pick([10, 300, 5000, 60_000]))
    }
  })

  return { answered, session }
}
