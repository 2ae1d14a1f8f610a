/** An organization with a channel of each type on the fake Graph API, over a whole core in memory, at noon. */
import { assert, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as WebhookTransport from "@messaging-crm/adapter-memory/WebhookTransport"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Channels, type ChannelType, ConnectChannel } from "@messaging-crm/core/Channels"
import { Conversations } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { type LinkedMessage, Messages } from "@messaging-crm/core/Messages"
import type { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { CreateOrganization, Organizations } from "@messaging-crm/core/Organizations"
import { SendMessage, Sends } from "@messaging-crm/core/Sends"
import { Worker } from "@messaging-crm/core/Worker"
import type { MediaLoader } from "@messaging-crm/provider-cloud/MediaLoader"
import { Context, DateTime, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { messageEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { over } from "./Network.ts"

export const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
export const seconds = noon.epochMilliseconds / 1000

const crm = Crm.layer.pipe(Layer.provide([Memory.layer, WebhookTransport.layer]))

/** An organization with a channel of each type, at noon. */
export class Acme extends Context.Service<Acme, Readonly<Record<ChannelType, string>>>()("test/Acme") {}

const connect = (type: ChannelType, address: string) =>
  Channels.use((channels) =>
    channels.connect(ConnectChannel.make({
      type,
      name: "Support",
      address,
      phone_messaging_business_account_id: type === "phone_messaging" ? "acme" : null
    }))
  ).pipe(Effect.map(({ id }) => id))

const acme = Layer.effectContext(Effect.gen(function*() {
  yield* TestClock.setTime(noon.epochMilliseconds)
  const { organization, owner } = yield* Organizations.use((organizations) =>
    organizations.create(CreateOrganization.make({ name: "Acme", owner_name: "Ada", owner_email: "ada@acme.example" }))
  )
  const actor = { organization_id: organization.id, member_id: owner.id }
  const channels = yield* Effect.all({
    phone_messaging: connect("phone_messaging", "+493012345678"),
    page_messaging: connect("page_messaging", "acme"),
    photo_social: connect("photo_social", "@acme")
  }).pipe(Effect.provideService(CurrentActor, actor))
  return Context.make(Acme, channels).pipe(Context.add(CurrentActor, actor))
}))

export const service = Layer.provideMerge(acme, over(crm))

/** Registers a test on a separate service with this organization. */
export const testAtAcme = <E>(
  name: string,
  test: () => Effect.Effect<void, E, Acme | Crm.Services | CurrentActor | FakeGraph | MediaLoader | MessagingProvider>
) => it.effect(name, () => Effect.provide(test(), service))

const first_page = { cursor: null, page_size: 100 }
export const conversations = Effect.map(Conversations.use(({ list }) => list(first_page)), ({ data }) => data)
export const messages = Effect.gen(function*() {
  const [conversation] = yield* conversations
  if (conversation === undefined) return []
  return (yield* Messages.use(({ list }) => list(conversation.id, null))).data
})

/** Returns every message of the first 100 conversations. */
export const allMessages = Effect.gen(function*() {
  const { list } = yield* Messages
  const linked: Array<LinkedMessage> = []
  for (const { id } of yield* conversations) {
    let cursor: string | null = null
    do {
      const page: Effect.Success<ReturnType<typeof list>> = yield* list(id, cursor)
      linked.push(...page.data)
      cursor = page.next_cursor
    } while (cursor !== null)
  }
  return linked
})

/** Posts the callback of a message that a person sends to the number. */
export const write = Effect.fnUntraced(function*(wa_id: string, body: string, id = `wamid.${body}`) {
  const fake = yield* FakeGraph
  const { phone_messaging } = yield* Acme
  yield* fake.enqueue(
    messageEntry(phone_messaging, { wa_id, name: "Ana" }, {
      id,
      timestamp: String(seconds),
      type: "text",
      text: { body }
    })
  )
  return yield* fake.post()
})

/** Queues a reply in the latest conversation, and runs the worker once. */
export const reply = Effect.fnUntraced(function*(text: string) {
  const [conversation] = yield* conversations
  if (conversation === undefined) return assert.fail("There is no conversation.")
  const { id } = yield* Sends.use(({ send }) => send(conversation.id, SendMessage.make({ type: "text", text })))
  yield* Worker.use(({ runOnce }) => runOnce)
  return id
})
