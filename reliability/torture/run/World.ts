/** The clients over a running system: what they know, what they have done, and the history of it. */
import { Effect, Ref } from "effect"
import * as Network from "../../../packages/server/testing/processes/Network.ts"
import type { History, InboundMessage } from "../History.ts"
import { acceptedMessages } from "./AcceptedMessages.ts"
import type { World } from "./Clients.ts"
import type { Installation, Organization } from "./Cluster.ts"
import * as Endpoints from "./Endpoints.ts"
import * as Final from "./Final.ts"
import type { Operators } from "./Operators.ts"
import { Recorder } from "./Recorder.ts"
import { makeSeenResources } from "./SeenResources.ts"
import { signingSecrets } from "./SigningSecrets.ts"

/** The maximum time without progress at the end of a run: longer than leases and unknown outcomes. */
const idle_seconds_max = 45

export interface Started {
  readonly endpoints: Endpoints.Endpoints
  /** The messages of contacts so far. */
  readonly inbound: Array<InboundMessage>
  readonly world: World
}

/** Starts the endpoints of the organizations. All clients use the same phones. */
export const make = Effect.fnUntraced(
  function*(installation: Installation, operators: Operators, phones: ReadonlyArray<string>) {
    const { organizations } = installation
    const recorder = new Recorder()
    const endpoints = yield* Endpoints.make(organizations.length, recorder.now)
    let number = 0
    const seen = organizations.map(({ channel_id, member_id }, index) => {
      const newUrl = () => endpoints.urlOf(index, `/endpoint-${number++}`)
      return makeSeenResources({ channel_id, member_id, template_id: Network.template_id, phones, newUrl })
    })
    const keys = organizations.map(({ key, key_id }) => [{ id: key_id, secret: key }])
    const is_stopping = yield* Ref.make(false)
    const world: World = { installation, recorder, operators, seen, keys, is_stopping }
    const started: Started = { endpoints, inbound: [], world }
    return started
  }
)

export interface HistoryOptions {
  readonly seed: number
  readonly faults: History["faults"]
  /** The organizations with the databases that have them at the end. */
  readonly organizations: ReadonlyArray<Organization>
  /** The databases whose queues must become empty. */
  readonly database_urls: ReadonlyArray<string>
}

/** Waits until the queues are empty, and reads the history. */
export const readHistory = Effect.fnUntraced(
  function*({ endpoints, inbound, world }: Started, { database_urls, faults, organizations, seed }: HistoryOptions) {
    const { installation, operators, recorder: { calls } } = world
    const unfinished = yield* Effect.forEach(
      new Set(database_urls),
      (url) => Effect.provide(Final.waitUntilIdle(idle_seconds_max), Final.databaseLayer(url), { local: true }),
      { concurrency: "unbounded" }
    )
    const read = yield* Effect.forEach(
      organizations,
      (organization) =>
        Effect.map(
          Effect.provide(
            Final.read(installation, operators, organization),
            Final.databaseLayer(organization.database_url),
            { local: true }
          ),
          (final) => ({ id: organization.organization_id, final })
        )
    )
    return {
      seed,
      organizations: read,
      calls,
      accepted: yield* acceptedMessages(installation.accepted_url),
      inbound,
      received: endpoints.received(signingSecrets(calls)),
      faults,
      unfinished: unfinished.flat()
    } satisfies History
  },
  Effect.orDie
)
