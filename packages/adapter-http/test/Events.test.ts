/** `/events`. */
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import type { TestResponse } from "../testing/Service.ts"
import { rejected, startWithWebhooks } from "./WebhookScene.ts"

const { begin, service } = startWithWebhooks()
afterAll(() => service.stop())

interface Listed {
  readonly type: string
  readonly timestamp: string
  readonly data: { readonly conversation_id?: string }
}

describe("events", () => {
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
