/** Addresses that a callback names: none of this machine or of a private network gets a request. */
import { assert, layer } from "@effect/vitest"
import * as Downloads from "@messaging-crm/adapter-http/Downloads"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import { messageEntry, messengerEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { over, Received, recorder } from "./Network.ts"

const channel_id = "01990000-0000-7000-8000-000000000001"
const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const seconds = noon.epochMilliseconds / 1000

/** Starts a server that records the headers of requests, and responds with a secret. */
const listener = Effect.fnUntraced(function*() {
  const heard: Array<IncomingHttpHeaders> = []
  const server = createServer((request, response) => {
    heard.push(request.headers)
    response.end("a secret")
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close())
  )
  // A listening TCP server has a port.
  return { heard, port: (server.address() as AddressInfo).port }
})

const said = (item: Record<string, unknown>) =>
  messageEntry(channel_id, { wa_id: "4915112345678" }, {
    id: `wamid.${JSON.stringify(item)}`,
    timestamp: String(seconds),
    ...item
  })

const attached = (type: string) => (url: string) =>
  messengerEntry("page", {
    account: channel_id,
    person: "24601",
    timestamp: seconds * 1000,
    event: { message: { mid: `m.${type}.${url}`, attachments: [{ type, payload: { url } }] } }
  })

const entries = {
  document: (url: string) => said({ type: "document", document: { url, filename: "a.pdf" } }),
  picture: attached("image"),
  file: attached("file")
}

const bytes = Effect.map(
  Received.use(({ clear }) => clear),
  (events) => events.map((event) => event.event === "message_received" ? event.media?.bytes : event)
)

const hosts = [
  "127.0.0.1",
  "2130706433",
  "localhost",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "0.0.0.0",
  "10.0.0.1",
  "169.254.169.254",
  "[fd00:ec2::254]"
]

layer(over(recorder, Downloads.layer()))("an address that is not public", (it) => {
  for (const [name, entry] of Object.entries(entries)) {
    it.effect(`gets no request for a ${name}, and the message is stored without it`, () =>
      Effect.gen(function*() {
        yield* TestClock.setTime(noon.epochMilliseconds)
        const fake = yield* FakeGraph
        const { heard, port } = yield* listener()
        for (const url of hosts.flatMap((host) => [`http://${host}:${port}/latest/`, `https://${host}:${port}/`])) {
          yield* fake.enqueue(entry(url))
          assert.deepStrictEqual(yield* fake.post(), [200], url)
          assert.deepStrictEqual(yield* bytes, [null], url)
        }
        assert.lengthOf(heard, 0)
      }))
  }

  it.effect("gets no request where a network's own link leads there", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(noon.epochMilliseconds)
      const fake = yield* FakeGraph
      const id = yield* fake.addFile(new Uint8Array([1]), "image/png")
      yield* fake.enqueue(said({ type: "image", image: { id } }))
      assert.deepStrictEqual(yield* fake.post(), [200])
      assert.deepStrictEqual(yield* bytes, [null])
    }))
})
