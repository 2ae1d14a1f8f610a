/** Tests of the receiver over real sockets: it accepts signed requests only, and handles each event once. */
import { once } from "node:events"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import { Webhook } from "standardwebhooks"
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { type Event, receiver } from "../src/Receiver.ts"

const secret = `whsec_${btoa("the secret of the webhook")}`

const event: Event = {
  id: "0199",
  type: "message.received",
  timestamp: "2026-11-20T10:00:00.000Z",
  data: { conversation_id: "0200" }
}

/** Returns the body and headers of a signed webhook request. */
const signed = (id = event.id, signingSecret = secret) => {
  const now = new Date()
  const body = JSON.stringify({ ...event, id })
  const headers = {
    "webhook-id": id,
    "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
    "webhook-signature": new Webhook(signingSecret).sign(id, now, body)
  }
  return { body, headers }
}

const handle = vi.fn<(event: Event) => Promise<void>>()
let server = createServer()
let url = ""

const post = async ({ body, headers }: ReturnType<typeof signed>) =>
  (await fetch(url, { method: "POST", body, headers })).status

beforeEach(async () => {
  handle.mockReset().mockResolvedValue()
  vi.spyOn(console, "error").mockReturnValue()
  server = createServer(receiver(secret, handle)).listen(0, "127.0.0.1")
  await once(server, "listening")
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  vi.restoreAllMocks()
  server.closeAllConnections()
  await server[Symbol.asyncDispose]()
})

describe("a webhook request", () => {
  it("is handled before its response", async () => {
    let isHandled = false
    handle.mockImplementation(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      isHandled = true
    })
    assert.equal(await post(signed()), 204)
    assert.isTrue(isHandled)
    assert.deepEqual(handle.mock.calls, [[event]])
  })

  it("is rejected without a valid signature of exactly its body", async () => {
    const { body, headers } = signed()
    assert.equal(await post(signed(event.id, `whsec_${btoa("another secret")}`)), 401)
    assert.equal(await post({ body: body.replace("0200", "0201"), headers }), 401)
    assert.equal(await post({ body, headers: { ...headers, "webhook-signature": "" } }), 401)
    assert.equal(handle.mock.calls.length, 0)
  })

  it("is handled once if it is repeated", async () => {
    assert.deepEqual([await post(signed()), await post(signed()), await post(signed("0200"))], [204, 204, 204])
    assert.deepEqual(handle.mock.calls.map(([{ id }]) => id), [event.id, "0200"])
  })

  it("is handled once if it is repeated while its handler runs", async () => {
    let end = () => {}
    handle.mockReturnValue(new Promise((resolve) => end = resolve))
    const first = post(signed())
    await vi.waitFor(() => assert.equal(handle.mock.calls.length, 1))
    const arrived = once(server, "request")
    const second = post(signed())
    await arrived
    end()
    assert.deepEqual(await Promise.all([first, second]), [204, 204])
    assert.equal(handle.mock.calls.length, 1)
  })

  it("is not read further than the largest event", async () => {
    const { headers } = signed()
    assert.equal(await post({ body: "x".repeat(2_000_001), headers }), 500)
    assert.equal(handle.mock.calls.length, 0)
  })

  it("is handled again if its handler failed", async () => {
    handle.mockRejectedValueOnce(new Error("The database is unavailable."))
    assert.deepEqual([await post(signed()), await post(signed()), await post(signed())], [500, 204, 204])
    assert.equal(handle.mock.calls.length, 2)
  })

  it("that breaks off ends neither the receiver nor its other requests", async () => {
    const arrived = once(server, "request")
    const broken = request(url, { method: "POST", headers: { "content-length": 100 } }).on("error", () => {})
    broken.write("{")
    await arrived
    broken.destroy()
    assert.equal(await post(signed()), 204)
  })
})
