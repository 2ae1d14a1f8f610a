import { AnyEventType, Event } from "@messaging-crm/core/Events"
import { EventId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { text } from "@messaging-crm/core/Text"
import { QueryTime } from "@messaging-crm/core/Timestamps"
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { cursor, List, page_size, queryInteger, Single } from "./Envelope.ts"
import * as Errors from "./Errors.ts"
import { eventOf } from "./EventExamples.ts"
import * as Examples from "./Examples.ts"
import { Runs } from "./Pipeline.ts"

/** The filters of the list of events (contract §13.4). */
const filters = {
  type: Schema.optionalKey(
    AnyEventType.annotate({ description: "Events of this type.", examples: ["message.received"] })
  ),
  since: Schema.optionalKey(QueryTime.pipe(Schema.annotateEncoded({
    description: "Events raised at this time or later.",
    examples: ["2026-11-20T09:00:00Z"]
  })))
}

const after = Schema.optionalKey(
  text({ min: 1, max: limits.cursor_chars_max }).annotate({
    description:
      "Returns events in the order of commits instead, the oldest first: `start` from the oldest stored event, `now` from the next one, or the `next_cursor` of the page before. Combines with `type`, `page_size`, and `wait` only.",
    examples: ["start"]
  })
)

const wait = Schema.optionalKey(
  queryInteger(0, limits.follow_wait_seconds_max).pipe(Schema.annotateEncoded({
    description: "Seconds for which an empty page with `after` waits for the next events."
  }))
)

const last_event_id = Schema.optionalKey(
  // The edge limits its length.
  Schema.String.annotate({
    description:
      "With `Accept: text/event-stream`, the `id` of the last event that you received. It replaces `after`. Empty counts as absent."
  })
)

/** `/events`: list and get (contract §13.4). */
export class EventsGroup extends HttpApiGroup.make("events")
  .add(
    HttpApiEndpoint.get("list", "/events", {
      headers: { "last-event-id": last_event_id },
      query: { cursor, page_size, ...filters, after, wait },
      success: List(Event),
      error: [Errors.Gone, Errors.TooManyRequests]
    })
      .annotate(Runs, "events.list")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listEvents",
          summary: "List events",
          description:
            "Returns the events of the last 30 days, newest first, whether or not a webhook subscribed to them. An event must match all filters. With `after`, the events follow each other as they were committed, none is skipped, and there is always a `next_cursor`. With `Accept: text/event-stream`, the response is a stream of these events."
        })
      )
      .annotate(Examples.Example, {
        response: Examples.page(eventOf("message.received")),
        stream: `id: ${Examples.cursor}\ndata: ${JSON.stringify(eventOf("message.received"))}\n\n`
      }),
    HttpApiEndpoint.get("get", "/events/:event_id", {
      params: { event_id: EventId },
      success: Single(Event),
      error: Errors.NotFound
    })
      .annotate(Runs, "events.get")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getEvent",
          summary: "Get an event",
          description:
            "Returns an event of the last 30 days, as the list does. The header `webhook-id` of a webhook request is the event's ID."
        })
      )
      .annotate(Examples.Example, { response: Examples.one(eventOf("message.received")) })
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Events",
      description: "Events of the last 30 days, in the same form as in webhook requests."
    })
  )
{}
