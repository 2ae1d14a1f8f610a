/** One run: the system, its clients, and the nemesis, and then the history of what happened. */
import { Effect, Fiber, Ref, Schema } from "effect"
import * as Processes from "../Processes.ts"
import * as Clients from "./Clients.ts"
import * as Cluster from "./Cluster.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Faults from "./Faults.ts"
import * as Final from "./Final.ts"
import type { History, InboundMessage } from "./History.ts"
import * as Operators from "./Operators.ts"
import * as Recorder from "./Recorder.ts"
import { makeSeenResources } from "./SeenResources.ts"

export interface Options extends Cluster.Options {
  readonly seed: number
  /** How long faults are made. */
  readonly seconds: number
  readonly clients: number
  /** Told when a phase of the run begins. */
  readonly onPhase: (phase: string) => void
  /** The programs of the version before; null if there is none. */
  readonly before: Cluster.Programs | null
}

const Accepted = Schema.fromJsonString(Schema.Struct({
  accepted: Schema.Array(Schema.Struct({
    reference: Schema.String,
    provider_message_id: Schema.String,
    recipient: Schema.String,
    text: Schema.NullOr(Schema.String)
  }))
}))

const accepted = ({ accepted_url }: Cluster.Cluster) =>
  Effect.promise(async () => (await fetch(accepted_url)).text()).pipe(
    Effect.flatMap((text) => Schema.decodeUnknownEffect(Accepted)(text)),
    Effect.map(({ accepted }) => accepted),
    Effect.orDie
  )

/** The part of a response that shows a signing secret. */
interface WithSecret {
  readonly data?: { readonly url?: string; readonly signing_secret?: string }
}

/**
 * Returns the secrets of an endpoint; null where one may be missing, because a creation got no response, or a rotation,
 * whose webhook could be any.
 */
const secretsIn = ({ calls }: Recorder.Recorder) => {
  const requests = Map.groupBy(
    calls.filter(({ operation }) => operation === "webhooks.create" || operation === "webhooks.rotate_secret"),
    ({ index, organization, request }) => `${organization} ${request.idempotency_key ?? index}`
  )
  const responses = Array.from(requests.values(), (attempts) => ({
    request: attempts[0]?.request,
    // A repetition of a completed request can lack a response of its own.
    response: attempts.find(({ response }) => response !== null && response.status < 500 && response.status !== 401)
      ?.response
  }))
  const shown = responses.flatMap(({ response }) => (response?.body as WithSecret | undefined)?.data ?? []) // the API's body
  const open = responses.filter(({ response }) => response === undefined).map(({ request }) =>
    JSON.stringify(request?.body)
  )
  return (endpoint: string): ReadonlyArray<string> | null =>
    open.some((body) => body === "null" || body?.includes(`${endpoint}"`) === true)
      ? null
      : shown.flatMap(({ signing_secret, url }) =>
        url?.endsWith(endpoint) === true && signing_secret !== undefined ? [signing_secret] : []
      )
}

/** How long the end of a run may be idle with work left: longer than leases and unknown outcomes. */
const idle_seconds_max = 45

/** Runs the system under torture, and returns its history. */
export const run = Effect.fnUntraced(function*(options: Options) {
  const { clients, onPhase, seconds, seed } = options
  onPhase("starting")
  const cluster = yield* Cluster.make(options)
  const recorder = Recorder.make()
  const operators = yield* Operators.make(cluster)
  const endpoints = yield* Endpoints.make(cluster.organizations.length, recorder.now)
  let number = 0
  const seen = cluster.organizations.map((organization, index) =>
    makeSeenResources(organization, cluster.template_id, () => endpoints.urlOf(index, `/endpoint-${number++}`))
  )
  const keys = cluster.organizations.map(({ key, key_id }) => [{ id: key_id, secret: key }])
  const is_stopping = yield* Ref.make(false)
  const inbound: Array<InboundMessage> = []
  const nemesis = Faults.make({ cluster, endpoints: endpoints.proxies, before: options.before }, recorder.now)

  const world = { cluster, recorder, operators, seen, keys, is_stopping }
  onPhase("faults")
  const working = yield* Effect.forkChild(Clients.run(world, clients, seed, inbound))
  const faulting = yield* Effect.forkChild(nemesis.run(seed))
  yield* Effect.raceFirst(
    Effect.sleep(`${seconds} seconds`),
    Effect.raceFirst(Fiber.join(working), Fiber.join(faulting))
  )
  onPhase("recovery")
  yield* Fiber.interrupt(faulting)
  yield* endpoints.calm
  yield* Ref.set(is_stopping, true)
  yield* Effect.forEach(cluster.servers, ({ url }) => Processes.untilUp(`${url}/health/ready`), { discard: true })
  // A request without an outcome until then stays open in the history.
  yield* Effect.timeoutOption(Fiber.join(working), "30 seconds")
  yield* Fiber.interrupt(working)
  return yield* Effect.gen(function*() {
    onPhase("quiescence")
    const unfinished = yield* Final.settle(idle_seconds_max)
    onPhase("final reads")
    const organizations = yield* Effect.forEach(
      cluster.organizations,
      (organization) =>
        Effect.map(
          Final.read(cluster, operators, organization),
          (final) => ({ id: organization.organization_id, final })
        )
    )
    return {
      seed,
      organizations,
      calls: recorder.calls,
      accepted: yield* accepted(cluster),
      inbound,
      received: endpoints.received(secretsIn(recorder)),
      faults: nemesis.faults,
      unfinished
    } satisfies History
  }).pipe(Effect.provide(Final.connected(cluster)), Effect.orDie)
})
