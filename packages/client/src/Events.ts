/** The events that the service posts to webhooks. They contain the resource only for a webhook with `include_resource`. */
import type { Event } from "./Contract.ts"
import { FollowedEvents } from "./FollowedEvents.ts"
import type { Pages } from "./Pages.ts"
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

/** The longest time that the service waits for an event, in seconds. */
const wait = 30

/** `/events`: the list of what happened in the last 30 days. */
export const events = ({ list }: Transport) => ({
  /** Lists events, newest first, whether or not a webhook subscribed to them. */
  list: (query: Query<"GET /events"> = {}, options?: RequestOptions): Pages<WebhookEvent> =>
    list("GET /events", { query }, options),

  /** Follows events in the order of commits, without skipping any. Failed requests are retried until one succeeds. */
  follow: ({ after, ...query }: FollowQuery, options: Omit<RequestOptions, "idempotencyKey"> = {}): FollowedEvents => {
    const requested = { timeout: wait * 2000, maxRetries: Infinity, ...options }
    return new FollowedEvents(
      after,
      (cursor, waits) =>
        list("GET /events", { query: { ...query, after: cursor, wait: waits ? wait : 0 } }, requested).page(),
      options.signal
    )
  }
})
