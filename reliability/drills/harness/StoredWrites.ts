/** The stored rows and accepted messages after the clients of `Writes.ts` have stopped, compared with their responses. */
import * as Client from "@messaging-crm/adapter-postgres/Client"
import { Effect, Fiber, Redacted, Ref, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { Cluster } from "../../../packages/server/testing/processes/Cluster.ts"
import * as Network from "../../../packages/server/testing/processes/Network.ts"
import { occurredViolations } from "./Violations.ts"
import type { Clients, Outcome } from "./Writes.ts"

/** The stored rows and the messages that the network accepted, read when the queue is empty. */
export interface Stored {
  readonly contacts: ReadonlyArray<{ readonly key: string; readonly count: number }>
  readonly sends: ReadonlyArray<
    { readonly id: string; readonly status: string; readonly failure_reason: string | null }
  >
  readonly messages: number
  /** The number of messages that the network reported as read, but whose `read_at` is null. */
  readonly unread: number
  readonly queued: number
  readonly accepted: ReadonlyArray<string>
}

/** Waits until the queue is empty, for at most 200 seconds, and loads the stored rows. */
export const loadStored = Effect.fnUntraced(function*({ accepted_url }: Cluster) {
  const sql = yield* SqlClient.SqlClient
  const queued = sql<{ readonly count: number }>`
    SELECT (
      (SELECT count(*) FROM work)
      + (SELECT count(*) FROM work_lanes WHERE emptied_at IS NULL)
      + (SELECT count(*) FROM provider_callbacks)
    )::integer AS count
  `.pipe(Effect.map(([row]) => row?.count ?? -1))
  yield* queued.pipe(
    Effect.repeat({ schedule: Schedule.spaced("250 millis"), times: 800, until: (count) => count === 0 })
  )
  const counted = sql<{ readonly messages: number; readonly unread: number }>`
    SELECT count(*)::integer AS messages, count(*) FILTER (WHERE read_at IS NULL)::integer AS unread
    FROM messages
  `.pipe(Effect.map(([row]) => row ?? { messages: -1, unread: -1 }))
  // The network can still send reports.
  const { messages, unread } = yield* counted.pipe(
    Effect.repeat({ schedule: Schedule.spaced("250 millis"), times: 120, until: ({ unread }) => unread === 0 })
  )
  return {
    contacts: yield* sql<Stored["contacts"][number]>`
      SELECT first_name AS key, count(*)::integer AS count
      FROM contacts
      WHERE source = 'kill-test'
      GROUP BY first_name
    `,
    sends: yield* sql<Stored["sends"][number]>`SELECT id, status, failure_reason FROM sends`,
    messages,
    unread,
    queued: yield* queued,
    accepted: (yield* Network.accepted(accepted_url)).map(({ reference }) => reference)
  } satisfies Stored
})

const sorted = (values: ReadonlyArray<string>): string => values.toSorted().join(" ")

/** Returns every difference between the stored and sent messages and the responses that the clients received. */
export const violationsOf = (
  { completed, differences }: Outcome,
  { accepted, contacts, messages, queued, sends, unread }: Stored
): ReadonlyArray<string> => {
  const completedOn = (path: Outcome["completed"][number]["path"]) =>
    completed.filter((request) => request.path === path)
  const sent = sends.filter(({ status }) => status === "sent")
  return occurredViolations({
    [`replays that differ: ${differences.join(", ")}`]: differences.length > 0,
    "a contact was created twice": contacts.some(({ count }) => count !== 1),
    "the contacts are not those of the responses": sorted(contacts.map(({ key }) =>
      key
    )) !== sorted(completedOn("/contacts").map(({ key }) => key)),
    "the sends are not those of the responses":
      sorted(sends.map(({ id }) => id)) !== sorted(completedOn("/conversations").map(({ id }) => id)),
    "a send reached the provider twice": new Set(accepted).size !== accepted.length,
    "the sends with status sent are not those that the provider accepted":
      sorted(accepted) !== sorted(sent.map(({ id }) => id)),
    "a send with status sent has no message, or two": sent.length !== messages,
    [`${unread} messages without read_at were reported as read`]: unread !== 0,
    [`${queued} rows are still in the queue`]: queued !== 0
  })
}

/** Returns the counts of a report. */
export const countsOf = ({ accepted, contacts, sends }: Stored) => ({
  contacts: contacts.length,
  sends: sends.length,
  sent: sends.filter(({ status }) => status === "sent").length,
  accepted: accepted.length,
  unsent: sends.filter(({ status }) => status !== "sent").map(({ failure_reason, status }) => failure_reason ?? status)
})

/** Stops the clients, repeats each request, and returns counts and the lost and duplicated writes. */
export const finish = Effect.fnUntraced(function*<E>(
  cluster: Cluster,
  writers: Clients,
  writing: Fiber.Fiber<void, E>,
  isStopping: Ref.Ref<boolean>
) {
  yield* Ref.set(isStopping, true)
  yield* Fiber.join(writing)
  yield* writers.repeatAll
  const outcome = yield* writers.outcome
  const stored = yield* Effect.provide(
    loadStored(cluster),
    Client.layer({ url: Redacted.make(cluster.database_url) })
  )
  return { ...countsOf(stored), violations: violationsOf(outcome, stored) }
})
