/**
 * Records a short run of the whole service in memory: concurrent clients, the worker, a network, and webhooks. Clients lose
 * some responses. A run takes a fraction of a second, so a test can repeat it with many seeds and with defects.
 */
import { Inbound } from "@messaging-crm/core/Inbound"
import { Worker } from "@messaging-crm/core/Worker"
import * as Mock from "@messaging-crm/provider-mock"
import { Deferred, Effect, Queue, Random } from "effect"
import { TestClock } from "effect/testing"
import { createOrganization } from "../../../packages/server/testing/TestOrganization.ts"
import type { History, ReceivedDelivery } from "../History.ts"
import { makeRecording, type Recording, request, runClient, sendInbound } from "./Clients.ts"
import type { Defect } from "./Defects.ts"
import { readFinal } from "./Final.ts"
import * as MemoryService from "./Service.ts"

export interface Options {
  readonly seed: number
  readonly defect?: Defect
  readonly clients?: number
  /** The number of requests of each client. */
  readonly calls?: number
  /** The number of webhooks that exist from the beginning. */
  readonly webhooks?: number
}

const inbound_messages = 12

/** Makes a clock whose time is the number of its readings. */
const makeClock = () => {
  let time = 0
  return () => time++
}

/** Runs the worker until the clients are done, and then until no work is left. */
const work = Effect.fnUntraced(function*(isDone: Deferred.Deferred<void>) {
  const worker = yield* Worker
  const { callbacks } = yield* Mock.MockProvider
  for (let idle = 0; idle < 50;) {
    const done = yield* worker.runOnce
    const events = yield* Queue.clear(callbacks)
    for (const event of events) yield* Effect.orDie(Inbound.use((inbound) => inbound.receive(event)))
    yield* Effect.sleep("10 millis")
    idle = done > 0 || events.length > 0 || !(yield* Deferred.isDone(isDone)) ? 0 : idle + 1
  }
})

const createWebhooks = Effect.fnUntraced(function*(recording: Recording, count: number) {
  for (let number = 0; number < count; number++) {
    const body = {
      url: `https://shop.example/first-${number}`,
      event_types: number < 2 ? ["contact.created", "message.sent"] : ["webhook.disabled"]
    }
    const idempotency_key = `webhook ${number}`
    const planned = { operation: "webhooks.create", method: "POST", path: "/webhooks", body, idempotency_key } as const
    yield* request(recording, 0, planned, false)
  }
})

/** Runs the clients and the worker until no work is left. */
const runAll = Effect.fnUntraced(function*(recording: Recording, clients: number, calls: number) {
  const isDone = yield* Deferred.make<void>()
  yield* Effect.all([
    work(isDone),
    Effect.all([
      sendInbound(recording, inbound_messages),
      ...Array.from({ length: clients }, (_, client) => runClient(recording, client, calls))
    ], { concurrency: "unbounded" }).pipe(Effect.andThen(Deferred.succeed(isDone, undefined)))
  ], { concurrency: "unbounded" })
})

const acceptedMessages = Effect.gen(function*() {
  const { accepted } = yield* Mock.MockProvider
  return (yield* accepted).map(({ message, provider_message_id }) => ({
    reference: message.reference,
    provider_message_id,
    recipient: message.recipient,
    text: message.content.text
  }))
})

/** Runs the service in memory, and returns the history. */
export const record = ({ calls = 40, clients = 6, defect = {}, seed, webhooks = 2 }: Options): Effect.Effect<History> =>
  Effect.gen(function*() {
    const now = makeClock()
    const received: Array<ReceivedDelivery> = []
    const { context, handler } = yield* MemoryService.build(defect, now, received)
    return yield* Effect.gen(function*() {
      const organization = yield* Effect.orDie(createOrganization)
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(TestClock.adjust("10 millis"), Effect.yieldNow)))
      const recording = makeRecording(handler, organization, now)
      yield* createWebhooks(recording, webhooks)
      yield* runAll(recording, clients, calls)
      return {
        seed,
        organizations: [{ id: organization.organization_id, final: yield* readFinal(handler, organization) }],
        calls: recording.calls,
        accepted: yield* acceptedMessages,
        inbound: recording.inbound,
        received,
        faults: [],
        unfinished: []
      } satisfies History
    }).pipe(Effect.provideContext(context))
  }).pipe(Random.withSeed(String(seed)), Effect.scoped, Effect.provide(TestClock.layer()))
