/** The messaging network of a run: it accepts messages, reports their status, and delivers inbound messages. */
import { greeting } from "@messaging-crm/conformance/Provider"
import { CallbackInbox } from "@messaging-crm/core/CallbackInbox"
import type { Channel } from "@messaging-crm/core/Channels"
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import {
  type Accepted,
  type MessagingProvider,
  type OutboundMessage,
  ProviderBusy,
  ProviderHeld,
  ProviderOutcomeUnknown,
  ProviderRejected
} from "@messaging-crm/core/MessagingProvider"
import { DateTime, Effect } from "effect"
import type { Faults } from "./Faults.ts"
import type { Host } from "./Host.ts"
import { bodyOf, type Process } from "./Processes.ts"
import type { Scene } from "./Store.ts"

/** A message that the network has accepted. */
export interface AcceptedMessage extends Accepted {
  readonly message: OutboundMessage
}

export interface Network {
  readonly provider: (host: Host) => MessagingProvider["Service"]
  readonly accepted: ReadonlyArray<AcceptedMessage>
  /** The events that a process has acknowledged. */
  readonly acknowledged: ReadonlySet<ProviderEvent>
  /** Returns whether an event is not acknowledged yet. */
  readonly isBusy: () => boolean
  /** Delivers an inbound message of a contact to a channel. */
  readonly write: (channel: Channel, from: string, text: string) => Effect.Effect<void>
}

/** The network, with its messages and callbacks so far. */
interface State {
  readonly scene: Scene
  /** Returns the process that gets the next callback, or null. */
  readonly target: () => Process | null
  readonly dedup: MessagingProvider["Service"]["dedup"]
  readonly accepted: Array<AcceptedMessage>
  readonly acknowledged: Set<ProviderEvent>
  /** The number of events that are not acknowledged yet. */
  pending: number
  /** The number of inbound messages. */
  inbound: number
}

const second = 1000
const minute = 60 * second

const occurs = ({ scene: { faults, random } }: State, name: keyof Faults) => random.chance(faults()[name])

/** Posts an event until a process acknowledges it. */
const post = Effect.fnUntraced(function*({ acknowledged, scene, target }: State, event: ProviderEvent) {
  const viaInbox = scene.random.chance(0.5)
  for (let attempt = 0;; attempt++) {
    const process = target()
    const operation = viaInbox
      ? CallbackInbox.use((inbox) =>
        inbox.store("simulation", [{ channel_id: event.channel_id, people: [], body: bodyOf(event) }])
      )
      : Inbound.use((inbound) => inbound.receive(event))
    const done = process === null ? null : yield* process.run(operation)
    if (done !== null) break
    yield* scene.timeline.wait(Math.min(2 ** attempt * second, 10 * minute))
  }
  scene.trace.add("network", `acknowledged ${event.event} ${"status" in event ? event.status : ""}`)
  acknowledged.add(event)
})

/** Posts an event later, and sometimes twice. */
const emit = (network: State, event: ProviderEvent, delay: number) =>
  Effect.gen(function*() {
    const { random, timeline: { wait } } = network.scene
    network.pending++
    const late = occurs(network, "late_callback") ? random.between(1, 30) * minute : random.between(1, 800)
    yield* wait(delay + late)
    yield* post(network, event)
    if (occurs(network, "repeated_callback")) {
      yield* wait(random.between(1, 90 * second))
      yield* post(network, event)
    }
    network.pending--
  }).pipe(Effect.forkDetach, Effect.asVoid)

/** Reports the statuses of an accepted message. */
const report = Effect.fnUntraced(function*(network: State, { message, provider_message_id }: AcceptedMessage) {
  const { random, timeline: { now } } = network.scene
  if (occurs(network, "lost_callback")) return
  const statuses = occurs(network, "failed_report")
    ? (["sent", "failed"] as const)
    : (["sent", "delivered", "read"] as const).slice(0, random.between(1, 3))
  for (const [index, status] of statuses.entries()) {
    const event: ProviderEvent = {
      event: "message_status_reported",
      channel_id: message.channel.id,
      provider_message_id,
      reference: network.dedup === "none" ? null : message.reference,
      status,
      at: DateTime.makeUnsafe(now() + index)
    }
    yield* emit(network, event, index * random.between(0, 2000))
  }
})

