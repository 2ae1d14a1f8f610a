import { ApiKeys } from "@messaging-crm/core/ApiKeys"
import { encoder } from "@messaging-crm/core/Codecs"
import { EventFollowers, EventsAfter, type FollowedPage, type FollowOptions } from "@messaging-crm/core/EventFollowers"
import { Event, Events } from "@messaging-crm/core/Events"
import { Cause, Duration, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { paging } from "../api/Envelope.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import * as Responses from "../middleware/Responses.ts"
import * as EventStream from "./EventStream.ts"
import { requiring } from "./Requirements.ts"

const toJson = (() => {
  const encode = encoder(Event)
  return (event: Event) => JSON.stringify(encode(event))
})()

/** Returns the page that a request has already if its wait fails: the status is sent, and the next request gets the error. */
const orElse = (page: FollowedPage) =>
  Effect.catchCause((cause: Cause.Cause<unknown>) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : Effect.as(Effect.logError("The wait for events failed", cause), page)
  )

/** Returns the parameter that cannot be combined with `after`. */
const notWithAfter = ({ cursor = "", since }: { readonly cursor?: string; readonly since?: unknown }) =>
  since !== undefined ? "since" : cursor === "" ? null : "cursor"

/** Layer that serves `/events`. */
export const layer = HttpApiBuilder.group(
  Api,
  "events",
  Effect.fnUntraced(function*(handlers) {
    const events = yield* Events
    const followers = yield* EventFollowers
    const { isValid } = yield* ApiKeys

    /** Takes a slot, and returns the wait for the events after a page. */
    const wait = (page: FollowedPage, options: Omit<FollowOptions, "after">, seconds: number) =>
      Effect.map(
        followers.open,
        ({ next }) =>
          next({ ...options, after: page.next_cursor }, Duration.seconds(seconds)).pipe(
            orElse(page)
          )
      )

    /** Responds with a stream. A client that connects again repeats its URL, so `Last-Event-ID` replaces `after`. */
    const stream = (options: FollowOptions, last_event_id = "") => {
      const after = last_event_id === "" ? options.after : last_event_id
      const invalid = last_event_id === "" ? Texts.afterInvalid : Texts.lastEventIdInvalid
      return followers.open.pipe(
        Effect.flatMap((follower) => EventStream.respond(follower, { ...options, after }, { isValid, toJson })),
        Effect.catchTag("CursorInvalid", () => Errors.failWith(invalid)),
        ErrorMapping.translate
      )
    }

    return handlers.handleAll({
      get: ({ endpoint, params }) =>
        events.get(params.event_id).pipe(
          Effect.flatMap(Responses.single(endpoint)),
          ErrorMapping.translate
        ),
      list: ({ endpoint, headers, query: { after, type = null, wait: seconds, ...query }, request }) => {
        const options = { type, page_size: paging(query).page_size }
        const other = notWithAfter(query)
        if (EventStream.isRequested(request.headers.accept)) {
          const excess = other ?? (seconds === undefined ? null : "wait")
          return excess === null
            ? stream({ ...options, after: after ?? EventsAfter.now }, headers["last-event-id"])
            : Errors.failWith(Texts.notInStream(excess))
        }
        if (after === undefined) {
          if (seconds !== undefined) return Errors.failWith(Texts.waitWithoutAfter)
          return events.list({ ...query, type, ...paging(query) }).pipe(
            Effect.flatMap(Responses.page(endpoint)),
            ErrorMapping.translate
          )
        }
        if (other !== null) return Errors.failWith(Texts.notWithAfter(other))
        return followers.follow({ ...options, after }).pipe(
          Effect.flatMap((page) =>
            page.data.length > 0 || seconds === undefined || seconds === 0
              ? Responses.page(endpoint)(page)
              : Effect.flatMap(wait(page, options, seconds), Responses.later(endpoint))
          ),
          Effect.catchTag("CursorInvalid", () => Errors.failWith(Texts.afterInvalid)),
          ErrorMapping.translate
        )
      }
    })
  })
).pipe(requiring(Events, EventFollowers, ApiKeys))
