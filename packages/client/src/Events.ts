/** The events that the service posts to webhooks. They contain the resource only for a webhook with `include_resource`. */
import type { Event } from "./Contract.ts"
import type { Pages } from "./Pages.ts"
import type { Query, RequestOptions, Transport } from "./Transport.ts"

/** Any event. `type` is the discriminator. */
export type WebhookEvent = Event

/** A type of event that webhooks can subscribe to. */
export type WebhookEventType = Exclude<WebhookEvent["type"], "webhook.test">

/** `/events`: the list of what happened in the last 30 days. */
export const events = ({ list }: Transport) => ({
  /** Lists events, newest first, whether or not a webhook subscribed to them. */
  list: (query: Query<"GET /events"> = {}, options?: RequestOptions): Pages<WebhookEvent> =>
    list("GET /events", { query }, options)
})
