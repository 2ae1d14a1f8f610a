/** What several ports promise together: a send from its request to its last report, whatever the provider does. */
import { assert, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ConversationStore } from "@messaging-crm/core/Conversations"
import * as Crm from "@messaging-crm/core/Crm"
import { Ids, type SendId } from "@messaging-crm/core/Ids"
import { Inbound, type MessageReceived, type MessageStatusReported } from "@messaging-crm/core/Inbound"
import { Media } from "@messaging-crm/core/Media"
import { Messages, type MessageStatus, type StatusReport } from "@messaging-crm/core/Messages"
import { ProviderBusy, ProviderRejected, ProviderSilent } from "@messaging-crm/core/MessagingProvider"
import { Phone } from "@messaging-crm/core/Phones"
import { Sends } from "@messaging-crm/core/Sends"
import { Worker } from "@messaging-crm/core/Worker"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "./Fixtures.ts"
import * as Provider from "./Provider.ts"
import { ScriptedProvider } from "./Provider.ts"

/** An organization with a channel, an owner, and a provider that takes everything. */
const begin = Effect.gen(function*() {
  const organization_id = yield* Fixtures.organization
  const channel = yield* Fixtures.channel(organization_id)
  const { id: member_id } = yield* Fixtures.member(organization_id)
  const provider = yield* ScriptedProvider
  yield* provider.answer(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
  const number = String(parseInt((yield* Fixtures.uuid).slice(-10), 16)).padStart(9, "0").slice(0, 9)
  const actor = { organization_id, member_id }
  const as = Effect.provideService(CurrentActor, actor)
  const start = (text = "Kim") =>
    Sends.use((sends) =>
      sends.start({
        channel_id: channel.id,
        phone: Phone.make(`+4915${number}`),
        template: { id: "greeting", components: [{ type: "body", parameters: [{ type: "text", text }] }] }
      })
    ).pipe(as, Effect.orDie)
  const get = (id: SendId) => Sends.use((sends) => sends.get(id)).pipe(as, Effect.orDie)
  const messageOf = Effect.fnUntraced(function*(id: SendId) {
    const { conversation_id, message_id } = yield* get(id)
    if (message_id === null) return assert.fail("The send has no message.")
    return yield* Messages.use((messages) => messages.get(conversation_id, message_id)).pipe(as, Effect.orDie)
  })
  const reported = (id: SendId, report: StatusReport, fields: Partial<MessageStatusReported> = {}) =>
    Inbound.use((inbound) =>
      inbound.receive({
        event: "message_status_reported",
        channel_id: channel.id,
        provider_message_id: `p.${id}`,
        reference: id,
        ...report,
        ...fields
      })
    ).pipe(Effect.orDie)
  const received = (provider_message_id: string, said: Pick<MessageReceived, "media" | "text" | "type">) =>
    Effect.gen(function*() {
      const sent_at = yield* DateTime.now
      const from = { external_id: `+4915${number}`, display_name: "Kim", username: null }
      yield* Inbound.use((inbound) =>
        inbound.receive({
          event: "message_received",
          channel_id: channel.id,
          provider_message_id,
          from,
          ...said,
          sent_at
        })
      ).pipe(Effect.orDie)
    })
  const written = (provider_message_id: string, text: string) =>
    received(provider_message_id, { type: "text", text, media: null })
  return { as, channel, get, messageOf, organization_id, provider, received, reported, start, written }
})

/** Lets the worker do what is due now, until nothing is. */
const work = Effect.gen(function*() {
  const worker = yield* Worker
  while ((yield* worker.runOnce) > 0) continue
})

const asked = Effect.fnUntraced(function*(id: SendId) {
  const deliveries = yield* ScriptedProvider.use((provider) => provider.asked)
  return deliveries.filter(({ reference }) => reference === id).length
})

const permutations = <A>(values: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  values.length === 0 ?
    [[]] :
    values.flatMap((value, index) => permutations(values.toSpliced(index, 1)).map((rest) => [value, ...rest]))

const busy = new ProviderBusy({ reason: "provider_unavailable", retry_after_seconds: null })

export const suite = (storage: Layer.Layer<Crm.StoragePorts, unknown>) => {
  const crm = (dedup: "callback_ref" | "client_ref") =>
    Crm.layer.pipe(Layer.provideMerge(Layer.mergeAll(storage, Provider.layer(dedup), Ids.layer)))

  it.layer(crm("callback_ref"), { timeout: "60 seconds" })("a send", (it) => {
    it.effect("becomes a message once the provider took it", () =>
      Effect.gen(function*() {
        const { get, messageOf, start } = yield* begin
        const { id } = yield* start()
        assert.strictEqual((yield* get(id)).status, "queued")
        yield* work
        assert.strictEqual((yield* get(id)).status, "sent")
        const message = yield* messageOf(id)
        assert.strictEqual(message.text, "Hello Kim")
        assert.strictEqual(message.status, "sent")
        assert.deepStrictEqual(message.sender, { type: "member", name: "Ada" })
        assert.strictEqual(yield* asked(id), 1)
      }))

    it.effect("reaches the provider after those before it in its conversation", () =>
      Effect.gen(function*() {
        const { start } = yield* begin
        const sends = yield* Effect.forEach(["a", "b", "c", "d"], start)
        yield* work
        const order = (yield* ScriptedProvider.use((provider) => provider.asked)).map(({ reference }) => reference)
        const ids = sends.map(({ id }) => id)
        assert.deepStrictEqual(order.filter((reference) => ids.includes(reference)), ids)
      }))

    it.effect("fails for good when the provider refuses", () =>
      Effect.gen(function*() {
        const { get, provider, start } = yield* begin
        yield* provider.answer(() => Effect.fail(new ProviderRejected({ reason: "recipient_unreachable" })))
        const { id } = yield* start()
        yield* work
        const send = yield* get(id)
        assert.strictEqual(send.status, "failed")
        assert.strictEqual(send.failure_reason, "recipient_unreachable")
        assert.isNull(send.message_id)
        assert.strictEqual(yield* asked(id), 1)
      }))

    it.effect("is tried again after 1, 5, 15, 30 and 60 seconds when certainly nothing was sent, and holds up the next", () =>
      Effect.gen(function*() {
        const { get, provider, start } = yield* begin
        yield* provider.answer(() => Effect.fail(busy))
        const [head, next] = [yield* start("a"), yield* start("b")]
        yield* work
        assert.strictEqual((yield* get(head.id)).status, "queued")
        for (const [index, seconds] of [1, 5, 15, 30, 60].entries()) {
          yield* TestClock.adjust(`${seconds * 1000 - 1} millis`)
          yield* work
          assert.strictEqual(yield* asked(head.id), index + 1)
          yield* TestClock.adjust("1 millis")
          yield* work
          assert.strictEqual(yield* asked(head.id), index + 2)
        }
        const ended = yield* get(head.id)
        assert.strictEqual(ended.status, "failed")
        assert.strictEqual(ended.failure_reason, "provider_unavailable")
        // The head's time is up, so the next one had its turn.
        assert.strictEqual(yield* asked(next.id), 1)
        yield* provider.answer(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
        yield* TestClock.adjust("1 seconds")
        yield* work
        assert.strictEqual((yield* get(next.id)).status, "sent")
      }))

    it.effect("waits as long as the provider asks", () =>
      Effect.gen(function*() {
        const { get, provider, start } = yield* begin
        yield* provider.answer(() => Effect.fail(new ProviderBusy({ reason: "rate_limited", retry_after_seconds: 20 })))
        const { id } = yield* start()
        yield* work
        yield* TestClock.adjust("19 seconds")
        yield* work
        assert.strictEqual(yield* asked(id), 1)
        yield* provider.answer(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
        yield* TestClock.adjust("1 seconds")
        yield* work
        assert.strictEqual((yield* get(id)).status, "sent")
      }))

    it.effect("whose answer was lost is not sent again, and a callback with its reference settles it", () =>
      Effect.gen(function*() {
        const { get, messageOf, provider, reported, start } = yield* begin
        yield* provider.answer(() => Effect.fail(new ProviderSilent()))
        const { id } = yield* start()
        yield* work
        assert.strictEqual((yield* get(id)).status, "unknown")
        yield* TestClock.adjust("5 minutes")
        yield* work
        assert.strictEqual(yield* asked(id), 1)
        yield* reported(id, { status: "delivered", at: yield* DateTime.now })
        assert.strictEqual((yield* get(id)).status, "sent")
        assert.strictEqual((yield* messageOf(id)).status, "delivered")
        yield* TestClock.adjust("20 minutes")
        yield* work
        assert.strictEqual((yield* get(id)).status, "sent")
      }))

    it.effect("whose answer was lost fails after 15 minutes without a callback", () =>
      Effect.gen(function*() {
        const { get, provider, reported, start } = yield* begin
        yield* provider.answer(() => Effect.fail(new ProviderSilent()))
        const { id } = yield* start()
        yield* work
        yield* TestClock.adjust("899 seconds")
        yield* work
        assert.strictEqual((yield* get(id)).status, "unknown")
        yield* TestClock.adjust("1 seconds")
        yield* work
        const send = yield* get(id)
        assert.strictEqual(send.status, "failed")
        assert.strictEqual(send.failure_reason, "outcome_unknown")
        yield* reported(id, { status: "delivered", at: yield* DateTime.now })
        assert.deepStrictEqual(yield* get(id), send)
      }))

    it.effect("whose worker died in mid-attempt counts as one whose answer was lost", () =>
      Effect.gen(function*() {
        const { get, provider, reported, start } = yield* begin
        yield* provider.answer(() => Effect.die("killed"))
        const { id } = yield* start()
        yield* work
        assert.strictEqual((yield* get(id)).status, "sending")
        yield* TestClock.adjust("60 seconds")
        yield* WorkQueue.use((queue) => Effect.flatMap(DateTime.now, queue.sweep))
        yield* work
        assert.strictEqual((yield* get(id)).status, "unknown")
        assert.strictEqual(yield* asked(id), 1)
        yield* reported(id, { status: "read", at: yield* DateTime.now })
        assert.strictEqual((yield* get(id)).status, "sent")
      }))

    it.effect("is completed by a callback that comes before the answer", () =>
      Effect.gen(function*() {
        const { get, messageOf, provider, reported, start } = yield* begin
        yield* provider.answer(({ reference }) =>
          Effect.gen(function*() {
            yield* reported(reference, { status: "read", at: yield* DateTime.now })
            return { provider_message_id: `p.${reference}` }
          }).pipe(Effect.provideContext(context))
        )
        const context = yield* Effect.context<Inbound>()
        const { id } = yield* start()
        yield* work
        assert.strictEqual((yield* get(id)).status, "sent")
        assert.strictEqual((yield* messageOf(id)).status, "read")
        assert.strictEqual(yield* asked(id), 1)
      }))
  })

  it.layer(crm("client_ref"), { timeout: "60 seconds" })(
    "a send to a provider that deduplicates by reference",
    (it) => {
      it.effect("is asked for again with the same reference when the answer was lost", () =>
        Effect.gen(function*() {
          const { get, provider, start } = yield* begin
          yield* provider.answer(() => Effect.fail(new ProviderSilent()))
          const { id } = yield* start()
          yield* work
          yield* provider.answer(({ reference }) => Effect.succeed({ provider_message_id: `p.${reference}` }))
          yield* TestClock.adjust("1 seconds")
          yield* work
          assert.strictEqual((yield* get(id)).status, "sent")
          assert.strictEqual(yield* asked(id), 2)
        }))
    }
  )

  it.layer(crm("callback_ref"), { timeout: "60 seconds" })("what a provider reports", (it) => {
    const times = { sent: 1, delivered: 2, read: 3, failed: 4 } as const
    const all: ReadonlyArray<keyof typeof times> = ["sent", "delivered", "read", "failed"]

    it.effect("ends in the same message in all orders, with repeats, early or late", () =>
      Effect.gen(function*() {
        const { messageOf, reported, start } = yield* begin
        const ends = new Set<string>()
        for (const [index, order] of permutations(all).entries()) {
          const { id } = yield* start()
          const reports = [...order, ...order.slice(0, 2)].map((status) => ({
            status,
            at: Fixtures.after(times[status])
          }))
          const early = index % reports.length
          // Without a reference, an early report has nothing to complete and is kept.
          yield* Effect.forEach(reports.slice(0, early), (report) => reported(id, report, { reference: null }))
          yield* work
          yield* Effect.forEach(reports.slice(early), (report) => reported(id, report))
          const { delivered_at, failed_at, read_at, status } = yield* messageOf(id)
          ends.add(JSON.stringify({ delivered_at, failed_at, read_at, status }))
        }
        const status: MessageStatus = "read"
        const [delivered_at, read_at, failed_at] = [2, 3, 4].map(Fixtures.after)
        assert.deepStrictEqual([...ends], [JSON.stringify({ delivered_at, failed_at, read_at, status })])
      }))

    it.effect("gives each message once, however often it is repeated, and reopens the reply window", () =>
      Effect.gen(function*() {
        const { as, organization_id, start, written } = yield* begin
        const { conversation_id } = yield* start()
        yield* work
        for (const id of ["m1", "m2", "m1", "m2", "m1"]) yield* written(id, `text ${id}`)
        const { data } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
        assert.deepStrictEqual(
          data.filter(({ direction }) => direction === "inbound").map(({ text }) => text).toSorted(),
          [
            "text m1",
            "text m2"
          ]
        )
        const row = Option.getOrThrow(
          yield* ConversationStore.use((store) => store.find(organization_id, conversation_id))
        )
        assert.deepStrictEqual(row.last_inbound_at, yield* DateTime.now)
        const reply = Sends.use((sends) => sends.send(conversation_id, { type: "text", text: "Hi" })).pipe(as)
        assert.strictEqual((yield* reply).status, "queued")
        yield* TestClock.adjust("24 hours")
        assert.strictEqual((yield* Effect.flip(reply))._tag, "ReplyWindowClosed")
      }))

    it.effect("brings the file of a message along, and takes it back with the message", () =>
      Effect.gen(function*() {
        const { as, channel, received, start } = yield* begin
        const deleted = (provider_message_id: string) =>
          Inbound.use((inbound) =>
            Effect.flatMap(DateTime.now, (at) =>
              inbound.receive({ event: "message_deleted", channel_id: channel.id, provider_message_id, at }))
          )
        const media = { kind: "image", mime_type: "image/png", filename: "a.png", transcript: null } as const
        const event = { type: "image", text: null, media: { ...media, bytes: Uint8Array.of(1, 2, 3) } } as const
        yield* received("m1", event)
        yield* received("m1", event)
        const { conversation_id } = yield* start()
        const listed = Effect.map(
          Messages.use((messages) =>
            messages.list(conversation_id, null)
          ).pipe(as),
          ({ data }) => data
        )
        const data = yield* listed
        const { url, ...described } = Option.getOrThrow(Option.fromNullishOr(data[0]?.media))
        assert.lengthOf(data, 1)
        assert.deepStrictEqual(described, { ...media, byte_size: 3 })
        const opened = Media.use(({ open }) => open((url ?? "").slice("/media/".length)))
        assert.deepStrictEqual(Array.from((yield* opened).file.bytes), [1, 2, 3])
        yield* deleted("m1")
        assert.strictEqual((yield* Effect.flip(opened))._tag, "MediaNotFound")
        // A deletion that came before its message.
        yield* deleted("m2")
        yield* received("m2", event)
        assert.deepStrictEqual((yield* listed).map(({ media }) => media), [null, null])
      }))

    it.effect("makes one contact and one conversation of many first messages at once", () =>
      Effect.gen(function*() {
        const { as, start, written } = yield* begin
        yield* Effect.all(Array.from({ length: 12 }, (_, index) => written(`m${index}`, "Hello?")), {
          concurrency: "unbounded"
        })
        const { conversation_id } = yield* start()
        const { data } = yield* Messages.use((messages) => messages.list(conversation_id, null)).pipe(as)
        assert.lengthOf(data.filter(({ direction }) => direction === "inbound"), 12)
      }))
  })
}
