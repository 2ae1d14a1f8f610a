/** The messaging network of a run: it accepts messages, reports on them, and people write to it. */
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
import type { Template } from "@messaging-crm/core/Templates"
import { DateTime, Effect } from "effect"
import type { Faults } from "./Faults.ts"
import { bodyOf, type Host, type Process } from "./Hosts.ts"
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
  /** Whether an event waits to be acknowledged. */
  readonly isBusy: () => boolean
  /** A person writes to a channel. */
  readonly write: (channel: Channel, from: string, text: string) => Effect.Effect<void>
}

export const template_id = "greeting"

const greeting = (account: string): Template => ({
  id: template_id,
  name: "greeting",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  phone_messaging_business_account_id: account,
  parameter_format: "POSITIONAL",
  components: [{ type: "BODY", text: "Hello {{1}}", format: null, buttons: null }]
})

const second = 1000
const minute = 60 * second

/** Makes a network. It posts its callbacks to a process that it is given each time. */
export const make = (scene: Scene, target: () => Process | null): Network => {
  const { faults, random, timeline: { now, wait }, trace } = scene
  const hits = (name: keyof Faults) => random.chance(faults()[name])
  const dedup = random.pick(["callback_ref", "callback_ref", "callback_ref", "client_ref", "none"] as const)
  const accepted: Array<AcceptedMessage> = []
  const acknowledged = new Set<ProviderEvent>()
  let [waiting, written] = [0, 0]
  const timeOf = () => DateTime.makeUnsafe(now())

  /** Posts an event until a process acknowledges it. */
  const post = Effect.fnUntraced(function*(event: ProviderEvent) {
    const viaInbox = random.chance(0.5)
    for (let attempt = 0;; attempt++) {
      const process = target()
      const operation = viaInbox
        ? CallbackInbox.use((inbox) =>
          inbox.store("simulation", [{ channel_id: event.channel_id, people: [], body: bodyOf(event) }])
        )
        : Inbound.use((inbound) => inbound.receive(event))
      const done = process === null ? null : yield* process.run(operation)
      if (done !== null) break
      yield* wait(Math.min(2 ** attempt * second, 10 * minute))
    }
    trace.add("network", `acknowledged ${event.event} ${"status" in event ? event.status : ""}`)
    acknowledged.add(event)
  })

  const emit = (event: ProviderEvent, delay: number) =>
    Effect.gen(function*() {
      waiting++
      yield* wait(delay + (hits("late_callback") ? random.between(1, 30) * minute : random.between(1, 800)))
      yield* post(event)
      if (hits("repeated_callback")) {
        yield* wait(random.between(1, 90 * second))
        yield* post(event)
      }
      waiting--
    }).pipe(Effect.forkDetach, Effect.asVoid)

  const report = Effect.fnUntraced(function*({ message, provider_message_id }: AcceptedMessage) {
    if (hits("lost_callback")) return
    const statuses = hits("failed_report")
      ? (["sent", "failed"] as const)
      : (["sent", "delivered", "read"] as const).slice(0, random.between(1, 3))
    for (const [index, status] of statuses.entries()) {
      const event: ProviderEvent = {
        event: "message_status_reported",
        channel_id: message.channel.id,
        provider_message_id,
        reference: dedup === "none" ? null : message.reference,
        status,
        at: DateTime.makeUnsafe(now() + index)
      }
      yield* emit(event, index * random.between(0, 2000))
    }
  })

  const accept = Effect.fnUntraced(function*(host: Host, message: OutboundMessage) {
    const known = accepted.find((one) => one.message.reference === message.reference)
    if (dedup === "client_ref" && known !== undefined) return known
    const one = { message, provider_message_id: `net.${accepted.length + 1}` }
    accepted.push(one)
    trace.add("network", `accepted ${message.reference} of ${host.name} as ${one.provider_message_id}`)
    yield* report(one)
    return one
  })

  const reject = (host: Host, message: OutboundMessage) => {
    const reason = "provider_rejected" as const
    if (hits("lost_message")) return new ProviderOutcomeUnknown()
    if (hits("busy_provider")) {
      return new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: random.pick([null, 1, 20]) })
    }
    if (hits("throttling")) {
      const throttles = random.pick(["channel", "recipient"] as const)
      return new ProviderBusy({ reason: "rate_limited", retry_after_seconds: random.pick([null, 30, 600]), throttles })
    }
    if (hits("rejection")) return new ProviderRejected({ reason })
    if (hits("channel_rejection")) {
      return random.chance(0.5) ? new ProviderHeld({ reason }) : new ProviderRejected({ reason, pauses_channel: true })
    }
    if (hits("provider_defect")) return "defect"
    trace.add("network", `takes ${message.reference} of ${host.name}`)
    return null
  }

  const deliver = (host: Host) =>
    Effect.fnUntraced(function*(message: OutboundMessage) {
      yield* wait(hits("slow_provider") ? random.between(5, 40) * second : random.between(20, 400))
      const rejection = reject(host, message)
      if (rejection === "defect") return yield* Effect.die(new Error("Simulated defect before the acceptance"))
      if (rejection !== null) {
        trace.add("network", `${rejection._tag} for ${message.reference} of ${host.name}`)
        return yield* rejection
      }
      const { provider_message_id } = yield* accept(host, message)
      if (!host.isAlive) return yield* Effect.never
      if (hits("lost_acceptance")) return yield* new ProviderOutcomeUnknown()
      if (hits("provider_defect")) return yield* Effect.die(new Error("Simulated defect after the acceptance"))
      yield* wait(hits("slow_provider") ? random.between(5, 40) * second : random.between(5, 100))
      return host.isAlive ? { provider_message_id } : yield* Effect.never
    })

  return {
    provider: (host) => ({
      dedup,
      deliver: deliver(host),
      templates: (account) => Effect.succeed([greeting(account)])
    }),
    accepted,
    acknowledged,
    isBusy: () => waiting > 0,
    write: (channel, from, text) => {
      const event: ProviderEvent = {
        event: "message_received",
        channel_id: channel.id,
        provider_message_id: `in.${++written}`,
        from: { external_id: from, display_name: `Person ${from.slice(-3)}`, username: null },
        type: "text",
        text,
        media: null,
        sent_at: timeOf()
      }
      return emit(event, 0)
    }
  }
}
