/**
 * Records a short run of the whole service in memory: concurrent clients, the worker, a network, and a webhook. Clients lose
 * some answers. It takes a fraction of a second, so a test can run it with many seeds and with defects.
 */
import * as Http from "@messaging-crm/adapter-http"
import { stores } from "@messaging-crm/adapter-memory"
import { World } from "@messaging-crm/adapter-memory/World"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { Audit } from "@messaging-crm/core/Audit"
import * as Crm from "@messaging-crm/core/Crm"
import { ConflictBackoff } from "@messaging-crm/core/Decide"
import type { SendId, WebhookId } from "@messaging-crm/core/Ids"
import { Inbound } from "@messaging-crm/core/Inbound"
import { SendStore } from "@messaging-crm/core/Sends"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { WebhookStore } from "@messaging-crm/core/Webhooks"
import { WebhookTransport } from "@messaging-crm/core/WebhookTransport"
import { Worker } from "@messaging-crm/core/Worker"
import * as Mock from "@messaging-crm/provider-mock"
import { Context, DateTime, Deferred, Duration, Effect, Layer, Option, Queue, Random, References } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { TestClock } from "effect/testing"
import { pick } from "../Pick.ts"
import type { Defect } from "./Defects.ts"
import type { Call, FinalState, History, InboundMessage, ReceivedDelivery, Resource } from "./History.ts"
import { type MemoryRequest, phones, type Scene, SeenResources, setUp, wishes } from "./MemoryWishes.ts"
import { answerOf } from "./Recorder.ts"
import { isSuccess, resourcesIn } from "./Requests.ts"

type Handler = (request: Request) => Promise<Response>

/** A world in which other fibers continue before each step. */
const interleaved = Layer.effect(
  World,
  Effect.map(World, ({ modify, read }) => {
    const pause = Effect.flatMap(
      Random.nextIntBetween(0, 3),
      (times) => Effect.forEach(Array.from({ length: times }), () => Effect.yieldNow, { discard: true })
    )
    return World.of({
      read: (query) => Effect.andThen(pause, read(query)),
      modify: (change) => Effect.andThen(pause, modify(change))
    })
  })
).pipe(Layer.provide(World.layer))

/** Makes a clock whose times count what was recorded. */
const makeClock = () => {
  let time = 0
  return () => time++
}

/** Records what is posted to webhooks. Each request succeeds. */
const receiving = (now: () => number, received: Array<ReceivedDelivery>) =>
  Layer.succeed(WebhookTransport, {
    post: ({ body, headers, url }) =>
      Effect.sync(() => {
        received.push({
          organization: 0,
          endpoint: new URL(url).pathname,
          event_id: headers["webhook-id"] ?? "",
          text: body,
          at: now(),
          status: 200,
          is_signed: null
        })
        return { status: 200, body: "", retry_after: null }
      })
  })

/** Makes requests and records them. */
class Recording {
  readonly calls: Array<Call> = []
  readonly inbound: Array<InboundMessage> = []
  readonly known = new SeenResources()
  readonly #handler: Handler
  readonly #scene: Scene
  readonly now: () => number

  constructor(handler: Handler, scene: Scene, now: () => number) {
    this.#handler = handler
    this.#scene = scene
    this.now = now
  }

