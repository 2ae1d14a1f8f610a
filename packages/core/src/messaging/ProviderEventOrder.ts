/**
 * The order in which the events of a callback are applied.
 *
 * Events about one person or one message are applied in the order in which the network reported them, and others concurrently.
 */
import { Effect } from "effect"
import type { ProviderEvent } from "./ProviderEvents.ts"

/** Returns what the event is about: its channel, and the person or the message. Events about the same keep their order. */
const aboutOf = (event: ProviderEvent): string => `${event.channel_id}|${subjectOf(event)}`

const subjectOf = (event: ProviderEvent): string => {
  switch (event.event) {
    case "message_received":
      return event.from.external_id
    case "message_sent":
      return event.to.external_id
    case "messages_reported":
      return event.external_id
    case "identity_changed":
      return event.former_external_id
    default:
      return event.provider_message_id
  }
}

/**
 * Processes events, those about one person or message in order and others concurrently, and returns the results in the
 * order of the events. `within` wraps all events about one.
 */
export const inOrderByPerson = Effect.fnUntraced(function*<A>(
  events: ReadonlyArray<ProviderEvent>,
  { concurrency, within = (_, sequence) => sequence }: {
    readonly concurrency: number
    readonly within?: (about: string, sequence: Effect.Effect<void>) => Effect.Effect<void>
  },
  process: (event: ProviderEvent) => Effect.Effect<A>
) {
  const results = new Map<ProviderEvent, A>()
  const one = (event: ProviderEvent) => Effect.map(process(event), (result) => results.set(event, result))
  yield* Effect.forEach(
    Map.groupBy(events, aboutOf),
    ([about, sequence]) => within(about, Effect.forEach(sequence, one, { discard: true })),
    { concurrency, discard: true }
  )
  // Every event is in one sequence.
  return events.map((event) => results.get(event) as A)
})
