/** `/events`. */
import { assert, describe, it } from "@effect/vitest"
import { EventFollowers } from "@messaging-crm/core/EventFollowers"
import { limits } from "@messaging-crm/core/Limits"
import { afterAll } from "vitest"
import type { TestResponse } from "../testing/Service.ts"
import { absent, rejected, startWithWebhooks, untilFollowed } from "./WebhookScene.ts"

const { begin, service } = startWithWebhooks()
afterAll(() => service.stop())

interface Listed {
  readonly id: string
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly conversation_id?: string }
}

const followed = async (get: (path: string) => Promise<TestResponse>, query: string) => {
  const { body, status } = await get(`/events?${query}`)
  assert.strictEqual(status, 200)
  const listed: ReadonlyArray<Listed> = body.data
  return { ids: listed.map(({ id }) => id), next: String(body.next_cursor) }
}

describe("events", () => {
  it("are read one at a time, by their organization only, as the list has them", async () => {
    const { close, get } = await begin()
    await close()
    const all: ReadonlyArray<Listed> = (await get("/events")).body.data
    assert.isAtLeast(all.length, 2)
    for (const event of all) {
      const { body, status } = await get(`/events/${event.id}`)
      assert.deepStrictEqual([status, body], [200, { data: event }])
    }
    const [{ id } = assert.fail("There is no event.")] = all
    for (const response of [await (await begin()).get(`/events/${id}`), await get(`/events/${absent}`)]) {
      assert.deepStrictEqual([response.status, response.body.error.code], [404, "not_found"])
    }
    rejected(await get("/events/last"), "event_id")
  })

  it("are followed in the order of commits, with a cursor on every page", async () => {
    const { close, get } = await begin()
    const now = await followed(get, "after=now")
    assert.deepStrictEqual(now.ids, [])
    await close()
    await close()
    const all: ReadonlyArray<Listed> = (await get("/events")).body.data
    await untilFollowed(get)
    const first = await followed(get, "after=start&page_size=1")
    const rest = await followed(get, `after=${first.next}`)
    assert.sameMembers([...first.ids, ...rest.ids], all.map(({ id }) => id))
    assert.deepStrictEqual((await followed(get, `after=${now.next}`)).ids, [...first.ids, ...rest.ids])
    assert.deepStrictEqual((await followed(get, `after=${rest.next}`)).ids, [])
    assert.deepStrictEqual((await followed(get, "after=start&cursor=&page_size=1")).ids, first.ids)
    const closed = await followed(get, "after=start&type=conversation.closed")
    assert.deepStrictEqual(
      closed.ids,
      all.filter(({ type }) => type === "conversation.closed").map(({ id }) => id).toReversed()
    )
    for (
      const [query, param] of [
        ["after=", "after"],
        ["after=yesterday", "after"],
        [`after=${rest.next}&type=conversation.closed`, "after"],
        [`after=${closed.next}`, "after"],
        ["after=start&cursor=x", "cursor"],
        ["after=start&since=2026-11-20T09:00:00Z", "since"],
        ["after=start&page_size=0", "page_size"]
      ] as const
    ) rejected(await get(`/events?${query}`), param)
  })

  it("are awaited by a request that does not count as one of its key's", async () => {
    const { close, get } = await begin()
    const { next } = await followed(get, "after=now")
    const waiting = Array.from({ length: limits.requests_at_once }, () => followed(get, `after=${next}&wait=30`))
    await close()
    const pages = await Promise.all(waiting)
    for (const { ids } of pages) assert.isAtLeast(ids.length, 1)
    const last = await followed(get, "after=now&wait=0")
    const ended = followed(get, `after=${last.next}&wait=30`)
    await service.runtime.runPromise(EventFollowers.use(({ end }) => end))
    assert.deepStrictEqual((await ended).ids, [])
    for (
      const [query, param] of [
        ["wait=5", "wait"],
        ["after=now&wait=31", "wait"],
        ["after=now&wait=1.5", "wait"],
        ["after=now&wait=", "wait"],
        ["after=yesterday&wait=5", "after"]
      ] as const
    ) rejected(await get(`/events?${query}`), param)
  })

  it("are listed without a webhook, newest first, by page, type and time", async () => {
    const { close, get } = await begin()
    const closed = [await close(), await close()]
    const listed = async (query: string) => (await get(`/events?${query}`)).body.data as ReadonlyArray<Listed>
    const all = await listed("")
    assert.deepStrictEqual(
      all.filter(({ type }) => type === "conversation.closed").map(({ data }) => data.conversation_id),
      closed.toReversed()
    )
    assert.deepStrictEqual(
      await listed("type=conversation.closed"),
      all.filter(({ type }) => type === "conversation.closed")
    )
    const walked: Array<Listed> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const page: TestResponse = await get(`/events?page_size=1&cursor=${cursor}`)
      walked.push(...page.body.data)
      cursor = page.body.next_cursor
    }
    assert.deepStrictEqual(walked, all)
    const [{ timestamp } = assert.fail("There is no event.")] = all
    const later = new Date(Date.parse(timestamp) + 1).toISOString()
    assert.deepStrictEqual(await listed(`since=${timestamp}`), all.filter((event) => event.timestamp === timestamp))
    assert.deepStrictEqual(await listed(`since=${later}`), [])
    assert.deepStrictEqual(await listed("since=0001-01-01T00:00:00Z"), all)
    assert.deepStrictEqual(await listed("since=9999-12-31T23:59:59Z"), [])
    for (
      const [query, param] of [
        ["type=message.read", "type"],
        ["type=", "type"],
        ["since=2026-11-20", "since"],
        ["since=2026-02-30T00:00:00Z", "since"],
        ["since=2026-11-20T00:00:00%2B24:00", "since"],
        ["since=", "since"],
        ["page_size=0", "page_size"],
        ["page_size=101", "page_size"],
        ["cursor=x", "cursor"]
      ] as const
    ) {
      rejected(await get(`/events?${query}`), param)
    }
  })
})
