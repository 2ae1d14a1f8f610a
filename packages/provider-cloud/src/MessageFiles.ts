/** Stores received messages with their files. */
import { Inbound, type ProviderEvent } from "@messaging-crm/core/Inbound"
import { DateTime, Duration, Effect } from "effect"

/** How long a message may wait for its file, from the time at which its callback was received. */
const file_wait_max = Duration.hours(1)

type WithMedia = Extract<ProviderEvent, { readonly media: unknown }>

/** An event of a message whose file is downloaded when the event is stored. */
export type EventWithFile = WithMedia & { readonly media: NonNullable<WithMedia["media"]> }

/** Makes the function that stores an event with its file, or without it if the download fails after the message has waited long enough. */
export const makeStoreWithFile = Effect.gen(function*() {
  const inbound = yield* Inbound

  return (
    event: EventWithFile,
    { id, received_at }: { readonly id: string | null; readonly received_at: DateTime.Utc }
  ) => {
    const withoutFile = { ...event, media: { ...event.media, bytes: null } }
    const waitsUntil = DateTime.addDuration(received_at, file_wait_max)
    return Effect.catchTag(
      inbound.receive(event, id),
      "FileUnavailable",
      (unavailable) =>
        Effect.flatMap(
          DateTime.now,
          (now) => DateTime.isGreaterThan(now, waitsUntil) ? inbound.receive(withoutFile, id) : unavailable
        )
    )
  }
})
