/** The time limit of a read. */
import { Cause, Context, Duration, Effect } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"

/** The time limit of a read. A reference, so that an embedder can set it. */
export const ReadDeadline = Context.Reference<Duration.Duration>(
  "@messaging-crm/adapter-http/middleware/ReadDeadline",
  { defaultValue: () => Duration.seconds(8) }
)

/**
 * Ends a read that takes too long. A write cannot be stopped in the same way, because a sent commit
 * continues: core's `WriteTime` limits it.
 *
 * A timer interrupts the route, the only part of a request that can be interrupted,
 * and `recover` responds. A race would start two fibers for each read.
 */
export const withDeadline = <E, R>(
  { method }: HttpServerRequest.HttpServerRequest,
  httpEffect: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
) =>
  method !== "GET" && method !== "HEAD" ? httpEffect : Effect.withFiber<
    HttpServerResponse.HttpServerResponse,
    E,
    R
  >((fiber) => {
    const duration = fiber.getRef(ReadDeadline)
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      fiber.interruptUnsafe()
    }, Duration.toMillis(duration))
    const onSuccess = (response: HttpServerResponse.HttpServerResponse) => {
      clearTimeout(timer)
      return Effect.succeed(response)
    }
    const onFailure = (cause: Cause.Cause<E>) => {
      clearTimeout(timer)
      return isLate
        ? Effect.die(new Cause.TimeoutError(`The read took longer than ${Duration.format(duration)}`))
        : Effect.failCause(cause)
    }
    return Effect.matchCauseEffect(httpEffect, { onSuccess, onFailure })
  })
