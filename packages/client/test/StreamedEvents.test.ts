/** Streamed events through failed requests and lost connections: each once, in order. */
import { assert, it } from "@effect/vitest"
import { type Fetch, MessagingCrm, MessagingCrmError } from "@messaging-crm/client"
import { afterAll } from "vitest"
import { idempotency, start } from "../../adapter-http/testing/Service.ts"

const service = start()
afterAll(() => service.stop())

/** Returns the response with as many characters of its body, after which the connection is lost. */
const cutAt = (length: number): Fetch => async (url, init) => {
  const response = await service.fetch(url, init)
  let left = length
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      controller.enqueue(chunk.subarray(0, left))
      left -= chunk.length
      if (left <= 0) controller.error(new TypeError("terminated"))
    }
  })
  return new Response(response.body?.pipeThrough(cut) ?? null, response)
}

const failing = (status: number): Fetch => async () =>
  Response.json({ error: { code: "internal_error", message: "", param: null } }, { status })

/** An organization with a client, whose requests fail one after the other. */
const begin = async (faults: Array<Fetch> = []) => {
  const { key } = await service.organization()
  const fetch: Fetch = (url, init) => (faults.shift() ?? service.fetch)(url, init)
  const retried: Array<number> = []
  const crm = new MessagingCrm({
    apiKey: key,
    baseUrl: "http://localhost/v1",
    fetch,
    onRetry: ({ attempt }) => void retried.push(attempt)
  })
  const create = async (first_name: string) => {
    const { body } = await service.request("POST", "/v1/contacts", { key, json: { first_name }, ...idempotency() })
    return body.data.id as string
  }
  return { create, crm, retried }
}

const contactOf = (event: { readonly data: object }) => "contact_id" in event.data ? event.data.contact_id : null

it("are returned once and in order, although requests fail and connections are lost at any character", async () => {
  const { create, crm, retried } = await begin([failing(500), cutAt(10), cutAt(800), cutAt(1200)])
  const created = [await create("Ada"), await create("Kim"), await create("Lee")]
  const streamed: Array<unknown> = []
  const events = crm.events.stream({ after: "start", type: "contact.created" })
  for await (const event of events) {
    streamed.push(contactOf(event))
    if (streamed.length === 3) created.push(await create("Max"))
    if (streamed.length === created.length && created.length === 4) break
  }
  assert.deepStrictEqual(streamed, created)
  assert.isAtLeast(retried.length, 3)
  assert.deepStrictEqual(retried.slice(0, 2), [1, 2])
})

it("keep their characters, although each byte of them arrives alone", async () => {
  const event = {
    id: "01990000-0000-7000-8000-000000000001",
    type: "contact.created",
    data: { name: "Zo\u00EB \u{1F44B}" }
  }
  const bytes = new TextEncoder().encode(`id: c1\nevent: contact.created\ndata: ${JSON.stringify(event)}\n\n`)
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
    }
  })
  const { crm } = await begin([async () => new Response(body, { headers: { "content-type": "text/event-stream" } })])
  const next = await crm.events.stream({ after: "start" })[Symbol.asyncIterator]().next()
  assert.deepStrictEqual<unknown>(next.value, event)
})

it("continue after a restart at the cursor, which is that of the last processed event", async () => {
  const { create, crm } = await begin()
  const created = [await create("Ada"), await create("Kim"), await create("Lee")]
  const first = crm.events.stream({ after: "start" })
  for await (const event of first) if (contactOf(event) === created[1]) break
  const again = crm.events.stream({ after: first.cursor })
  for await (const event of again) {
    assert.strictEqual(contactOf(event), created[1])
    break
  }
})

it("start at the next event, also if the connection was lost before it", async () => {
  const { create, crm } = await begin([cutAt(500)])
  await create("Ada")
  const events = crm.events.stream({ after: "now" })
  const next = events[Symbol.asyncIterator]().next()
  while (events.cursor === "now") await new Promise(setImmediate)
  const later = await create("Kim")
  const { value } = await next
  assert.strictEqual(value === undefined ? null : contactOf(value), later)
})

it("end with an error that a retry cannot correct, and when the signal aborts", async () => {
  const { crm } = await begin([
    service.fetch,
    (_, { signal }) => new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
  ])
  const first = (after: string, signal?: AbortSignal) =>
    crm.events.stream({ after }, signal === undefined ? {} : { signal })[Symbol.asyncIterator]().next().catch((
      error: unknown
    ) => error)
  const failure = await first("yesterday")
  assert.instanceOf(failure, MessagingCrmError)
  assert.strictEqual(failure.param, "after")
  const { crm: other } = await begin([async () => Response.json({ data: [], next_cursor: null })])
  const unexpected = await other.events.stream({ after: "now" })[Symbol.asyncIterator]().next().catch((
    error: unknown
  ) => error)
  assert.instanceOf(unexpected, MessagingCrmError)
  assert.strictEqual(unexpected.code, "unexpected_response")
  const controller = new AbortController()
  const waiting = first("now", controller.signal)
  controller.abort(new Error("stop"))
  assert.strictEqual(await waiting, controller.signal.reason)
})
