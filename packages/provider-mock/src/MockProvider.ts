/**
 * A simulated messaging network, so that everything can be tried without an account.
 *
 * Like WhatsApp it does not deduplicate, and echoes the client's reference in
 * its callbacks. Callbacks come later, out of order and sometimes twice, and each
 * is queued until it is consumed.
 */
import type { SendId } from "@messaging-crm/core/Ids"
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import {
  type Accepted,
  MessagingProvider,
  type OutboundMessage,
  ProviderBusy,
  ProviderOutcomeUnknown,
  ProviderRejected,
  ProviderUnavailable
} from "@messaging-crm/core/MessagingProvider"
import { fillTemplate } from "@messaging-crm/core/Templates"
import { traced } from "@messaging-crm/core/Traces"
import { Chunk, Context, DateTime, Effect, FiberSet, HashMap, Layer, Option, Queue, Ref, Result } from "effect"
import type { Behavior, ScriptedResponse } from "./Behaviors.ts"
import { type AcceptedMessage, emitLater, reportsOf } from "./Reports.ts"
import * as Scripts from "./Scripts.ts"
import { templatesOf } from "./Templates.ts"

/** The network as a test or an operator controls it. */
export class MockProvider extends Context.Service<MockProvider, {
  /** All accepted messages, in order. A message that was accepted twice is listed twice. */
  readonly accepted: Effect.Effect<ReadonlyArray<AcceptedMessage>>
  /** The accepted messages of one reference or one recipient. Several for one reference mean a duplicate send. */
  readonly acceptedOf: (
    of: { readonly reference: SendId } | { readonly recipient: string }
  ) => Effect.Effect<ReadonlyArray<AcceptedMessage>>
  /** The pending callbacks. The consumer must deliver what it takes from the queue. */
  readonly callbacks: Queue.Dequeue<ProviderEvent>
  /** Waits until all delayed callbacks are in the queue. */
  readonly settled: Effect.Effect<void>
  /** Sets the behavior for a message, for a recipient, or for the next calls. */
  readonly script: (target: Scripts.Target, behavior: Behavior) => Effect.Effect<void>
  /** Emits an event, such as a message from a person. */
  readonly emit: (event: ProviderEvent) => Effect.Effect<void>
  /** Takes the network down or up. While it is down, nothing is accepted and the catalog cannot be read. */
  readonly setDown: (down: boolean) => Effect.Effect<void>
}>()("@messaging-crm/provider-mock/MockProvider") {}

/** Returns whether the parameters do not match the template; the network validates them again. */
const isInvalidTemplate = ({ channel, content }: OutboundMessage): boolean => {
  if (content.type === "text") return false
  const { components, id } = content.template
  const template = templatesOf(channel.phone_messaging_business_account_id ?? "").find((listed) => listed.id === id)
  return template !== undefined && Result.isFailure(fillTemplate(template, components))
}

/** Returns why the network cannot deliver a message, whatever its recipient's behavior is; null if it can. */
const rejectionOf = (message: OutboundMessage): ProviderRejected | null => {
  // As WhatsApp, Messenger, and Instagram do.
  if (message.content.text.trim() === "") return new ProviderRejected({ reason: "provider_rejected" })
  return isInvalidTemplate(message) ? new ProviderRejected({ reason: "template_invalid" }) : null
}

/** Responds to a call, for which `accept` accepts the message. */
const respond = (
  response: ScriptedResponse,
  accept: Effect.Effect<Accepted>
): Effect.Effect<Accepted, ProviderRejected | ProviderBusy | ProviderOutcomeUnknown> => {
  switch (response.response) {
    case "accept":
      return accept
    case "accept_without_response":
      return Effect.andThen(accept, new ProviderOutcomeUnknown())
    case "drop_without_response":
      return Effect.fail(new ProviderOutcomeUnknown())
    case "reject":
      return Effect.fail(new ProviderRejected({ reason: response.reason }))
    case "busy":
      return Effect.fail(
        new ProviderBusy({ reason: response.reason, retry_after_seconds: response.retry_after_seconds })
      )
  }
}

const make = Effect.gen(function*() {
  const accepted = yield* Ref.make(Chunk.empty<AcceptedMessage>())
  const calls = yield* Ref.make(HashMap.empty<string, number>())
  const scripts = yield* Ref.make(Scripts.none)
  const down = yield* Ref.make(false)
  const callbacks = yield* Queue.unbounded<ProviderEvent>()
  const delayedCallbacks = yield* FiberSet.make<void>()

  const emit = (event: ProviderEvent) => Effect.asVoid(Queue.offer(callbacks, event))

  const accept = Effect.fnUntraced(function*(message: OutboundMessage, behavior: Behavior) {
    const accepted_at = yield* DateTime.now
    const added = yield* Ref.modify(accepted, (all) => {
      const next = { message, accepted_at, provider_message_id: `mock.${message.reference}.${Chunk.size(all) + 1}` }
      return [next, Chunk.append(all, next)]
    })
    yield* emitLater(reportsOf(added, behavior), emit, delayedCallbacks)
    return { provider_message_id: added.provider_message_id }
  })

  const nextResponse = (message: OutboundMessage, { responses }: Behavior) =>
    Ref.modify(calls, (counts) => {
      const call = Option.getOrElse(HashMap.get(counts, message.reference), () => 0)
      const response: ScriptedResponse = responses[call] ?? responses.at(-1) ?? responses[0]
      return [response, HashMap.set(counts, message.reference, call + 1)]
    })

  const deliver = traced("MockProvider.deliver")(function*(message: OutboundMessage) {
    if (yield* Ref.get(down)) {
      return yield* new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })
    }
    const rejection = rejectionOf(message)
    if (rejection !== null) return yield* rejection
    const behavior = yield* Ref.modify(scripts, (all) => Scripts.choose(all, message))
    return yield* respond(yield* nextResponse(message, behavior), accept(message, behavior))
  })

  const templates = (account: string) =>
    Effect.flatMap(
      Ref.get(down),
      (isDown) => isDown ? Effect.fail(new ProviderUnavailable()) : Effect.succeed(templatesOf(account))
    )

  const allAccepted = Effect.map(Ref.get(accepted), Chunk.toReadonlyArray)

  return Context.make(MessagingProvider, { dedup: "callback_ref", deliver, templates }).pipe(
    Context.add(MockProvider, {
      accepted: allAccepted,
      acceptedOf: (of) =>
        Effect.map(
          allAccepted,
          (all) =>
            all.filter(({ message }) =>
              "reference" in of ? message.reference === of.reference : message.recipient === of.recipient
            )
        ),
      callbacks,
      settled: FiberSet.awaitEmpty(delayedCallbacks),
      script: (target, behavior) => Ref.update(scripts, (all) => Scripts.set(all, target, behavior)),
      emit,
      setDown: (value) => Ref.set(down, value)
    })
  )
})

/** Layer for one network: the provider, and its control. */
export const layer: Layer.Layer<MessagingProvider | MockProvider> = Layer.effectContext(make)
