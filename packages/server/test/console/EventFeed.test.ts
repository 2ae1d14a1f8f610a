/** The events of the open pages: what happens when they can no longer be followed. */
import { assert, it } from "@effect/vitest"
import { EventFeed } from "../../src/console/EventFeed.ts"

const page = () => Response.json({ data: [], next_cursor: "a-cursor" })

const expired = () =>
  Response.json({
    error: { code: "cursor_expired", message: "Too old.", param: "after", request_id: "a-request", docs_url: null }
  }, { status: 410 })

/** A feed whose first request succeeds, and whose later ones get this response. */
const feedOf = (later: (signal: AbortSignal | null) => Promise<Response>) => {
  const steps: Array<string> = []
  const failed = Promise.withResolvers<void>()
  const feed = new EventFeed({
    baseUrl: "http://localhost/v1",
    fetch: async (url, init) => new URL(url).searchParams.get("after") === "now" ? page() : later(init?.signal ?? null),
    pages: { countPages: () => 1, publish: () => {}, reconnect: () => void steps.push("reconnect") },
    onFailure: (error) => {
      steps.push(error instanceof Error ? error.message : "unknown")
      failed.resolve()
    }
  })
  return { failed: failed.promise, feed, steps }
}

it("ends the streams of the open pages after a failure, reports it, and starts again for the next page", async () => {
  const response = Promise.withResolvers<Response>()
  const responses = [response.promise]
  const { failed, feed, steps } = feedOf(() => responses.pop() ?? new Promise(() => {}))
  await feed.start()
  assert.deepStrictEqual(steps, [])
  response.resolve(expired())
  await failed
  assert.lengthOf(steps, 2)
  assert.include(steps[0], "Too old.")
  assert.strictEqual(steps[1], "reconnect")
  await feed.start()
  feed.close()
})

it("rejects the start that fails", async () => {
  const { feed } = feedOf(async () => expired())
  feed.close()
  assert.strictEqual(await feed.start().then(() => "started", () => "rejected"), "rejected")
})

it("reports no failure when the process stops", async () => {
  const waiting = Promise.withResolvers<void>()
  const { feed, steps } = feedOf((signal) =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason))
      waiting.resolve()
    })
  )
  await feed.start()
  await waiting.promise
  feed.close()
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepStrictEqual(steps, [])
})
