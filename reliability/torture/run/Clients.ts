/** The clients of a run: they make random requests, and repeat each one until its outcome is known. */
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { MemberId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Random, Redacted, Ref } from "effect"
import { pick } from "../../../packages/server/testing/Pick.ts"
import * as Callbacks from "../../../packages/server/testing/processes/Callbacks.ts"
import type { InboundMessage, RecordedResponse } from "../History.ts"
import type { Installation } from "./Cluster.ts"
import type { Operators } from "./Operators.ts"
import * as RandomRequests from "./RandomRequests.ts"
import type { Caller, Key, PlannedRequest, Recorder } from "./Recorder.ts"
import { addSeen, type SeenResources } from "./SeenResources.ts"

/** Returns whether the outcome of a request is still unknown, so that its client must repeat it. */
const isOutcomeUnknown = (response: RecordedResponse | null): boolean =>
  response === null || response.status >= 500 || response.status === 429 || response.status === 401
  || (response.status === 409 && response.retry_after_seconds !== null)

const isRepeatable = ({ idempotency_key, method }: PlannedRequest): boolean =>
  method === "GET" || idempotency_key !== undefined

/** The parts of a run that all clients share. */
export interface World {
  readonly installation: Installation
  readonly recorder: Recorder
  readonly operators: Operators
  /** The seen resources of each organization. */
  readonly seen: ReadonlyArray<SeenResources>
  /** The API keys that clients of each organization use. */
  readonly keys: ReadonlyArray<Array<Key>>
  /** Whether clients make no further requests. */
  readonly is_stopping: Ref.Ref<boolean>
}

/** Repeats a request until its outcome is known, each time with a random key, and to another server, which can be down. */
const requestUntilOutcome = Effect.fnUntraced(
  function*({ installation, keys, recorder }: World, caller: Caller, planned: PlannedRequest) {
    const servers = yield* Random.shuffle(installation.servers)
    while (true) {
      for (const server of servers) {
        const key = yield* pick(keys[caller.organization] ?? [])
        const response = yield* recorder.request(caller, server, key, planned)
        if (!isOutcomeUnknown(response) || !isRepeatable(planned)) return response
        yield* Effect.sleep(yield* Random.nextIntBetween(20, 150))
      }
    }
  }
)

/** Makes one request after another until the run stops. */
const client = Effect.fnUntraced(function*(world: World, caller: Caller) {
  const seen = world.seen[caller.organization]
  if (seen === undefined) return
  let number = 0
  const unique = (prefix: string) => `${prefix} ${caller.client}-${number++}`
  while (!(yield* Ref.get(world.is_stopping))) {
    const planned = yield* RandomRequests.next(seen, unique)
    const response = yield* requestUntilOutcome(world, caller, planned)
    if (response !== null) addSeen(seen, planned, response)
    // Some requests are repeated after their response, so that the checker can compare both responses.
    if (planned.idempotency_key !== undefined && (yield* Random.next) < 0.15) {
      yield* requestUntilOutcome(world, caller, planned)
    }
    yield* Effect.sleep(yield* Random.nextIntBetween(0, 60))
  }
})

/** Creates API keys, lets clients use them, and revokes them, as an operator does. */
const operator = Effect.fnUntraced(
  function*({ installation, is_stopping, keys, operators, recorder }: World, caller: Caller) {
    const organization = installation.organizations[caller.organization]
    const own = keys[caller.organization]
    if (organization === undefined || own === undefined) return
    const input = {
      name: "torture",
      created_by: MemberId.make(organization.member_id),
      expires: "90d",
      scopes: Scope.literals
    } as const
    const run = operators(organization)
    const create = run(ApiKeys.use((keys) => keys.create(CreateApiKey.make(input)))).pipe(
      Effect.map(({ api_key, key }) => ({ id: api_key.id, secret: Redacted.value(key) }))
    )
    while (!(yield* Ref.get(is_stopping))) {
      const created = yield* recorder.command(caller, "api_keys.create", input, create)
      yield* Effect.sleep(yield* Random.nextIntBetween(300, 1500))
      if (created === null) continue
      own.push(created)
      yield* Effect.sleep(yield* Random.nextIntBetween(500, 2000))
      const { id } = created
      yield* recorder.command(caller, "api_keys.revoke", { id }, run(ApiKeys.use((keys) => keys.revoke(id))))
      // Clients use the key a little longer. The service must reject each of these requests.
      yield* Effect.sleep("200 millis")
      own.splice(own.findIndex((key) => key.id === id), 1)
    }
  }
)

/** Calls any server, as the network does, until one acknowledges the message. */
const callBackUntilAcknowledged = Effect.fnUntraced(function*({ servers }: Installation, message: Callbacks.Message) {
  for (;;) {
    const status = yield* Callbacks.post(yield* pick(servers), [message]).pipe(
      Effect.timeout("3 seconds"),
      Effect.catchCause(() => Effect.succeed(0))
    )
    if (status === 200) return
    yield* Effect.sleep("100 millis")
  }
})

/** Sends inbound messages. The network repeats a callback until the service acknowledges it, and sometimes once more. */
const sendInbound = Effect.fnUntraced(function*(world: World, organization: number, inbound: Array<InboundMessage>) {
  const { installation, is_stopping, recorder, seen } = world
  const { channel_id = "", phones = [] } = seen[organization] ?? {}
  while (!(yield* Ref.get(is_stopping))) {
    const from = yield* pick(phones)
    const index = inbound.length
    const message: InboundMessage = {
      organization,
      channel_id,
      provider_message_id: `inbound-${index}`,
      from,
      text: `inbound ${index}`,
      started_at: recorder.now(),
      acknowledged_at: null
    }
    inbound.push(message)
    const { provider_message_id } = message
    const content = Callbacks.text(message.text)
    const reported = { channel_id, provider_message_id, from, content, sent_at: DateTime.nowUnsafe() }
    const times = (yield* Random.next) < 0.2 ? 2 : 1
    for (let time = 0; time < times; time++) yield* callBackUntilAcknowledged(installation, reported)
    inbound[index] = { ...message, acknowledged_at: recorder.now() }
    yield* Effect.sleep(yield* Random.nextIntBetween(100, 600))
  }
})

/** Runs the clients, operators, and contacts, until the run stops and each outcome is known. */
export const run = Effect.fnUntraced(
  function*(world: World, clients: number, seed: number, inbound: Array<InboundMessage>) {
    const organizations = world.seen.map((_, organization) => organization)
    const seeded = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) => Random.withSeed(effect, `${seed} ${name}`)
    yield* Effect.all([
      ...Array.from(
        { length: clients },
        (_, index) =>
          seeded(`client ${index}`, client(world, { client: index, organization: index % organizations.length }))
      ),
      ...organizations.flatMap((organization) => [
        seeded(`operator ${organization}`, operator(world, { client: clients + organization, organization })),
        seeded(`person ${organization}`, sendInbound(world, organization, inbound))
      ])
    ], { concurrency: "unbounded", discard: true })
  }
)
