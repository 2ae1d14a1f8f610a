/** Tests of the callback endpoint: signatures, size limits, and stored events. */
import { assert, layer } from "@effect/vitest"
import { limits } from "@messaging-crm/core/Limits"
import * as Callback from "@messaging-crm/provider-cloud/Callback"
import { body_bytes_max, path, unverified_bytes_max } from "@messaging-crm/provider-cloud/Ingress"
import { DateTime, Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { request as httpRequest } from "node:http"
import { bodyOf, messageEntry, messengerEntry, statusEntry } from "../src/fake/CallbackBodies.ts"
import { FakeGraph } from "../src/fake/FakeGraph.ts"
import { sign } from "../src/SignedBodies.ts"
import { app, otherApp, over, Received, recorder } from "./Network.ts"

const channel_id = "01990000-0000-7000-8000-000000000001"
const other_channel_id = "01990000-0000-7000-8000-000000000002"
const noon = DateTime.makeUnsafe("2026-11-20T12:00:00.000Z")
const seconds = noon.epochMilliseconds / 1000

let last = 0
const text = (body: string, more: object = {}, wa_id = "4915112345678") =>
  messageEntry(channel_id, { wa_id }, {
    id: `wamid.${++last}`,
    timestamp: String(seconds),
    type: "text",
    text: { body },
    ...more
  })

const bytes = (text: string) => new TextEncoder().encode(text)

const request = (init: RequestInit & { readonly duplex?: "half" }, query = "") =>
  FakeGraph.use(({ url }) =>
    Effect.promise(async (signal) => {
      const response = await fetch(`${url}${path}${query}`, { ...init, signal })
      return { status: response.status, text: await response.text() }
    })
  )

const texts = Effect.map(
  Received.use(({ clear }) => clear),
  (events) => events.map((event) => event.event === "message_received" ? event.text : event.event)
)

layer(over(recorder))("the callback endpoint", (it) => {
  it.effect("the handshake returns the challenge only for the verify token of one of the apps", () =>
    Effect.gen(function*() {
      const ask = (query: Record<string, string>) => request({}, `?${new URLSearchParams(query)}`)
      const good = {
        "hub.mode": "subscribe",
        "hub.verify_token": Redacted.value(app.verify_token),
        "hub.challenge": "1158201444"
      }
      for (const { verify_token } of [app, otherApp]) {
        const query = { ...good, "hub.verify_token": Redacted.value(verify_token) }
        assert.deepStrictEqual(yield* ask(query), { status: 200, text: "1158201444" })
      }
      assert.strictEqual((yield* ask({ ...good, "hub.verify_token": "another word" })).status, 403)
      assert.strictEqual((yield* ask({ ...good, "hub.verify_token": "the app's wore" })).status, 403)
      assert.strictEqual((yield* ask({ ...good, "hub.mode": "unsubscribe" })).status, 403)
      assert.strictEqual((yield* ask({})).status, 403)
    }))

  it.effect("a body without the right signature is rejected before it is parsed", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const body = bytes(bodyOf([text("forged")]))
      for (const signature of ["", "sha256=", `sha256=${"0".repeat(64)}`, `sha1=${"0".repeat(40)}`, "0".repeat(64)]) {
        assert.strictEqual(yield* fake.postRaw(body, signature), 401)
        assert.strictEqual(yield* fake.postRaw(bytes("not even JSON"), signature), 401)
      }
      assert.strictEqual((yield* request({ method: "POST", body })).status, 401)
      assert.deepStrictEqual(yield* texts, [])
    }))

  it.effect("every app can sign a body, but only for its own accounts", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const body = bytes(bodyOf([text("signed")]))
      assert.strictEqual(yield* fake.postRaw(body, yield* sign(otherApp.secret, body)), 200)
      assert.deepStrictEqual(yield* texts, [])
      assert.strictEqual(yield* fake.postRaw(body, yield* sign(app.secret, body)), 200)
      assert.deepStrictEqual(yield* texts, ["signed"])
    }))

  it.effect("a body without a signature is rejected before it arrives", () =>
    Effect.gen(function*() {
      const { url } = yield* FakeGraph
      const status = yield* Effect.callback<number | undefined>((resume) => {
        const headers = { "content-length": body_bytes_max }
        const sent = httpRequest(`${url}${path}`, { method: "POST", headers }, ({ statusCode }) =>
          resume(Effect.succeed(statusCode)))
        sent.on("error", () => {})
        sent.flushHeaders()
        return Effect.sync(() =>
          sent.destroy()
        )
      })
      assert.strictEqual(status, 401)
    }))

  it.effect("a signed body that is not a callback is rejected", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      assert.strictEqual(yield* fake.postRaw(bytes("not JSON")), 400)
      assert.strictEqual(yield* fake.postRaw(bytes("{}")), 200)
    }))

  it.effect("a body of 4 MB is accepted, a larger one rejected", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const body = bodyOf([text("large")])
      const padded = (size: number) => bytes(body + " ".repeat(size - body.length))
      assert.strictEqual(yield* fake.postRaw(padded(body_bytes_max)), 200)
      assert.strictEqual(yield* fake.postRaw(padded(body_bytes_max + 1)), 413)
      const slices = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536))
      })
      const headers = { "x-hub-signature-256": `sha256=${"0".repeat(64)}` }
      const streamed = yield* Effect.exit(request({ method: "POST", headers, body: slices, duplex: "half" }))
      assert.isTrue(streamed._tag === "Failure" || streamed.value.status === 413)
      assert.deepStrictEqual(yield* texts, ["large"])
    }))

  it.effect("signed bodies are accepted while others that do not arrive use all memory of unverified ones", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const { url } = fake
      const headers = { "x-hub-signature-256": `sha256=${"0".repeat(64)}`, "content-length": body_bytes_max }
      const statuses: Array<number | undefined> = []
      // Each sends its body without the last byte, and then waits.
      const stalled = Array.from({ length: unverified_bytes_max / body_bytes_max + 1 }, () => {
        const sent = httpRequest(`${url}${path}`, { method: "POST", headers }, ({ statusCode }) => {
          statuses.push(statusCode)
        })
        sent.on("error", () => {})
        sent.write(new Uint8Array(body_bytes_max - 1))
        return sent
      })
      const post = Effect.andThen(TestClock.adjust("1 second"), fake.postRaw(bytes(`{}${" ".repeat(100)}`)))
      const accepted = yield* Effect.repeat(post, {
        while: (status) => status === 200 && statuses.length < stalled.length
      })
      assert.strictEqual(accepted, 200)
      assert.deepStrictEqual(statuses, stalled.map(() => 503))
      for (const sent of stalled) sent.destroy()
      // A client that sends nothing occupies no bytes.
      const silent = Array.from({ length: 20 }, () => {
        const sent = httpRequest(`${url}${path}`, { method: "POST", headers })
        sent.on("error", () => {})
        sent.flushHeaders()
        return sent
      })
      assert.strictEqual(yield* fake.postRaw(bytes("{}")), 200)
      for (const sent of silent) sent.destroy()
    }))
})

