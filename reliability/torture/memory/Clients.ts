/** The clients and the contacts of a run in memory, which record their random requests and their messages. */
import { Inbound } from "@messaging-crm/core/Inbound"
import { DateTime, Effect, Random } from "effect"
import { pick } from "../../../packages/server/testing/Pick.ts"
import type { TestOrganization } from "../../../packages/server/testing/TestOrganization.ts"
import type { Call, InboundMessage } from "../History.ts"
import * as RandomRequests from "../run/RandomRequests.ts"
import { type PlannedRequest, readResponse } from "../run/Recorder.ts"
import { addSeen, makeSeenResources, type SeenResources } from "../run/SeenResources.ts"
import type { Handler } from "./Service.ts"

/** Two ordinary numbers, and one for each behavior of the mock network that ends a send within a short run. */
const phones = ["+491511234567", "+491511234568", "+491510000002", "+491510000003", "+491510000007"]

/** The calls and inbound messages so far. */
export interface Recording {
  readonly handler: Handler
  readonly organization: TestOrganization
  /** Returns the number of recorded times, as the time. */
  readonly now: () => number
  readonly calls: Array<Call>
  readonly inbound: Array<InboundMessage>
  readonly seen: SeenResources
}

export const makeRecording = (handler: Handler, organization: TestOrganization, now: () => number): Recording => {
  const { channel, member_id } = organization
  let number = 0
  const seen = makeSeenResources({
    channel_id: channel.id,
    member_id,
    template_id: `${channel.phone_messaging_business_account_id}.order_ready`,
    phones,
    newUrl: () => `https://shop.example/${number++}`
  })
  return { handler, organization, now, calls: [], inbound: [], seen }
}

/** Makes a call, and returns its response; null if the client loses it. */
export const request = Effect.fnUntraced(function*(
  { calls, handler, now, organization: { key, key_id }, seen }: Recording,
  client: number,
  planned: PlannedRequest,
  isLost: boolean
) {
  const { body = null, idempotency_key = null, method, operation, path } = planned
  const request_id = `r-${calls.length}`
  const call: Call = {
    client,
    index: calls.length,
    organization: 0,
    operation,
    request: { method, path, body, idempotency_key, request_id, key_id },
    started_at: now(),
    ended_at: null,
    response: null
  }
  calls.push(call)
  const headers = new Headers({ authorization: `Bearer ${key}`, "x-request-id": request_id })
  if (idempotency_key !== null) headers.set("idempotency-key", idempotency_key)
  if (body !== null) headers.set("content-type", "application/json")
  const init = { method, headers, ...(body === null ? {} : { body: JSON.stringify(body) }) }
  const received = yield* Effect.promise(() => handler(new Request(`http://localhost/v1${path}`, init)))
  const response = yield* Effect.promise(() => readResponse(received))
  if (isLost) return null
  calls[call.index] = { ...call, ended_at: now(), response }
  addSeen(seen, planned, response)
  return response
})

/** Makes a call, and repeats one with an idempotency key after a lost response and sometimes after a response. */
const requestAndRepeat = Effect.fnUntraced(function*(recording: Recording, client: number, planned: PlannedRequest) {
  const isWrite = planned.idempotency_key !== undefined
  const chance = yield* Random.next
  const first = yield* request(recording, client, planned, isWrite && chance < 0.15)
  if ((first === null && chance > 0.03) || (isWrite && chance > 0.9)) {
    yield* request(recording, client, planned, false)
  }
})

/** Makes random requests, one after another. */
export const runClient = Effect.fnUntraced(function*(recording: Recording, client: number, requests: number) {
  let unique = 0
  for (let number = 0; number < requests; number++) {
    const planned = yield* RandomRequests.next(recording.seen, (prefix) => `${prefix} ${client}-${unique++}`)
    yield* requestAndRepeat(recording, client, planned)
  }
})

const receive = (event: Parameters<Inbound["Service"]["receive"]>[0]) =>
  Effect.orDie(Inbound.use((inbound) => inbound.receive(event)))

const pause = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

/** Delivers inbound messages. Their authors delete and edit each third one. */
export const sendInbound = Effect.fnUntraced(function*({ inbound, now, organization }: Recording, messages: number) {
  const channel_id = organization.channel.id
  for (let number = 0; number < messages; number++) {
    const from = yield* pick(phones)
    const provider_message_id = `inbound-${number}`
    const text = `hello ${number}`
    const started_at = now()
    const at = yield* DateTime.now
    yield* receive({
      event: "message_received",
      channel_id,
      provider_message_id,
      from: { external_id: from, display_name: null, username: null },
      type: "text",
      text,
      media: null,
      sent_at: at
    })
    const message = { organization: 0, channel_id, provider_message_id, from, text }
    inbound.push({ ...message, started_at, acknowledged_at: now() })
    const change = { channel_id, provider_message_id, at } as const
    if (number % 3 === 1) yield* receive({ event: "message_deleted", ...change })
    yield* pause
    if (number % 3 === 1) yield* receive({ event: "message_edited", ...change, text: "edited" })
    yield* pause
  }
})
