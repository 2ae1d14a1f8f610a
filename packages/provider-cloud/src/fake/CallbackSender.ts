/** The callbacks of the fake Graph API: signed, in batches, and retried until the response is 200. */
import { Effect, type Redacted, Ref } from "effect"
import { sign, signature_header } from "../SignedBodies.ts"
import { bodyOf, type CallbackEntry } from "./CallbackBodies.ts"
import { enqueue, type StateRef } from "./State.ts"

/** How a batch of callbacks is posted. */
export interface Posting {
  /** The maximum number of entries of one body. */
  readonly batch?: number
  /** How often each body is posted, whatever the response is. */
  readonly times?: number
}

/** Stands for the status if there was no response in time. */
const no_response = 503
const response_time_max = "5 seconds"

const encoder = new TextEncoder()

/** Returns the entries by network, in bodies of at most `batch` entries. */
const bodies = (entries: ReadonlyArray<CallbackEntry>, batch: number): ReadonlyArray<ReadonlyArray<CallbackEntry>> =>
  Array.from(Map.groupBy(entries, ({ object }) => object).values()).flatMap((ofNetwork) =>
    Array.from(
      { length: Math.ceil(ofNetwork.length / batch) },
      (_, index) => ofNetwork.slice(index * batch, (index + 1) * batch)
    )
  )

export const make = Effect.fnUntraced(function*(
  state: StateRef,
  callback_urls: ReadonlyArray<string>,
  app_secret: Redacted.Redacted
) {
  const turn = yield* Ref.make(0)
  const nextUrl = Effect.map(
    Ref.getAndUpdate(turn, (count) => count + 1),
    (count) => callback_urls[count % callback_urls.length] ?? ""
  )

  const postRaw = Effect.fnUntraced(function*(body: Uint8Array<ArrayBuffer>, signature?: string) {
    const signed = signature ?? (yield* sign(app_secret, body))
    const headers = { "content-type": "application/json", [signature_header]: signed }
    const url = yield* nextUrl
    return yield* Effect.tryPromise(async (signal) => {
      const response = await fetch(url, { method: "POST", body, headers, signal, redirect: "manual" })
      await response.arrayBuffer()
      return response.status
    }).pipe(Effect.timeout(response_time_max), Effect.orElseSucceed(() => no_response))
  })

  const post = Effect.fnUntraced(function*({ batch = 1, times = 1 }: Posting = {}) {
    const waiting = yield* Ref.modify(state, (current) => [current.waiting, { ...current, waiting: [] }] as const)
    const statuses = yield* Effect.forEach(
      bodies(waiting, batch),
      Effect.fnUntraced(function*(entries) {
        const body = encoder.encode(bodyOf(entries))
        const statuses = yield* Effect.replicateEffect(postRaw(body), times)
        if (!statuses.includes(200)) yield* enqueue(state, ...entries)
        return statuses
      })
    )
    return statuses.flat()
  })

  return { post, postRaw }
})