/** Accepts a message. With `client_ref`, the network accepts each reference once. */
const accept = Effect.fnUntraced(function*(network: State, host: Host, message: OutboundMessage) {
  const { accepted, dedup, scene } = network
  const known = accepted.find((one) => one.message.reference === message.reference)
  if (dedup === "client_ref" && known !== undefined) return known
  const one = { message, provider_message_id: `net.${accepted.length + 1}` }
  accepted.push(one)
  scene.trace.add("network", `accepted ${message.reference} of ${host.name} as ${one.provider_message_id}`)
  yield* report(network, one)
  return one
})

/** Returns the failure of a delivery that the network does not accept; null if it accepts. */
const drawRejection = (network: State) => {
  const { random } = network.scene
  const reason = "provider_rejected" as const
  if (occurs(network, "lost_message")) return new ProviderOutcomeUnknown()
  if (occurs(network, "busy_provider")) {
    return new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: random.pick([null, 1, 20]) })
  }
  if (occurs(network, "throttling")) {
    const throttles = random.pick(["channel", "recipient"] as const)
    return new ProviderBusy({ reason: "rate_limited", retry_after_seconds: random.pick([null, 30, 600]), throttles })
  }
  if (occurs(network, "rejection")) return new ProviderRejected({ reason })
  if (occurs(network, "channel_rejection")) {
    return random.chance(0.5) ? new ProviderHeld({ reason }) : new ProviderRejected({ reason, pauses_channel: true })
  }
  return occurs(network, "provider_defect") ? "defect" : null
}

/** Delivers a message of one process. */
const deliver = Effect.fnUntraced(function*(network: State, host: Host, message: OutboundMessage) {
  const { random, timeline: { wait }, trace } = network.scene
  yield* wait(occurs(network, "slow_provider") ? random.between(5, 40) * second : random.between(20, 400))
  const rejection = drawRejection(network)
  if (rejection === "defect") return yield* Effect.die(new Error("Simulated defect before the acceptance"))
  const result = rejection === null ? "receives" : `${rejection._tag} for`
  trace.add("network", `${result} ${message.reference} of ${host.name}`)
  if (rejection !== null) return yield* rejection
  const { provider_message_id } = yield* accept(network, host, message)
  if (!host.is_alive) return yield* Effect.never
  if (occurs(network, "lost_acceptance")) return yield* new ProviderOutcomeUnknown()
  if (occurs(network, "provider_defect")) return yield* Effect.die(new Error("Simulated defect after the acceptance"))
  yield* wait(occurs(network, "slow_provider") ? random.between(5, 40) * second : random.between(5, 100))
  return host.is_alive ? { provider_message_id } : yield* Effect.never
})

const inboundMessage = (network: State, channel: Channel, from: string, text: string): ProviderEvent => ({
  event: "message_received",
  channel_id: channel.id,
  provider_message_id: `in.${++network.inbound}`,
  from: { external_id: from, display_name: `Person ${from.slice(-3)}`, username: null },
  type: "text",
  text,
  media: null,
  sent_at: DateTime.makeUnsafe(network.scene.timeline.now())
})

/** Makes a network, which posts each callback to the process that `target` returns. */
export const make = (scene: Scene, target: State["target"]): Network => {
  const network: State = {
    scene,
    target,
    dedup: scene.random.pick(["callback_ref", "callback_ref", "callback_ref", "client_ref", "none"] as const),
    accepted: [],
    acknowledged: new Set(),
    pending: 0,
    inbound: 0
  }
  return {
    provider: (host) => ({
      dedup: network.dedup,
      deliver: (message) => deliver(network, host, message),
      templates: (account) => Effect.succeed([greeting(account)])
    }),
    accepted: network.accepted,
    acknowledged: network.acknowledged,
    isBusy: () => network.pending > 0,
    write: (channel, from, text) => emit(network, inboundMessage(network, channel, from, text), 0)
  }
}
