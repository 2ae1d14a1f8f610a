/** Followers of an organization's events, which note when each event arrives. */
import { Clock, Effect } from "effect"
import { Api, type Servers } from "./Fixtures.ts"

export interface Received {
  readonly event_id: string
  readonly at: number
}

export interface EventFollower {
  /** The events so far. Grows until the scope ends. */
  readonly received: ReadonlyArray<Received>
}

interface Page {
  readonly data: ReadonlyArray<{ readonly id: string }>
  readonly next_cursor: string
}

/** Starts a follower that waits for pages, after the events that are stored. */
export const followPages = Effect.fnUntraced(function*(server: Servers.Server, key: string) {
  const clock = yield* Clock.Clock
  const received: Array<Received> = []
  const read = (query: string) =>
    Effect.map(Api.request(server, "GET", `/events?${query}`, { key }), ({ text }): Page => JSON.parse(text))
  let { next_cursor } = yield* read("after=now")
  const readNext = Effect.map(Effect.suspend(() => read(`after=${next_cursor}&wait=30`)), (page) => {
    received.push(...page.data.map(({ id }) => ({ event_id: id, at: clock.currentTimeMillisUnsafe() })))
    next_cursor = page.next_cursor
  })
  yield* Effect.forkScoped(Effect.forever(readNext))
  return { received } satisfies EventFollower
})

/** Starts a follower that reads a stream, after the events that are stored. */
export const followStream = Effect.fnUntraced(function*(server: Servers.Server, key: string) {
  const clock = yield* Clock.Clock
  const received: Array<Received> = []
  const controller = new AbortController()
  yield* Effect.addFinalizer(() => Effect.sync(() => controller.abort()))
  const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" }
  const response = yield* Effect.promise(() => fetch(`${server.url}/v1/events`, { headers, signal: controller.signal }))
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const read = async () => {
    let rest = ""
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      const lines = (rest + part.value).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        if (!line.startsWith("data: ")) continue
        received.push({ event_id: JSON.parse(line.slice(6)).id, at: clock.currentTimeMillisUnsafe() })
      }
    }
  }
  // Ends with the scope.
  void read().catch(() => {})
  return { received } satisfies EventFollower
})
