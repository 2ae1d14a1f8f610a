/** The events that the service posts to webhooks. They contain the resource only for a webhook with `include_resource`. */
import type { WithResponse } from "./Attempt.ts"
import type { Event } from "./Contract.ts"
import { FollowedEvents } from "./FollowedEvents.ts"
import type { Pages } from "./Pages.ts"
import { StreamedEvents } from "./StreamedEvents.ts"
import type { Query, RequestOptions, Transport } from "./Transport.ts"

/** Any event. `type` is the discriminator. */
export type WebhookEvent = Event

/** A type of event that webhooks can subscribe to. */
export type WebhookEventType = Exclude<WebhookEvent["type"], "webhook.test">

/** Where to follow events from, and which. */
export interface FollowQuery extends Pick<Query<"GET /events">, "page_size" | "type"> {
  /** The `cursor` of an earlier iteration, `start` for the oldest stored event, or `now` for the next one. */
  readonly after: string
}

/** The service sends a comment after 10 s without events. A connection without one is lost. */
const silence_millis = 30_000

/** The longest time that the service waits for an event, in seconds. */
const wait = 30

/** `/events`: what happened in the last 30 days. */
export const events = ({ list, one, pauseAfter, stream }: Transport) => ({
  /** Lists events, newest first, whether or not a webhook subscribed to them. */
  list: (query: Query<"GET /events"> = {}, options?: RequestOptions): Pages<WebhookEvent> =>
    list("GET /events", { query }, options),

  /** Returns an event of the last 30 days. The `webhook-id` of a webhook request is its ID. */
  get: (event_id: string, options?: RequestOptions): Promise<WithResponse<WebhookEvent>> =>
    one("GET /events/{event_id}", { path: { event_id } }, options),

  /** Follows events in the order of commits, without skipping any. Failed requests are retried until one succeeds. */
  follow: ({ after, ...query }: FollowQuery, options: Omit<RequestOptions, "idempotencyKey"> = {}): FollowedEvents => {
    const requested = { timeout: wait * 2000, maxRetries: Infinity, ...options }
    return new FollowedEvents(
      after,
      (cursor, waits) =>
        list("GET /events", { query: { ...query, after: cursor, wait: waits ? wait : 0 } }, requested).page(),
      options.signal
    )
  },

  /**
   * Streams the events that `follow` follows, with a cursor after each event instead of after each page. A lost connection is
   * opened again. `timeout` is the longest silence, of which the service has 10 s.
   */
  stream: (
    { after, ...query }: Omit<FollowQuery, "page_size">,
    options: Omit<RequestOptions, "idempotencyKey" | "maxRetries"> = {}
  ): StreamedEvents =>
    new StreamedEvents(after, {
      open: (cursor) =>
        stream("GET /events", { query: { ...query, after: cursor } }, { timeout: silence_millis, ...options }),
      pauseAfter: (error, attempts) => pauseAfter("GET /events", error, attempts, options.signal),
      signal: options.signal
    })
})
