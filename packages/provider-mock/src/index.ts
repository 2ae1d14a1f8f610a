/**
 * A small telephone network with memory, so that everything can be tried
 * without an account.
 *
 * Like the real networks it does not deduplicate: it echoes the client's
 * reference in its callbacks. It reports back later, out of order and sometimes
 * twice, and it keeps a callback until somebody has taken it.
 */
import type { SendId } from "@messaging-crm/core/Ids"
import type { MessageStatusReported, ProviderEvent, ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import {
  type Accepted,
  MessagingProvider,
  type OutboundMessage,
  ProviderBusy,
  ProviderOutcomeUnknown,
  ProviderRejected,
  ProviderUnavailable
} from "@messaging-crm/core/MessagingProvider"
import {
  Chunk,
  Context,
  DateTime,
  Duration,
  Effect,
  FiberSet,
  HashMap,
  Layer,
  Option,
  Queue,
  Random,
  Ref
} from "effect"
import type { Answer, Behaviour } from "./Behaviours.ts"
import { catalogueOf } from "./Catalogue.ts"
import { picture } from "./Picture.ts"
import * as Scripts from "./Scripts.ts"

export { Answer, Behaviour } from "./Behaviours.ts"
export { picture } from "./Picture.ts"
export { Target } from "./Scripts.ts"

/** A message that the network took. */
export interface TakenMessage extends Accepted {
  readonly message: OutboundMessage
  readonly taken_at: DateTime.Utc
}

/** The latest that an ordinary callback comes after its message was taken. */
const callback_delay_max_millis = 200

/** One callback in five comes twice. */
const repeat_probability = 0.2

/** The network, as a test or an operator sees it. */
export class MockProvider extends Context.Service<MockProvider, {
  /** Everything the network took, in order. A message that it took twice is here twice. */
  readonly taken: Effect.Effect<ReadonlyArray<TakenMessage>>
  /** What it took under a client's reference, or for a number: more than one message of a reference is one too many. */
  readonly takenOf: (
    of: { readonly reference: SendId } | { readonly recipient: string }
  ) => Effect.Effect<ReadonlyArray<TakenMessage>>
  /** What the network has to tell. Whoever takes a callback carries it home. */
  readonly callbacks: Queue.Dequeue<ProviderEvent>
  /** Waits until everything that the network has to tell so far is among the callbacks. */
  readonly told: Effect.Effect<void>
  /** Sets what happens to a message, to all to a number, or in the next calls, from now on. */
  readonly script: (target: Scripts.Target, behaviour: Behaviour) => Effect.Effect<void>
  /** A person writes, or anything else that a network can report. */
  readonly report: (event: ProviderEvent) => Effect.Effect<void>
  /** Takes the network down, or up again: while it is down, nothing is taken and the catalogue cannot be read. */
  readonly setDown: (down: boolean) => Effect.Effect<void>
}>()("@messaging-crm/provider-mock/MockProvider") {}

const make = Effect.gen(function*() {
  const taken = yield* Ref.make(Chunk.empty<TakenMessage>())
  const calls = yield* Ref.make(HashMap.empty<string, number>())
  const scripts = yield* Ref.make(Scripts.none)
  const down = yield* Ref.make(false)
  const callbacks = yield* Queue.unbounded<ProviderEvent>()
  const later = yield* FiberSet.make<void>()

  const tell = (event: ProviderEvent) => Effect.asVoid(Queue.offer(callbacks, event))

  /** Tells each event on its own, after a delay of its own: so they come in any order. */
  const tellLater = Effect.fnUntraced(function*(events: ReadonlyArray<ProviderEvent>) {
    for (const event of events) {
      const times = (yield* Random.next) < repeat_probability ? 2 : 1
      for (let time = 0; time < times; time++) {
        const delay = Duration.millis(yield* Random.nextIntBetween(1, callback_delay_max_millis))
        yield* FiberSet.run(later, Effect.delay(tell(event), delay))
      }
    }
  })

  const reportsOn = (
    { message, provider_message_id, taken_at }: TakenMessage,
    { reports }: Behaviour
  ): ReadonlyArray<ProviderEvent> =>
    (["sent", ...reports] as const).map((status, index): MessageStatusReported => ({
      event: "message_status_reported",
      channel_id: message.channel.id,
      provider_message_id,
      reference: message.reference,
      status,
      at: DateTime.add(taken_at, { milliseconds: index })
    }))

  const replyTo = (
    { message, provider_message_id, taken_at }: TakenMessage,
    { reply }: Behaviour
  ): ReadonlyArray<ProviderMessageReceived> =>
    reply === null ? [] : [{
      event: "message_received",
      channel_id: message.channel.id,
      provider_message_id: `${provider_message_id}.reply`,
      from: { external_id: message.recipient, display_name: "Echo", username: null },
      type: reply,
      text: reply === "text" ? `echo: ${message.content.text}` : null,
      media: reply === "text"
        ? null
        : { kind: reply, mime_type: "image/png", filename: null, transcript: null, bytes: picture },
      sent_at: DateTime.add(taken_at, { milliseconds: 10 })
    }]

  const take = Effect.fnUntraced(function*(message: OutboundMessage, behaviour: Behaviour) {
    const taken_at = yield* DateTime.now
    const added = yield* Ref.modify(taken, (all) => {
      const next = { message, taken_at, provider_message_id: `mock.${message.reference}.${Chunk.size(all) + 1}` }
      return [next, Chunk.append(all, next)]
    })
    yield* tellLater([...reportsOn(added, behaviour), ...replyTo(added, behaviour)])
    return { provider_message_id: added.provider_message_id }
  })

  const nextAnswer = (message: OutboundMessage, { answers }: Behaviour) =>
    Ref.modify(calls, (counts) => {
      const call = Option.getOrElse(HashMap.get(counts, message.reference), () => 0)
      const answer: Answer = answers[call] ?? answers.at(-1) ?? answers[0]
      return [answer, HashMap.set(counts, message.reference, call + 1)]
    })

  const deliver = Effect.fn("MockProvider.deliver")(function*(message: OutboundMessage) {
    if (yield* Ref.get(down)) {
      return yield* new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })
    }
    const behaviour = yield* Ref.modify(scripts, (all) => Scripts.choose(all, message))
    const answer = yield* nextAnswer(message, behaviour)
    switch (answer.answer) {
      case "accept":
        return yield* take(message, behaviour)
      case "accept_silently":
        yield* take(message, behaviour)
        return yield* new ProviderOutcomeUnknown()
      case "drop_silently":
        return yield* new ProviderOutcomeUnknown()
      case "reject":
        return yield* new ProviderRejected({ reason: answer.reason })
      case "busy": {
        const { reason, retry_after_seconds } = answer
        return yield* new ProviderBusy({ reason, retry_after_seconds })
      }
    }
  })

  const templates = (account: string) =>
    Effect.flatMap(
      Ref.get(down),
      (isDown) => isDown ? Effect.fail(new ProviderUnavailable()) : Effect.succeed(catalogueOf(account))
    )

  const allTaken = Effect.map(Ref.get(taken), Chunk.toReadonlyArray)

  return Context.make(MessagingProvider, { dedup: "callback_ref", deliver, templates }).pipe(
    Context.add(MockProvider, {
      taken: allTaken,
      takenOf: (of) =>
        Effect.map(
          allTaken,
          (all) =>
            all.filter(({ message }) =>
              "reference" in of ? message.reference === of.reference : message.recipient === of.recipient
            )
        ),
      callbacks,
      told: FiberSet.awaitEmpty(later),
      script: (target, behaviour) => Ref.update(scripts, (all) => Scripts.set(all, target, behaviour)),
      report: tell,
      setDown: (value) => Ref.set(down, value)
    })
  )
})

/** Layer that is one network, as a provider and as its operator sees it. */
export const layer: Layer.Layer<MessagingProvider | MockProvider> = Layer.effectContext(make)
