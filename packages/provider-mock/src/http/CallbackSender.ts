/** Posts the callbacks of a mock provider to the service. */
import type { ProviderEvent } from "@messaging-crm/core/Inbound"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Data, Effect, Layer, Queue, Ref, Schedule, Schema } from "effect"
import { MockProvider } from "../MockProvider.ts"
import * as Protocol from "./Protocol.ts"

const encode = Schema.encodeEffect(Schema.fromJsonString(Protocol.Callback))

/** A callback got no 2xx response: another status, or null for no response. */
class CallbackFailed extends Data.TaggedError("CallbackFailed")<{ readonly status: number | null }> {}

/** Returns whether a repetition of a callback can succeed: the service has not rejected its content. */
const isTransient = ({ status }: CallbackFailed): boolean =>
  status === null || status < 400 || status >= 500 || status === 408 || status === 429

const post = (url: string, body: string, signature: string) =>
  Effect.tryPromise(async (signal) => {
    const headers = { "content-type": "application/json", [Protocol.signature_header]: signature }
    const response = await fetch(url, { method: "POST", body, headers, signal, redirect: "manual" })
    await response.arrayBuffer()
    return response
  }).pipe(
    Effect.timeout("10 seconds"),
    Effect.mapError(() => new CallbackFailed({ status: null })),
    Effect.flatMap(({ ok, status }) => ok ? Effect.void : new CallbackFailed({ status }))
  )

/** The maximum number of events in one callback. */
const batch_max = 10

const hasFile = (event: ProviderEvent): boolean => "media" in event && event.media !== null

/** Puts each event with a file into a separate callback, which bounds the size of a body. */
export const batches = (events: ReadonlyArray<ProviderEvent>): ReadonlyArray<ReadonlyArray<ProviderEvent>> => {
  const withoutFile = events.filter((event) => !hasFile(event))
  const withFile = events.filter(hasFile).map((event) => [event])
  return withoutFile.length === 0 ? withFile : [withoutFile, ...withFile]
}

const warn = (message: string, { status }: CallbackFailed) =>
  Effect.annotateLogs(Effect.logWarning(message), { status })

/** Repeats an attempt until the service accepts or rejects the callback. Logs the first failure, and a rejection. */
const retryTransient = (attempt: Effect.Effect<void, CallbackFailed>) => {
  const retries = Effect.retry(attempt, { schedule: Schedule.spaced("100 millis"), while: isTransient })
  return attempt.pipe(
    Effect.catchIf(isTransient, (failed) => Effect.andThen(warn("Callback failed; it is retried", failed), retries)),
    Effect.catch((failed) => warn("Callback rejected; it is not retried", failed))
  )
}

/** Returns an effect that returns one URL after the other, and begins again after the last one. */
const rotating = (urls: ReadonlyArray<string>) =>
  Effect.map(
    Ref.make(0),
    (turn) => Effect.map(Ref.getAndUpdate(turn, (count) => count + 1), (count) => urls[count % urls.length] ?? "")
  )

/**
 * Layer that posts signed callbacks. Each is repeated until it gets a 2xx
 * response or is rejected, each time at the next of the addresses.
 */
export const layer = (callback_urls: ReadonlyArray<string>) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const { callbacks } = yield* MockProvider
    const nextUrl = yield* rotating(callback_urls)

    const postEvents = Effect.fnUntraced(function*(events: ReadonlyArray<ProviderEvent>) {
      const body = yield* Effect.orDie(encode({ events }))
      const signature = yield* Protocol.sign(body)
      yield* retryTransient(Effect.flatMap(nextUrl, (url) => post(url, body, signature)))
    })

    yield* Queue.takeBetween(callbacks, 1, batch_max).pipe(
      Effect.flatMap((events) => Effect.forEach(batches(events), postEvents, { discard: true })),
      Effect.catchDefect((defect) => Effect.logError("Callback dropped", defect)),
      Effect.forever,
      Effect.replicateEffect(8, { concurrency: "unbounded", discard: true }),
      Effect.forkScoped
    )
  })).pipe(Layer.provide(Secrets.layer))
