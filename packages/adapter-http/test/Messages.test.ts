/** `/conversations/{conversation_id}/messages`, read page by page. */
import { assert, it } from "@effect/vitest"
import { Inbound } from "@messaging-crm/core/Inbound"
import { DateTime, Effect } from "effect"
import { afterAll } from "vitest"
import { start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

interface Row {
  readonly id: string
  readonly created_at: string
  readonly text: string
}

/** A person writes so many messages, and their conversation is found. */
const chatter = async (ours: Awaited<ReturnType<typeof service.organization>>, external_id: string, count: number) => {
  await service.runtime.runPromise(Effect.gen(function*() {
    for (let number = 0; number < count; number++) {
      const sent_at = yield* DateTime.now
      yield* Inbound.use((inbound) =>
        inbound.receive({
          event: "message_received",
          channel_id: ours.channel.id,
          provider_message_id: `${external_id} ${number}`,
          from: { external_id, display_name: "Kim", username: null },
          type: "text",
          text: `message ${number}`,
          media: null,
          sent_at
        })
      )
    }
  }))
  const query = new URLSearchParams({ query: external_id })
  const [contact] = (await service.request("GET", `/v1/contacts?${query}`, { key: ours.key })).body.data
  return `/v1/conversations/${contact.last_conversation_id}/messages`
}

it("are listed newest first, fifty per page, and each once", async () => {
  const ours = await service.organization()
  const path = await chatter(ours, "+4915112345678", 120)
  const sizes: Array<number> = []
  const walked: Array<Row> = []
  let cursor: string | null = ""
  while (cursor !== null) {
    const { body, status } = await service.request("GET", `${path}?cursor=${encodeURIComponent(cursor)}`, ours)
    assert.strictEqual(status, 200)
    sizes.push(body.data.length)
    walked.push(...body.data)
    cursor = body.next_cursor
  }
  assert.deepStrictEqual(sizes, [50, 50, 20])
  assert.strictEqual(new Set(walked.map(({ id }) => id)).size, 120)
  const key = ({ created_at, id }: Row) => `${created_at} ${id}`
  assert.deepStrictEqual(walked.map(key), walked.map(key).toSorted().toReversed())
  assert.deepStrictEqual(new Set(walked.map(({ text }) => text)).size, 120)
})

it("cannot be listed with another list's cursor, nor in pages of another size", async () => {
  const ours = await service.organization()
  const [one, other] = [await chatter(ours, "+4915112345678", 51), await chatter(ours, "+4915112345679", 1)]
  const get = (path: string) => service.request("GET", path, { key: ours.key })
  const { next_cursor } = (await get(one)).body
  const contacts = (await get("/v1/contacts?page_size=1")).body.next_cursor
  for (
    const [path, param] of [
      [`${other}?cursor=${encodeURIComponent(String(next_cursor))}`, "cursor"],
      [`${one}?cursor=${encodeURIComponent(String(contacts))}`, "cursor"],
      [`/v1/contacts?cursor=${encodeURIComponent(String(next_cursor))}`, "cursor"],
      [`${one}?cursor=x`, "cursor"],
      [`${one}?cursor=${encodeURIComponent(String(next_cursor))}&cursor=x`, "cursor"],
      [`${one}?page_size=10`, "page_size"]
    ] as const
  ) {
    const response = await get(path)
    assert.strictEqual(response.status, 400, path)
    assert.strictEqual(response.body.error.code, "invalid_input")
    assert.strictEqual(response.body.error.param, param)
  }
})

it("of an unknown conversation are not found, whatever the cursor", async () => {
  const ours = await service.organization()
  const absent = `/v1/conversations/${ours.channel.id}/messages`
  for (const path of [absent, `${absent}?cursor=x`]) {
    const response = await service.request("GET", path, { key: ours.key })
    assert.strictEqual(response.status, 404, path)
    assert.strictEqual(response.body.error.code, "not_found")
  }
})
