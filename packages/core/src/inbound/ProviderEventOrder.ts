/**
 * The order in which the events of a callback are applied.
 *
 * Events about one person or one message are applied in the order in which the network reported them, and others concurrently.
 */
import { Duration, Effect } from "effect"
import { sharedSpelling } from "../kernel/Phones.ts"
import type { ProviderEvent, UnlocatedEvent } from "./ProviderEvents.ts"

/**
 * How long the later callbacks of a person wait for an earlier one that cannot be processed yet, such as for its file: from the
 * receipt of the earlier one.
 */
export const order_wait_max = Duration.minutes(1)

/** Returns what the event is about: each person and each message, with the channel. Events about the same keep their order. */
const aboutOf = (event: ProviderEvent): ReadonlyArray<string> =>
  subjectsOf(event).map((subject) => `${event.channel_id}|${subject}`)

/** Returns the IDs of people and messages, a number in the spelling that stands for all. */
export const subjectsOf = (event: UnlocatedEvent): ReadonlyArray<string> => idsOf(event).map(sharedSpelling)

/** Returns the IDs of people and messages. A person whose IDs change has a former and a current one. */
const idsOf = (event: UnlocatedEvent): ReadonlyArray<string> => {
  switch (event.event) {
    case "message_received":
      return [event.from.external_id, event.provider_message_id]
    case "message_sent":
      return [event.to.external_id, event.provider_message_id]
    case "messages_reported":
      return [event.external_id]
    case "marketing_preference_reported":
      return [event.person.external_id]
    case "identity_changed":
      return [event.former_external_id, event.now.external_id]
    default:
      return [event.provider_message_id]
  }
}

/** Events that are applied in order, with the people and messages that they concern. */
interface Sequence {
  readonly about: Set<string>
  readonly events: Array<ProviderEvent>
}

/** Groups events, so that those about the same person or message are in one sequence, in their order. */
const sequencesOf = (events: ReadonlyArray<ProviderEvent>): ReadonlySet<Sequence> => {
  const sequences = new Map<string, Sequence>()
  for (const event of events) {
    const about = aboutOf(event)
    const [known, ...others] = new Set(about.flatMap((each) => sequences.get(each) ?? []))
    const sequence: Sequence = known ?? { about: new Set(), events: [] }
    for (const other of others) sequence.events.push(...other.events)
    for (const each of [...about, ...others.flatMap((other) => Array.from(other.about))]) {
      sequence.about.add(each)
      sequences.set(each, sequence)
    }
    sequence.events.push(event)
  }
  return new Set(sequences.values())
}

/**
 * Processes events, those about one person or message in order and others concurrently, and returns the results in the
 * order of the events.
 */
export const inOrderByPerson = Effect.fnUntraced(function*<A>(
  events: ReadonlyArray<ProviderEvent>,
  { concurrency }: { readonly concurrency: number },
  process: (event: ProviderEvent) => Effect.Effect<A>
) {
  const results = new Map<ProviderEvent, A>()
  const processOne = (event: ProviderEvent) => Effect.map(process(event), (result) => results.set(event, result))
  yield* Effect.forEach(
    sequencesOf(events),
    ({ events: sequence }) => Effect.forEach(sequence, processOne, { discard: true }),
    { concurrency, discard: true }
  )
  // Every event is in one sequence.
  return events.map((event) => results.get(event) as A)
})