layer(over(recorder))("the items of a signed body", (it) => {
  it.effect("a thousand items of several channels in one body are each accepted once, and in order for each person", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const entries = Array.from({ length: 1000 }, (_, index) => text(String(index)))
      yield* fake.enqueue(...entries)
      assert.deepStrictEqual(yield* fake.post({ batch: 1000 }), [200])
      assert.deepStrictEqual(yield* texts, entries.map((_, index) => String(index)))
    }))

  it.effect("two of everything: entries, changes, numbers, people, messages, and statuses", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const both = [1, 2]
      const expected: Array<string> = []
      const entries = both.map((entry) => ({
        id: String(entry),
        changes: both.flatMap((change) => {
          const phone_number_id = change === 1 ? channel_id : other_channel_id
          const metadata = { display_phone_number: "15550783881", phone_number_id }
          const idOf = (item: number) => `wamid.${entry}.${change}.${item}`
          const value = { messaging_product: "whatsapp", metadata }
          const messages = both.map((item) => ({
            id: idOf(item),
            from: `491511234567${item}`,
            timestamp: String(seconds),
            type: "text",
            text: { body: idOf(item) }
          }))
          const contacts = messages.map(({ from }) => ({ wa_id: from, profile: { name: from } }))
          const statuses = both.map((item) => ({
            id: idOf(item),
            status: "read",
            timestamp: String(seconds),
            recipient_id: `491511234567${item}`
          }))
          return [
            { field: "messages", value: { ...value, contacts, messages } },
            { field: "messages", value: { ...value, statuses } }
          ]
        })
      }))
      for (const entry of both) {
        for (const [change, channel] of [channel_id, other_channel_id].entries()) {
          for (const item of both) {
            const id = `wamid.${entry}.${change + 1}.${item}`
            expected.push(`${channel} message_received ${id} 491511234567${item}`)
            expected.push(`${channel} message_status_reported ${id}`)
          }
        }
      }
      const whatsApp = bytes(JSON.stringify({ object: "whatsapp_business_account", entry: entries }))
      assert.strictEqual(yield* fake.postRaw(whatsApp, yield* sign(app.secret, whatsApp)), 200)
      const messenger = bytes(JSON.stringify({
        object: "page",
        entry: [channel_id, other_channel_id].map((id) => ({
          id,
          time: seconds * 1000,
          messaging: both.map((item) => ({
            sender: { id: `2460${item}` },
            recipient: { id },
            timestamp: seconds * 1000,
            message: { mid: `m.${id}.${item}`, text: "hi" }
          }))
        }))
      }))
      for (const id of [channel_id, other_channel_id]) {
        for (const item of both) expected.push(`${id} message_received m.${id}.${item} 2460${item}`)
      }
      assert.strictEqual(yield* fake.postRaw(messenger, yield* sign(app.secret, messenger)), 200)
      const events = yield* Received.use(({ clear }) => clear)
      const found = events.map((event) => {
        const id = "provider_message_id" in event ? event.provider_message_id : ""
        const from = event.event === "message_received" ? ` ${event.from.external_id.replace("+", "")}` : ""
        return `${event.channel_id} ${event.event} ${id}${from}`
      })
      assert.deepStrictEqual(found.toSorted(), expected.toSorted())
      // The endpoint splits bodies, and `parse` also reads a body that is not split.
      const parsed = [whatsApp, messenger].map((body) =>
        Callback.parse(new TextDecoder().decode(body), { received_at: noon })
      )
      assert.lengthOf(parsed.flatMap((each) => Option.getOrThrow(each).events), expected.length)
    }))

  it.effect("callbacks of three channels arrive at one address", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const event = { message: { mid: "m_1", text: "hi" } }
      const messaging = { account: other_channel_id, person: "24601", timestamp: seconds * 1000, event }
      yield* fake.enqueue(text("phone"), messengerEntry("page", messaging), messengerEntry("instagram", messaging))
      assert.deepStrictEqual(yield* fake.post(), [200, 200, 200])
      const events = yield* Received.use(({ clear }) => clear)
      assert.deepStrictEqual(events.map(({ channel_id }) => String(channel_id)), [
        channel_id,
        other_channel_id,
        other_channel_id
      ])
    }))

  it.effect("a callback of an unconnected account gets 200, so that the network does not repeat it for days", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      yield* fake.enqueue(
        messageEntry("106540352242922", { wa_id: "1" }, { id: "wamid.x", type: "text" }),
        text("known")
      )
      assert.deepStrictEqual(yield* fake.post({ batch: 2 }), [200])
      assert.deepStrictEqual(yield* texts, ["known"])
    }))

  it.effect("files arrive with their messages, even if the first links have expired", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(noon.epochMilliseconds)
      const fake = yield* FakeGraph
      const file = bytes("a file")
      const id = yield* fake.addFile(file, "application/pdf")
      yield* fake.expireNextLinks(2)
      yield* fake.enqueue(
        text("", { type: "document", document: { id, mime_type: "application/pdf", filename: "a.pdf" } })
      )
      assert.deepStrictEqual(yield* fake.post(), [200])
      const [event] = yield* Received.use(({ clear }) => clear)
      assert.deepInclude(event, {
        type: "document",
        media: { kind: "document", mime_type: "application/pdf", filename: "a.pdf", transcript: null, bytes: file }
      })
    }))

  it.effect("a missing or oversized file does not prevent its message", () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(noon.epochMilliseconds)
      const fake = yield* FakeGraph
      const large = yield* fake.addFile(new Uint8Array(limits.media_bytes_max + 1), "video/mp4")
      const expired = yield* fake.addFile(bytes("a file"), "video/mp4")
      for (const id of ["404", large]) {
        yield* fake.enqueue(text("", { type: "video", video: { id } }))
        assert.deepStrictEqual(yield* fake.post(), [200])
      }
      yield* fake.expireNextLinks(3)
      yield* fake.enqueue(text("", { type: "video", video: { id: expired } }))
      assert.deepStrictEqual(yield* fake.post(), [200])
      const events = yield* Received.use(({ clear }) => clear)
      assert.deepStrictEqual(
        events.map((event) => event.event === "message_received" ? event.media?.bytes : event),
        [null, null, null]
      )
    }))

  it.effect("a body with an event that fails gets 500 after those of other people were accepted", () =>
    Effect.gen(function*() {
      const fake = yield* FakeGraph
      const core = yield* Received
      yield* core.breakOn((event) => event.event === "message_received" && event.text === "second")
      const status = statusEntry(channel_id, {
        id: "wamid.1",
        status: "read",
        timestamp: seconds,
        recipient_id: "1",
        reference: null
      })
      yield* fake.enqueue(text("first"), text("second"), text("third"), text("other", {}, "4915112345679"), status)
      assert.deepStrictEqual(yield* fake.post({ batch: 10 }), [500])
      assert.sameMembers(Array.from(yield* texts), ["first", "other", "message_status_reported"])
      yield* core.breakOn(() => false)
      assert.deepStrictEqual(yield* fake.post({ batch: 10 }), [200])
      assert.includeMembers(Array.from(yield* texts), ["second", "third"])
      assert.deepStrictEqual(yield* fake.waiting, [])
    }))
})
