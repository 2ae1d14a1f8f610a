/** The clients of a run: they make random requests, and repeat each until its outcome is known, as real clients do. */
import { ApiKeys, CreateApiKey, Scope } from "@messaging-crm/core/ApiKeys"
import { ChannelId, MemberId } from "@messaging-crm/core/Ids"
import { DateTime, Effect, Random, Redacted, Ref } from "effect"
import { pick } from "../Pick.ts"
import * as Processes from "../Processes.ts"
import type { Cluster } from "./Cluster.ts"
import type { Answer, InboundMessage } from "./History.ts"
import type { Operators } from "./Operators.ts"
import type { Caller, Key, PlannedRequest, Recorder } from "./Recorder.ts"
import * as Wishes from "./Wishes.ts"

/** Returns whether the outcome is not known yet, so that the same request is repeated. */
const isOpen = (answer: Answer | null): boolean =>
  answer === null || answer.status >= 500 || answer.status === 429 || answer.status === 401
  || (answer.status === 409 && answer.retry_after_seconds !== null)

const isRepeatable = ({ idempotency_key, method }: PlannedRequest): boolean =>
  method === "GET" || idempotency_key !== undefined

const dataOf = (answer: Answer): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  const { body } = answer
  if (typeof body !== "object" || body === null || !("data" in body)) return []
  return [body.data].flat() as ReadonlyArray<Readonly<Record<string, unknown>>> // the API's resources are objects
}

const remember = <A>(values: Array<A>, value: A, isSame: (one: A) => boolean = (one) => one === value): void => {
  if (!values.some(isSame)) values.push(value)
}

/** Learns the IDs in an answer. */
const learn = (known: Wishes.Known, { operation }: PlannedRequest, answer: Answer): void => {
  if (answer.status >= 300) return
  for (const row of dataOf(answer)) {
    const id = String(row["id"])
    const [resource] = operation.split(".")
    if (resource === "contacts" && operation !== "contacts.upsert") remember(known.contacts, id)
    if (resource === "conversations") remember(known.conversations, id)
    if (resource === "tags") remember(known.tags, id)
    if (resource === "sends") {
      remember(known.sends, id)
      remember(known.conversations, String(row["conversation_id"]))
    }
    if (resource === "messages") {
      remember(known.messages, { id, conversation_id: String(row["conversation_id"]) }, (one) => one.id === id)
    }
    if (resource === "webhook_deliveries") {
      remember(known.deliveries, { id, webhook_id: String(row["webhook_id"]) }, (one) => one.id === id)
    }
    if (resource === "webhooks" && operation !== "webhooks.test") {
      const at = known.webhooks.indexOf(id)
      if (row["status"] === "active") remember(known.webhooks, id)
      else if (at >= 0) known.webhooks.splice(at, 1)
    }
  }
}

/** The parts of a run that all clients share. */
export interface World {
  readonly cluster: Cluster
  readonly recorder: Recorder
  readonly operators: Operators
  readonly known: ReadonlyArray<Wishes.Known>
  /** The keys of each organization that are not about to be revoked. */
  readonly keys: ReadonlyArray<Array<Key>>
  /** Whether clients begin nothing new. */
  readonly is_over: Ref.Ref<boolean>
}

/** Repeats a request, each time with a random key and to the next server, as one may be down, until its outcome is known. */
const fulfill = Effect.fnUntraced(function*({ cluster, keys, recorder }: World, caller: Caller, wish: PlannedRequest) {
  const servers = yield* Random.shuffle(cluster.servers)
  while (true) {
    for (const server of servers) {
      const key = yield* pick(keys[caller.organization] ?? [])
      const answer = yield* recorder.request(caller, server, key, wish)
      if (!isOpen(answer) || !isRepeatable(wish)) return answer
      yield* Effect.sleep(yield* Random.nextIntBetween(20, 150))
    }
  }
})

/** Makes one request after another until the run is over. */
const client = Effect.fnUntraced(function*(world: World, caller: Caller) {
  const known = world.known[caller.organization]
  if (known === undefined) return
  let number = 0
  const unique = (prefix: string) => `${prefix} ${caller.client}-${number++}`
  while (!(yield* Ref.get(world.is_over))) {
    const wish = yield* Wishes.next(known, unique)
    const answer = yield* fulfill(world, caller, wish)
    if (answer !== null) learn(known, wish, answer)
    // Some requests are repeated although they were answered: the answer must be the same.
    if (wish.idempotency_key !== undefined && (yield* Random.next) < 0.15) yield* fulfill(world, caller, wish)
    yield* Effect.sleep(yield* Random.nextIntBetween(0, 60))
  }
})

/** An operator creates keys, lets clients use them, and revokes them. */
const operator = Effect.fnUntraced(function*({ is_over, keys, known, operators, recorder }: World, caller: Caller) {
  const organization = known[caller.organization]
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
  while (!(yield* Ref.get(is_over))) {
    const created = yield* recorder.command(caller, "api_keys.create", input, create)
    yield* Effect.sleep(yield* Random.nextIntBetween(300, 1500))
    if (created === null) continue
    own.push(created)
    yield* Effect.sleep(yield* Random.nextIntBetween(500, 2000))
    const { id } = created
    yield* recorder.command(caller, "api_keys.revoke", { id }, run(ApiKeys.use((keys) => keys.revoke(id))))
    // Clients use it a little longer: each of these requests must be rejected.
    yield* Effect.sleep("200 millis")
    own.splice(own.findIndex((key) => key.id === id), 1)
  }
})

/** A person writes: the network repeats a message until it is acknowledged, and some of them once more. */
const person = Effect.fnUntraced(function*(world: World, organization: number, inbound: Array<InboundMessage>) {
  const { cluster, is_over, known, recorder } = world
  const callBack = yield* Processes.callbackSender(cluster.environment)
  const channel_id = known[organization]?.channel_id ?? ""
  while (!(yield* Ref.get(is_over))) {
    const from = yield* pick(Wishes.phones)
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
    const event = {
      event: "message_received",
      channel_id: ChannelId.make(channel_id),
      provider_message_id: message.provider_message_id,
      from: { external_id: from, display_name: "Kim", username: null },
      type: "text",
      text: message.text,
      media: null,
      sent_at: DateTime.nowUnsafe()
    } as const
    const times = (yield* Random.next) < 0.2 ? 2 : 1
    for (let time = 0; time < times;) {
      const server = yield* pick(cluster.servers)
      const status = yield* callBack(server, [event]).pipe(
        Effect.timeout("3 seconds"),
        Effect.catchCause(() => Effect.succeed(0))
      )
      if (status === 200) time += 1
      else yield* Effect.sleep("100 millis")
    }
    inbound[index] = { ...message, acknowledged_at: recorder.now() }
    yield* Effect.sleep(yield* Random.nextIntBetween(100, 600))
  }
})

/** Runs everything that makes requests, until the run is over and each outcome is known. */
export const run = Effect.fnUntraced(
  function*(world: World, clients: number, seed: number, inbound: Array<InboundMessage>) {
    const organizations = world.known.map((_, organization) => organization)
    const seeded = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) => Random.withSeed(effect, `${seed} ${name}`)
    yield* Effect.all([
      ...Array.from(
        { length: clients },
        (_, index) =>
          seeded(`client ${index}`, client(world, { client: index, organization: index % organizations.length }))
      ),
      ...organizations.flatMap((organization) => [
        seeded(`operator ${organization}`, operator(world, { client: clients + organization, organization })),
        seeded(`person ${organization}`, person(world, organization, inbound))
      ])
    ], { concurrency: "unbounded", discard: true })
  }
)
