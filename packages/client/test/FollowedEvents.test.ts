/** Followed events through failed requests and restarts: each once, in order. */
import { assert, it } from "@effect/vitest"
import { type Fetch, MessagingCrm, MessagingCrmError } from "@messaging-crm/client"
import { afterAll } from "vitest"
import { idempotency, start } from "../../adapter-http/testing/Service.ts"

const service = start()
afterAll(() => service.stop())

/** An organization with a client, whose requests fail as `fault` says. */
const begin = async () => {
  const { key } = await service.organization()
  const requested: Array<URL> = []
  const state: { fault: Fetch | null } = { fault: null }
  const fetch: Fetch = async (url, init) => {
    requested.push(new URL(url))
    const { fault } = state
    state.fault = null
    return fault === null ? service.fetch(url, init) : fault(url, init)
  }
  const crm = new MessagingCrm({ apiKey: key, baseUrl: "http://localhost/v1", fetch, maxRetries: 0 })
  const create = async (first_name: string) => {
    const { body } = await service.request("POST", "/v1/contacts", { key, json: { first_name }, ...idempotency() })
    return body.data.id as string
  }
  return { create, crm, requested, state }
}

const contactOf = (event: { readonly data: object }) => "contact_id" in event.data ? event.data.contact_id : null

it("are returned once and in order, although requests fail and responses are lost", async () => {
  const { create, crm, state } = await begin()
  const created = [await create("Ada"), await create("Kim"), await create("Lee")]
  const followed: Array<unknown> = []
  const events = crm.events.follow({ after: "start", page_size: 1, type: "contact.created" })
  const faults: ReadonlyArray<Fetch> = [
    async () => Response.json({ error: { code: "internal_error", message: "", param: null } }, { status: 500 }),
    async () => {
      throw new TypeError("fetch failed")
    },
    async (url, init) => {
      await service.fetch(url, init)
      throw new TypeError("terminated")
    }
  ]
  for await (const event of events) {
    followed.push(contactOf(event))
    if (followed.length === 1) created.push(await create("Max"))
    if (followed.length === created.length) break
    state.fault = faults[followed.length - 1] ?? null
  }
  assert.deepStrictEqual(followed, created)
})

it("continue after a restart at the cursor, with the page that was not processed to its end", async () => {
  const { create, crm } = await begin()
  const created = [await create("Ada"), await create("Kim"), await create("Lee")]
  const first = crm.events.follow({ after: "start", page_size: 2 })
  for await (const event of first) if (contactOf(event) === created[2]) break
  const again = crm.events.follow({ after: first.cursor })
  for await (const event of again) {
    assert.strictEqual(contactOf(event), created[2])
    break
  }
  for await (const { data, next_cursor } of crm.events.follow({ after: "start" }).pages()) {
    assert.deepStrictEqual(data.map(contactOf), created)
    const later = await create("Max")
    for await (const event of crm.events.follow({ after: next_cursor })) {
      assert.strictEqual(contactOf(event), later)
      break
    }
    break
  }
})

it("start at the next event, whose request can be repeated without skipping one", async () => {
  const { create, crm, requested } = await begin()
  await create("Ada")
  const events = crm.events.follow({ after: "now" })[Symbol.asyncIterator]()
  const next = events.next()
  while (!requested.some(({ searchParams }) => searchParams.get("wait") === "30")) {
    await new Promise(setImmediate)
  }
  const later = await create("Kim")
  const { value } = await next
  assert.strictEqual(value === undefined ? null : contactOf(value), later)
  assert.deepStrictEqual(
    requested.map(({ searchParams }) => [searchParams.get("after") === "now", searchParams.get("wait")]),
    [[true, "0"], [false, "30"]]
  )
  await events.return()
})

it("end with an error that a retry cannot correct, and when the signal aborts", async () => {
  const { crm, state } = await begin()
  const failure = await crm.events.follow({ after: "yesterday" })[Symbol.asyncIterator]().next().catch(
    (error: unknown) => error
  )
  assert.instanceOf(failure, MessagingCrmError)
  assert.strictEqual(failure.param, "after")
  state.fault = async () => Response.json({ data: null })
  const unexpected = await crm.events.follow({ after: "start" })[Symbol.asyncIterator]().next().catch(
    (error: unknown) => error
  )
  assert.instanceOf(unexpected, MessagingCrmError)
  assert.strictEqual(unexpected.code, "unexpected_response")
  const controller = new AbortController()
  state.fault = (_, { signal }) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
  const waiting = crm.events.follow({ after: "start" }, { signal: controller.signal })[Symbol.asyncIterator]().next()
  controller.abort(new Error("stop"))
  assert.strictEqual(await waiting.catch((error: unknown) => error), controller.signal.reason)
})
