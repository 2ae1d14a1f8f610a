/** How journeys start: an organization with a channel, and functions that run the worker. */
import { assert, type Vitest } from "@effect/vitest"
import { type Actor, CurrentActor } from "@messaging-crm/core/Actor"
import type * as Crm from "@messaging-crm/core/Crm"
import { ConflictBackoff } from "@messaging-crm/core/Decide"
import { type ChannelId, type ConversationId, type SendId } from "@messaging-crm/core/Ids"
import {
  Inbound,
  type MessageStatusReported,
  type ProviderEvent,
  type ProviderMessageReceived
} from "@messaging-crm/core/Inbound"
import { Messages, type StatusUpdate } from "@messaging-crm/core/Messages"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends, StartConversation } from "@messaging-crm/core/Sends"
import { Worker } from "@messaging-crm/core/Worker"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Duration, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import * as Provider from "../Provider.ts"
import { ScriptedProvider } from "../Provider.ts"

/** The storage of a journey, on any engine. */
export type Storage = Layer.Layer<Crm.StoragePorts, unknown>

/** Layer for a journey: all operations over a storage, with the scripted provider and endpoints. */
export const crm = (storage: Storage, dedup?: "callback_ref" | "client_ref") =>
  Provider.crm(storage, dedup).pipe(Layer.provide(Layer.succeed(ConflictBackoff, { pauses: [] })))

/** `it`, with the operations of a journey as services. */
export type It = Vitest.MethodsNonLive<Layer.Success<ReturnType<typeof crm>>>

type Person = { readonly channel_id: ChannelId; readonly phone: Phone }

/** Returns functions that send to a person as the actor, and read the results. */
const sendsTo = ({ channel_id, phone }: Person, actor: Actor) => {
  const as = Effect.provideService(CurrentActor, actor)
  const start = (text?: string) =>
    Sends.use((sends) =>
      sends.start(StartConversation.make({
        channel_id,
        phone,
        template: Provider.greetingWith(text)
      }))
    ).pipe(as, Effect.orDie)
  const get = (id: SendId) => Sends.use((sends) => sends.get(id)).pipe(as, Effect.orDie)
  const messageOf = Effect.fnUntraced(function*(id: SendId) {
    const { conversation_id, message_id } = yield* get(id)
    if (message_id === null) return assert.fail("The send has no message.")
    return yield* Messages.use((messages) => messages.get(conversation_id, message_id)).pipe(as, Effect.orDie)
  })
  const messagesIn = (conversation_id: ConversationId) =>
    Effect.map(Messages.use((messages) => messages.list(conversation_id, null)), ({ data }) => data).pipe(as)
  return { as, get, messageOf, messagesIn, start }
}

/** Returns functions that report the provider's events about a person. */
const reportsOf = ({ channel_id, phone }: Person) => {
  const receive = (event: ProviderEvent) => Inbound.use((inbound) => Effect.orDie(inbound.receive(event)))
  const receiveStatus = (id: SendId, report: StatusUpdate, fields: Partial<MessageStatusReported> = {}) =>
    receive({
      event: "message_status_reported",
      channel_id,
      provider_message_id: `p.${id}`,
      reference: id,
      ...report,
      ...fields
    })
  const receiveMessage = (
    provider_message_id: string,
    said: Pick<ProviderMessageReceived, "details" | "is_written_by_person" | "media" | "text" | "type">
  ) =>
    Effect.flatMap(DateTime.now, (sent_at) =>
      receive(Fixtures.messageReceived({
        channel_id,
        provider_message_id,
        from: { external_id: phone, display_name: "Kim", username: null },
        ...said,
        sent_at
      })))
  const receiveText = (provider_message_id: string, text: string) =>
    receiveMessage(provider_message_id, { type: "text", text, media: null })
  return { receive, receiveMessage, receiveStatus, receiveText }
}

/** An organization with a channel, an owner, and a provider that accepts everything. */
export const makeScene = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const channel = yield* Fixtures.channel(organization_id)
  const { id: member_id } = yield* Fixtures.member(organization_id)
  const provider = yield* ScriptedProvider
  yield* provider.respond(Provider.accept)
  const number = String(parseInt((yield* Fixtures.uuid).slice(-10), 16)).padStart(9, "0").slice(0, 9)
  const person = { channel_id: channel.id, phone: Phone.make(`+4915${number}`) }
  return {
    channel,
    number: person.phone,
    organization_id,
    provider,
    ...sendsTo(person, { organization_id, member_id }),
    ...reportsOf(person)
  }
})

/** Runs the worker until nothing is due. */
export const work = Effect.gen(function*() {
  const worker = yield* Worker
  while ((yield* worker.runOnce) > 0) continue
})

/** Advances the clock by a time, and runs the worker after each step of it. */
export const workFor = Effect.fnUntraced(function*(time: Duration.Input, step: Duration.Input = "5 seconds") {
  let left = Duration.fromInputUnsafe(time)
  while (Duration.isGreaterThan(left, Duration.zero)) {
    const next = Duration.min(left, Duration.fromInputUnsafe(step))
    yield* TestClock.adjust(next)
    yield* work
    left = Duration.subtract(left, next)
  }
})

/** Releases the work whose lease has ended, and runs the worker. */
export const workAgain = Effect.andThen(
  WorkQueue.use((queue) => Effect.flatMap(DateTime.now, queue.sweep)),
  work
)
