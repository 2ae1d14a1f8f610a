/** `/events` as a stream of server-sent events. */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys } from "@messaging-crm/core/ApiKeys"
import { EventFollowers } from "@messaging-crm/core/EventFollowers"
import { limits } from "@messaging-crm/core/Limits"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { afterAll } from "vitest"
import { start } from "../testing/Service.ts"
import { rejected, startWithWebhooks, untilFollowed } from "./WebhookScene.ts"

const { begin, service } = startWithWebhooks()
afterAll(() => service.stop())

type Service = Pick<typeof service, "fetch">

/** A block of a stream, by the names of its fields; a comment has an empty name. */
const parsed = (block: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    block.split("\n").filter((line) => line !== "").map((line) => {
      const [name = "", ...value] = line.split(": ")
      return [name === ":" ? "" : name, value.join(": ")]
    })
  )

/** Opens a stream, whose blocks are read one by one. */
const open = async (key: string, query = "", headers: object = {}, { fetch }: Service = service) => {
  const response = await fetch(`http://localhost/v1/events${query}`, {
    headers: { accept: "text/event-stream", authorization: `Bearer ${key}`, ...headers }
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  /** Returns the next block, undefined at the end. */
  const block = async (): Promise<Readonly<Record<string, string>> | undefined> => {
    while (!text.includes("\n\n")) {
      const { done, value = "" } = await reader?.read() ?? { done: true }
      if (done) return undefined
      text += value
    }
    const [first = "", ...rest] = text.split("\n\n")
    text = rest.join("\n\n")
    return parsed(first)
  }
  /** Returns the next events, each with its cursor. */
  const events = async (count: number) => {
    const found: Array<{ readonly id: string; readonly cursor: string }> = []
    while (found.length < count) {
      const { data, id: cursor = "" } = await block() ?? assert.fail("The stream has ended.")
      if (data !== undefined) found.push({ id: JSON.parse(data).id, cursor })
    }
    return found
  }
  return { block, close: () => reader?.cancel(), events, response }
}

const idsOf = (events: ReadonlyArray<{ readonly id: string }>) => events.map(({ id }) => id)

describe("a stream of events", () => {
  it("has each event once, in the order of commits, and continues after the last one", async () => {
    const { close, get, key } = await begin()
    const now = await open(key)
    assert.strictEqual(now.response.status, 200)
    assert.strictEqual(now.response.headers.get("content-type"), "text/event-stream")
    assert.strictEqual(now.response.headers.get("cache-control"), "no-store")
    const first = await now.block()
    assert.hasAllKeys(first, ["retry", "id"])
    await close()
    await untilFollowed(get)
    const all = idsOf((await get("/events?after=start")).body.data)
    const streamed = await now.events(all.length)
    assert.deepStrictEqual(idsOf(streamed), all)
    await now.close()
    for (const [index, { cursor }] of [{ cursor: first?.id ?? "" }, ...streamed].entries()) {
      const headers = { "last-event-id": cursor }
      // The URL of the first request is repeated.
      const again = await open(key, "?after=now", headers)
      assert.deepStrictEqual(idsOf(await again.events(all.length - index)), all.slice(index))
      await again.close()
      const page = await get(`/events?after=${cursor}`)
      assert.deepStrictEqual(idsOf(page.body.data), all.slice(index))
    }
    const ofType = await open(key, "?after=start&type=conversation.closed&page_size=1", { "last-event-id": "" })
    const [closed] = await ofType.events(1)
    assert.strictEqual(closed?.id, all.at(-1))
    await ofType.close()
  })

  it("is requested by its media type only", async () => {
    const { key } = await begin()
    for (const accept of ["text/event-stream", "application/json;q=0.5, Text/Event-Stream; q=1"]) {
      const { close, response } = await open(key, "", { accept })
      assert.strictEqual(response.headers.get("content-type"), "text/event-stream", accept)
      await close()
    }
    for (const accept of ["*/*", "text/*", "text/event-stream;q=0", "text/event-streams", "x;a=text/event-stream"]) {
      const { response } = await open(key, "", { accept })
      assert.strictEqual(response.headers.get("content-type"), "application/json", accept)
    }
  })

  it("is rejected before it begins", async () => {
    const { close, get, key, organization, owner } = await begin()
    await close()
    const { next_cursor } = (await get("/events?after=start")).body
    const stream = (query: string, headers: Record<string, string> = {}, as = key) =>
      service.request("GET", `/v1/events${query}`, { key: as, headers: { accept: "text/event-stream", ...headers } })
    for (
      const [query, last_event_id, param] of [
        ["?wait=5", "", "wait"],
        ["?since=2026-11-20T09:00:00Z", "", "since"],
        ["?cursor=x", "", "cursor"],
        ["?type=message.read", "", "type"],
        ["?page_size=0", "", "page_size"],
        ["?after=yesterday", "", "after"],
        ["?after=start", "yesterday", "Last-Event-ID"],
        ["?type=conversation.closed", next_cursor ?? "", "Last-Event-ID"],
        ["", "a".repeat(limits.cursor_chars_max + 1), "Last-Event-ID"]
      ] as const
    ) rejected(await stream(query, { "last-event-id": last_event_id }), param)
    const weak = await service.keyWith({ organization_id: organization.id, member_id: owner.id }, ["tags:read"])
    assert.strictEqual((await stream("", {}, weak)).status, 403)
    assert.strictEqual((await stream("", {}, "svc_live_x")).status, 401)
  })

  it("has one of its organization's slots, as a waiting request does", async () => {
    const [ours, theirs] = [await begin(), await begin()]
    const { next_cursor } = (await ours.get("/events?after=now")).body
    const streams = await Promise.all(
      Array.from({ length: limits.organization_followers_max }, () => open(ours.key))
    )
    for (const { response } of streams) assert.strictEqual(response.status, 200)
    const headers = { accept: "text/event-stream" }
    for (const options of [{ headers }, {}]) {
      const query = "headers" in options ? "" : `?after=${next_cursor}&wait=30`
      const response = await service.request("GET", `/v1/events${query}`, { key: ours.key, ...options })
      rejected(response, null, "rate_limited", 429)
      assert.strictEqual(response.headers.get("retry-after"), "5")
    }
    assert.strictEqual((await ours.get(`/events?after=${next_cursor}`)).status, 200)
    const other = await open(theirs.key)
    assert.strictEqual(other.response.status, 200)
    for (const { close } of [...streams, other]) await close()
    const waiting = ours.get(`/events?after=${next_cursor}&wait=30`)
    await ours.close()
    assert.isNotEmpty((await waiting).body.data)
    for (const { close } of await Promise.all(streams.map(() => open(ours.key)))) await close()
  })
})

/** A service with a clock of the test. */
const startWithClock = async () => {
  const clock = await Effect.runPromise(Effect.scoped(TestClock.make()))
  // Only in memory, a round of the stream takes a known number of turns.
  const timed = start({ instead: Layer.succeed(Clock.Clock, clock), storage: Memory.layer })
  const { key, organization, owner } = await timed.organization()
  const actor = { organization_id: organization.id, member_id: owner.id }
  const advance = (duration: "1 second" | "10 seconds" | "10 minutes") => Effect.runPromise(clock.adjust(duration))
  /** Advances the clock until a promise is fulfilled, and returns by how many seconds: more if its result takes more turns. */
  const secondsUntil = async (ended: Promise<unknown>, turns: number): Promise<number> => {
    const state = { isEnded: false }
    void ended.then(() => state.isEnded = true)
    for (let seconds = 0;; seconds++) {
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
      if (state.isEnded) return seconds
      await advance("1 second")
    }
  }
  return { actor, key, secondsUntil, timed }
}

describe("a stream of events ends", () => {
  const untilEnd = async ({ block }: Awaited<ReturnType<typeof open>>) => {
    const blocks: Array<Readonly<Record<string, string>>> = []
    for (let next = await block(); next !== undefined; next = await block()) blocks.push(next)
    return blocks
  }

  it("after ten minutes, with comments every ten seconds, and tells when to connect again", async () => {
    const { key, secondsUntil, timed } = await startWithClock()
    const blocks = untilEnd(await open(key, "", {}, timed))
    assert.isAtLeast(await secondsUntil(blocks, 1000), 600)
    const [first, ...others] = await blocks
    assert.hasAllKeys(first, ["retry", "id"])
    assert.deepStrictEqual(others.slice(0, -1), Array.from({ length: 59 }, () => ({ "": "" })))
    assert.deepStrictEqual(others.at(-1), { "": "end", retry: "1000" })
    await timed.stop()
  })

  it("within ten seconds after its key was revoked", async () => {
    const { actor, secondsUntil, timed } = await startWithClock()
    const key = await timed.keyWith(actor, ["webhooks:manage"])
    const stream = await open(key, "", {}, timed)
    await stream.block()
    const ended = untilEnd(stream)
    await timed.runtime.runPromise(
      ApiKeys.use((keys) =>
        Effect.flatMap(keys.list, (all) => {
          const { id } = all.find(({ scopes }) => scopes.length === 1) ?? assert.fail("There is no key.")
          return keys.revoke(id)
        })
      ).pipe(Effect.provideService(CurrentActor, actor))
    )
    assert.strictEqual(await secondsUntil(ended, 5000), 10)
    assert.strictEqual((await open(key, "", {}, timed)).response.status, 401)
    await timed.stop()
  })

  it("when the process stops", async () => {
    const stopping = start()
    const { key } = await stopping.organization()
    const stream = await open(key, "", {}, stopping)
    await stream.block()
    const ended = untilEnd(stream)
    await stopping.runtime.runPromise(EventFollowers.use(({ end }) => end))
    assert.deepStrictEqual(await ended, [{ "": "end", retry: "1000" }])
    await stopping.stop()
  })
})
