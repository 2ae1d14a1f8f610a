import { EventFollowers, type FollowedPage } from "@messaging-crm/core/EventFollowers"
import { Events } from "@messaging-crm/core/Events"
import { Cause, Duration, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../api/Api.ts"
import { paging } from "../api/Envelope.ts"
import * as ErrorMapping from "../api/ErrorMapping.ts"
import * as Errors from "../api/Errors.ts"
import * as Texts from "../api/ErrorTexts.ts"
import * as Responses from "../middleware/Responses.ts"
import { requiring } from "./Requirements.ts"

/** Returns the page that a request has already if its wait fails: the status is sent, and the next request gets the error. */
const orElse = (page: FollowedPage) =>
  Effect.catchCause((cause: Cause.Cause<unknown>) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : Effect.as(Effect.logError("The wait for events failed", cause), page)
  )

/** Layer that serves `/events`. */
export const layer = HttpApiBuilder.group(
  Api,
  "events",
  Effect.fnUntraced(function*(handlers) {
    const events = yield* Events
    const followers = yield* EventFollowers

    return handlers.handleAll({
      list: ({ endpoint, query: { after, type = null, wait, ...query } }) => {
        if (after === undefined) {
          if (wait !== undefined) return Errors.failWith(Texts.waitWithoutAfter)
          return events.list({ ...query, type, ...paging(query) }).pipe(
            Effect.flatMap(Responses.body(endpoint)),
            ErrorMapping.translate
          )
        }
        const other = query.since !== undefined ? "since" : paging(query).cursor === null ? null : "cursor"
        if (other !== null) return Errors.failWith(Texts.notWithAfter(other))
        const options = { type, page_size: paging(query).page_size }
        return followers.follow({ ...options, after }).pipe(
          Effect.flatMap((page) =>
            page.data.length > 0 || wait === undefined || wait === 0
              ? Responses.body(endpoint)(page)
              : Responses.later(endpoint)(
                followers.follow({ ...options, after: page.next_cursor, wait: Duration.seconds(wait) }).pipe(
                  orElse(page)
                )
              )
          ),
          Effect.catchTag("CursorInvalid", () => Errors.failWith(Texts.afterInvalid)),
          ErrorMapping.translate
        )
      }
    })
  })
).pipe(requiring(Events, EventFollowers))