  readonly request = Effect.fnUntraced(function*(
    this: Recording,
    client: number,
    wish: MemoryRequest,
    idempotency_key: string | null,
    isLost: boolean
  ) {
    const { body, method, operation, path } = wish
    const { key, key_id } = this.#scene
    const request_id = `r-${this.calls.length}`
    const call: Call = {
      client,
      index: this.calls.length,
      organization: 0,
      operation,
      request: { method, path, body, idempotency_key, request_id, key_id },
      started_at: this.now(),
      ended_at: null,
      answer: null
    }
    this.calls.push(call)
    const headers = new Headers({ authorization: `Bearer ${key}`, "x-request-id": request_id })
    if (idempotency_key !== null) headers.set("idempotency-key", idempotency_key)
    if (body !== null) headers.set("content-type", "application/json")
    const init = { method, headers, ...(body === null ? {} : { body: JSON.stringify(body) }) }
    const response = yield* Effect.promise(() => this.#handler(new Request(`http://localhost/v1${path}`, init)))
    const answer = yield* Effect.promise(() => answerOf(response))
    if (isLost) return null
    this.calls[call.index] = { ...call, ended_at: this.now(), answer }
    if (isSuccess(answer)) {
      for (const resource of resourcesIn(answer.body)) this.known.learn(operation, resource)
    }
    return answer
  })

  /** Makes a request, again if its answer is lost, and sometimes although it is not. */
  readonly fulfill = Effect.fnUntraced(function*(this: Recording, client: number, wish: MemoryRequest, unique: string) {
    const isWrite = wish.method !== "GET"
    const chance = yield* Random.next
    const repeat = this.request(client, wish, isWrite ? unique : null, false)
    const first = yield* this.request(client, wish, isWrite ? unique : null, isWrite && chance < 0.15)
    if ((first === null && chance > 0.03) || (isWrite && chance > 0.9)) yield* repeat
  })

  readonly client = Effect.fnUntraced(function*(this: Recording, client: number, calls: number) {
    for (let number = 0; number < calls; number++) {
      const unique = `client-${client}-${number}`
      const wish = yield* yield* pick(wishes(this.known, this.#scene, unique))
      yield* this.fulfill(client, wish, unique)
    }
  })

  /** People write, and change and delete what they wrote. */
  readonly people = Effect.fnUntraced(function*(this: Recording, messages: number) {
    const { channel: { id: channel_id } } = this.#scene
    const pause = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })
    const receive = (event: Parameters<Inbound["Service"]["receive"]>[0]) =>
      Effect.orDie(Inbound.use((inbound) => inbound.receive(event)))
    for (let number = 0; number < messages; number++) {
      const from = yield* pick(phones)
      const provider_message_id = `inbound-${number}`
      const said = { organization: 0, channel_id, provider_message_id, from, text: `hello ${number}` }
      const started_at = this.now()
      const at = yield* DateTime.now
      yield* receive({
        event: "message_received",
        channel_id,
        provider_message_id,
        from: { external_id: from, display_name: null, username: null },
        type: "text",
        text: said.text,
        media: null,
        sent_at: at
      })
      this.inbound.push({ ...said, started_at, acknowledged_at: this.now() })
      const about = { channel_id, provider_message_id, at } as const
      if (number % 3 === 1) yield* receive({ event: "message_deleted", ...about })
      yield* pause
      if (number % 3 === 1) yield* receive({ event: "message_edited", ...about, text: "edited" })
      yield* pause
    }
  })
}

/** Takes turns with the clients until they are done, and then until nothing is left to do. */
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

const everyDelivery = 100_000

const noFilter = { resource_id: null, key_id: null, member_id: null, before: null }

/** Reads what is stored. */
const readFinal = Effect.fnUntraced(function*(handler: Handler, { as, key, organization_id }: Scene) {
  const list = Effect.fnUntraced(function*(path: string) {
    const rows: Array<Resource> = []
    for (let cursor: string | null = ""; cursor !== null;) {
      const url: string = `http://localhost/v1${path}${
        cursor === "" ? "" : `${path.includes("?") ? "&" : "?"}cursor=${cursor}`
      }`
      const body: { readonly data: ReadonlyArray<Resource>; readonly next_cursor: string | null } = yield* Effect
        .promise(
          async () => (await handler(new Request(url, { headers: { authorization: `Bearer ${key}` } }))).json()
        )
      rows.push(...body.data)
      cursor = body.next_cursor
    }
    return rows
  })
  const plain = (value: unknown): ReadonlyArray<Resource> => JSON.parse(JSON.stringify(value))
  const conversations = yield* list("/conversations")
  // The API lists the 100 most recent.
  const webhooks = plain(yield* WebhookStore.use((store) => store.list(organization_id, { status: null }, 100_000)))
  const deliveries = yield* Effect.forEach(webhooks, ({ id }) =>
    Effect.map(
      WebhookDeliveryStore.use((store) => store.list(organization_id, id as WebhookId, everyDelivery) // the API returns IDs
      ),
      (rows) => [String(id), plain(rows)] as const
    ))
  const sends = yield* list("/sends")
  const outgoing = yield* Effect.forEach(
    sends,
    ({ id }) => SendStore.use((store) => store.load(organization_id, id as SendId)) // the API returns IDs
  )
  const messages = yield* Effect.forEach(
    conversations,
    ({ id }) => Effect.map(list(`/conversations/${id}/messages`), (rows) => [String(id), rows] as const)
  )
  return {
    contacts: yield* list("/contacts"),
    tags: yield* list("/tags"),
    conversations,
    messages: Object.fromEntries(messages),
    sends,
    uncertain_sends: outgoing.flatMap(Option.toArray).flatMap(({ send }) => send.may_be_sent ? [send.id] : []),
    events: yield* list("/events"),
    webhooks,
    deliveries: Object.fromEntries(deliveries),
    audit: plain(yield* as(Audit.use((audit) => audit.list(noFilter, 100_000))))
  } satisfies FinalState
})

export interface Options {
  readonly seed: number
  readonly defect?: Defect
  readonly clients?: number
  /** Requests of each client. */
  readonly calls?: number
  /** Webhooks that exist from the beginning. */
  readonly webhooks?: number
}

/** Runs the service in memory, and returns the history. */
export const record = (
  {
    calls = 40,
    clients = 6,
    defect: {
      instead = Layer.empty,
      provider = Mock.layer,
      storage = stores,
      transport = Layer.effect(WebhookTransport, WebhookTransport)
    } = {},
    seed,
    webhooks = 2
  }: Options
): Effect.Effect<History> =>
  Effect.gen(function*() {
    const now = makeClock()
    const received: Array<ReceivedDelivery> = []
    const crm = Crm.layer.pipe(Layer.provideMerge(Layer.mergeAll(
      Layer.provideMerge(storage, interleaved),
      provider,
      Layer.provideMerge(transport, receiving(now, received))
    )))
    const tuning = Layer.mergeAll(
      Layer.succeed(References.MinimumLogLevel, "None"),
      Layer.succeed(RequestsPerMinute, 1_000_000),
      // Pauses of a part of a millisecond would make times that no real clock shows.
      Layer.succeed(ConflictBackoff, Duration.zero)
    )
    const context = yield* Layer.build(Layer.provideMerge(crm, tuning))
    const app = Layer.provideMerge(
      instead,
      Layer.mergeAll(Layer.succeedContext(context), Layer.succeedContext(yield* Effect.context<never>()))
    )
    const { dispose, handler: handle } = HttpRouter.toWebHandler(
      Http.layer.pipe(Layer.provideMerge(app), Layer.provide(HttpServer.layerServices)),
      { routerConfig: Http.routerConfig, disableLogger: true }
    )
    yield* Effect.addFinalizer(() => Effect.promise(dispose))
    const handler: Handler = (request) => handle(request, Context.empty() as never)
    return yield* Effect.gen(function*() {
      const scene = yield* Effect.orDie(setUp)
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(TestClock.adjust("10 millis"), Effect.yieldNow)))
      const recording = new Recording(handler, scene, now)
      for (let number = 0; number < webhooks; number++) {
        const body = {
          url: `https://shop.example/first-${number}`,
          event_types: number < 2 ? ["contact.created", "message.sent"] : ["webhook.disabled"]
        }
        const wish = { operation: "webhooks.create", method: "POST", path: "/webhooks", body } as const
        yield* recording.request(0, wish, `webhook ${number}`, false)
      }
      const isDone = yield* Deferred.make<void>()
      yield* Effect.all([
        work(isDone),
        Effect.all([
          recording.people(12),
          ...Array.from({ length: clients }, (_, client) => recording.client(client, calls))
        ], { concurrency: "unbounded" }).pipe(Effect.andThen(Deferred.succeed(isDone, undefined)))
      ], { concurrency: "unbounded" })
      const { accepted } = yield* Mock.MockProvider
      return {
        seed,
        organizations: [{ id: scene.organization_id, final: yield* readFinal(handler, scene) }],
        calls: recording.calls,
        accepted: (yield* accepted).map(({ message, provider_message_id }) => ({
          reference: message.reference,
          provider_message_id,
          recipient: message.recipient,
          text: message.content.text
        })),
        inbound: recording.inbound,
        received,
        faults: [],
        unfinished: []
      } satisfies History
    }).pipe(Effect.provideContext(context))
  }).pipe(Random.withSeed(String(seed)), Effect.scoped, Effect.provide(TestClock.layer()))
