/** The clients of a run: they use the API for a few minutes at a time, over days. */
import { greetingWith } from "@messaging-crm/conformance/Provider"
import { Effect } from "effect"
import type { TestOrganization } from "../../packages/server/testing/TestOrganization.ts"
import type { Network } from "./Network.ts"
import { type ClientState, type CompletedRequest, hour, repeatCompleted, send } from "./Requests.ts"
import type { Scene, SharedStore } from "./Store.ts"

export interface Clients {
  /** The responses to writes. */
  readonly completed: ReadonlyArray<CompletedRequest>
  /** One session: some requests, and inbound messages between them. */
  readonly session: Effect.Effect<void>
}

/** The clients, with the IDs that they have seen in responses. */
interface State extends ClientState {
  readonly network: Network
  readonly phones: ReadonlyArray<string>
  readonly seen: Readonly<Record<"contacts" | "conversations" | "tags" | "webhooks", Array<string>>>
}

type Action = (client: State) => Effect.Effect<unknown>
type ActionOnPath = (client: State, path: string) => Effect.Effect<unknown>

const event_types = [
  ["message.received", "message.sent", "message.updated", "send.failed", "conversation.opened"],
  ["conversation.closed", "conversation.assigned", "contact.created", "contact.updated", "webhook.disabled"],
  ["message.sent"],
  ["message.received", "contact.updated"]
] as const

const pickId = ({ scene: { random } }: State, ids: ReadonlyArray<string>): string | null =>
  ids[Math.floor(random.next() * ids.length)] ?? null

/** Picks a phone. The first one is the most frequent. */
const pickPhone = ({ phones, scene: { random } }: State): string => random.pick([phones[0] ?? "", ...phones])

const randomText = ({ scene: { random } }: State): string => `text ${random.between(1, 999)}`

const create = (client: State, kind: keyof State["seen"], path: string, json: unknown) =>
  Effect.map(send(client, "POST", path, json), (created) => {
    if (created !== null) client.seen[kind].push(created.id)
  })

const startConversation = Effect.fnUntraced(function*(client: State) {
  const { organization: { channel }, seen: { conversations } } = client
  const json = { channel_id: channel.id, phone: pickPhone(client), template: greetingWith() }
  const started = yield* send(client, "POST", "/conversations", json)
  if (started !== null && !conversations.includes(started.conversation_id)) conversations.push(started.conversation_id)
})

const subscribe: Action = (client) =>
  create(client, "webhooks", "/webhooks", {
    url: `https://${client.scene.random.pick(["a", "b", "c"])}.example/${client.written}`,
    event_types: client.scene.random.pick(event_types)
  })

const onConversation = (act: ActionOnPath): Action => (client) => {
  const id = pickId(client, client.seen.conversations)
  return id === null ? startConversation(client) : act(client, `/conversations/${id}`)
}

const onContact = (act: ActionOnPath): Action => (client) => {
  const id = pickId(client, client.seen.contacts)
  return id === null
    ? create(client, "contacts", "/contacts", { first_name: "Kim" })
    : act(client, `/contacts/${id}`)
}

const onWebhook = (act: ActionOnPath): Action => (client) => {
  const id = pickId(client, client.seen.webhooks)
  return id === null ? subscribe(client) : act(client, `/webhooks/${id}`)
}

const sendText = onConversation((client, path) =>
  send(client, "POST", `${path}/messages`, { type: "text", text: randomText(client) })
)

const sendTemplate = onConversation((client, path) =>
  send(client, "POST", `${path}/messages`, { type: "template", template: greetingWith() })
)

const close = onConversation((client, path) => send(client, "POST", `${path}/close`, { category: "resolved" }))

const reopen = onConversation((client, path) => send(client, "POST", `${path}/reopen`))

const assign = onConversation((client, path) => {
  const assigned_user_id = client.scene.random.pick([null, client.organization.member_id])
  return send(client, "PATCH", `${path}/assignment`, { assigned_user_id })
})

const createContact: Action = (client) =>
  create(client, "contacts", "/contacts", {
    first_name: randomText(client),
    primary_phone: client.scene.random.pick([null, ...client.phones])
  })

const upsertContacts: Action = (client) =>
  send(client, "POST", "/contacts/upsert", {
    match: "primary_phone",
    contacts: [
      { primary_phone: pickPhone(client), last_name: randomText(client) },
      { primary_phone: "+4915199999999" }
    ]
  })

const updateContact = onContact((client, path) => send(client, "PATCH", path, { job_title: randomText(client) }))

const addNote = onContact((client, path) => send(client, "POST", `${path}/notes`, { text: randomText(client) }))

const createTag: Action = (client) => create(client, "tags", "/tags", { name: randomText(client), color: "amber" })

const tagContact = onContact((client, path) =>
  send(client, "PATCH", path, { add_tag_ids: [pickId(client, client.seen.tags)].filter((id) => id !== null) })
)

const testWebhook = onWebhook((client, path) => send(client, "POST", `${path}/test`))

const replayEvents = onWebhook((client, path) =>
  send(client, "POST", `${path}/replay`, { since: new Date(client.scene.timeline.now() - 5 * hour).toISOString() })
)

const rotateSecret = onWebhook((client, path) => send(client, "POST", `${path}/rotate_secret`))

const disableWebhook = onWebhook((client, path) => send(client, "DELETE", path))

const list: Action = (client) =>
  send(
    client,
    "GET",
    client.scene.random.pick(["/contacts", "/conversations", "/sends", "/events", "/tags", "/webhooks"])
  )

const receiveMessage: Action = (client) =>
  client.network.write(client.organization.channel, pickPhone(client), randomText(client))

/** The actions of a session, each with its relative frequency. */
const actions: readonly [readonly [number, Action], ...ReadonlyArray<readonly [number, Action]>] = [
  [3, startConversation],
  [8, sendText],
  [3, sendTemplate],
  [2, close],
  [1, reopen],
  [1, assign],
  [2, createContact],
  [1, upsertContacts],
  [2, updateContact],
  [1, addNote],
  [1, createTag],
  [1, tagContact],
  [1, subscribe],
  [1, testWebhook],
  [1, replayEvents],
  [0.5, rotateSecret],
  [0.3, disableWebhook],
  [1, list],
  [2, repeatCompleted],
  [8, receiveMessage]
]

const total_weight = actions.reduce((sum, [weight]) => sum + weight, 0)

const runRandomAction = (client: State) =>
  Effect.suspend(() => {
    let left = client.scene.random.next() * total_weight
    const [, action] = actions.find(([weight]) => (left -= weight) < 0) ?? actions[0]
    return action(client)
  })

const runSession = Effect.fnUntraced(function*(client: State) {
  const { random, timeline } = client.scene
  const count = random.between(2, 5)
  for (let index = 0; index < count; index++) {
    yield* runRandomAction(client)
    yield* timeline.wait(random.pick([10, 300, 5000, 60_000]))
  }
})

export const make = (
  scene: Scene,
  organization: TestOrganization,
  network: Network,
  shared: SharedStore,
  target: ClientState["target"]
): Clients => {
  const client: State = {
    scene,
    organization,
    network,
    shared,
    target,
    completed: [],
    written: 0,
    phones: Array.from({ length: 4 }, (_, index) => `+4915112345${scene.random.between(10, 99)}${index}`),
    seen: { contacts: [], conversations: [], tags: [], webhooks: [] }
  }
  return { completed: client.completed, session: runSession(client) }
}
