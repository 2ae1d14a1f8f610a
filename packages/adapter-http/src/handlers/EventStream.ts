/** Server-sent events: the events that a client follows, in one response (contract §13.6). */
import type { CurrentActor } from "@messaging-crm/core/Actor"
import type { ApiKeys } from "@messaging-crm/core/ApiKeys"
import type { Follower, FollowOptions, StreamedPart } from "@messaging-crm/core/EventFollowers"
import type { Event } from "@messaging-crm/core/Events"
import { Clock, Duration, Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"

/** How long a stream lasts, after which its client connects again. */
const duration = Duration.minutes(10)

/** How long a stream is silent, and how often its API key is checked. */
const pause = Duration.seconds(10)

const media_type = "text/event-stream"

/** Returns whether an `Accept` header requests a stream. */
export const isRequested = (accept = ""): boolean =>
  accept.toLowerCase().split(",").some((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim())
    return type === media_type && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })

/** The time after which a client connects again, in milliseconds. */
const retry = "retry: 1000\n"

/** Returns the text of a part. A comment keeps the connection open, and a cursor without data raises no event. */
const textOf = (toJson: (event: Event) => string) => ({ cursor, events }: StreamedPart): string => {
  if (cursor === null) return ":\n\n"
  const blocks = events.map(({ cursor, event }) => `id: ${cursor}\ndata: ${toJson(event)}\n\n`)
  return events.at(-1)?.cursor === cursor ? blocks.join("") : `${blocks.join("")}id: ${cursor}\n\n`
}

/** Returns an effect that tells whether a stream continues: its time is not over, and its API key is valid. */
const continuing = Effect.fnUntraced(function*(isValid: ApiKeys["Service"]["isValid"]) {
  const started = yield* Clock.currentTimeMillis
  const until = started + Duration.toMillis(duration)
  let checked = started
  return Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    if (now >= until) return false
    if (now < checked + Duration.toMillis(pause)) return true
    checked = now
    return yield* isValid
  })
})

/**
 * Responds with a stream that a client reads at its own pace: the next events are read once it has taken the last ones. It
 * ends when the process stops, when its time is over, and when its API key is no longer valid.
 */
export const respond = Effect.fnUntraced(function*(
  { stream }: Follower,
  options: FollowOptions,
  { isValid, toJson }: Pick<ApiKeys["Service"], "isValid"> & { readonly toJson: (event: Event) => string }
) {
  const parts = yield* stream(options, pause)
  const continues = yield* continuing(isValid)
  const context = yield* Effect.context<CurrentActor>()
  const texts = parts.pipe(
    Stream.takeWhileEffect(() => continues),
    Stream.map(textOf(toJson)),
    // The client gets the error when it connects again.
    Stream.catchCause((cause) => Stream.drain(Stream.fromEffect(Effect.logError("A stream of events failed", cause))))
  )
  const whole = Stream.concat(Stream.concat(Stream.make(retry), texts), Stream.make(`: end\n${retry}\n`))
  return HttpServerResponse.stream(Stream.encodeText(Stream.provideContext(whole, context)), {
    contentType: media_type,
    // Some proxies collect a response before they send it.
    headers: { "x-accel-buffering": "no" }
  })
})
