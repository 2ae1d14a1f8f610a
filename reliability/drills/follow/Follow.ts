/** Followers of events while many writers commit, stall, and roll back. */
import { MessagingCrm } from "@messaging-crm/client"
import { write } from "@messaging-crm/conformance/FollowedOrder"
import { randomNumbers } from "@messaging-crm/conformance/RandomNumbers"
import { Effect, Fiber } from "effect"
import { occurredViolations } from "../harness/Violations.ts"
import { follow, type Followed } from "./Followers.ts"
import type { Target } from "./Targets.ts"

interface Options {
  /** About as many events are written. */
  readonly events: number
  readonly writers: number
  readonly followers: number
  readonly seed: number
}

/** A writer rolls a fifth of its commits back, and the others have two events on average. */
const events_per_commit = 1.6

/** How long followers can take for the rest after the last commit. */
const rest_time_max = "2 minutes"

/**
 * Returns the cursor after the events that are stored already. `now` could be before some of them: they follow once the
 * transactions before theirs have ended.
 */
const firstCursor = ({ base_url, key, stored }: Target) =>
  Effect.promise(async () => {
    const crm = new MessagingCrm({ apiKey: key, baseUrl: base_url })
    let [cursor, seen] = ["start", 0]
    for (let isLast = false; !isLast;) {
      const { data, next_cursor } = await crm.request("GET /events", { query: { after: cursor, wait: 1 } })
      seen += data.length
      cursor = next_cursor ?? cursor
      isLast = data.length === 0 && seen >= stored
    }
    return cursor
  })

/** Returns the time by which a part of the values is exceeded at most, in whole milliseconds. */
const percentile = (sorted: ReadonlyArray<number>, part: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)

/** Returns the times from a commit's result to a follower. A follower can be first. */
const delaysOf = (committed_at: ReadonlyMap<string, number>, all: ReadonlyArray<Followed>): ReadonlyArray<number> =>
  all.flatMap(({ received_at }) =>
    Array.from(received_at, ([id, at]) => Math.max(0, at - (committed_at.get(id) ?? at)))
  ).toSorted((one, other) => one - other)

/** Returns what is wrong with what the followers have received. */
const violationsOf = (written: ReadonlyArray<string>, all: ReadonlyArray<Followed>) => {
  const expected = new Set(written)
  const [first] = all
  return occurredViolations({
    "a follower has missed an event": all.some(({ ids }) => new Set(ids).size < expected.size),
    "a follower has received an event twice": all.some(({ ids }) => new Set(ids).size < ids.length),
    "a follower has received an event that was rolled back": all.some(({ ids }) => ids.some((id) => !expected.has(id))),
    "two followers have received different orders": all.some(({ ids }) => ids.join() !== first?.ids.join())
  })
}

/** Writes events of one organization, and compares what its followers receive with them. */
export const drill = Effect.fnUntraced(function*(target: Target, { events, followers, seed, writers }: Options) {
  const { base_url, key, organization_id, replayed, run, services } = target
  const random = randomNumbers(seed)
  const after = yield* firstCursor(target)
  const committed_at = new Map<string, number>()
  const onCommitted = (ids: ReadonlyArray<string>) => {
    for (const id of ids) committed_at.set(id, performance.now())
  }
  let total = Infinity
  const options = { base_url, key, after, random, total: () => total }
  const following = yield* Effect.forkChild(
    Effect.promise((signal) => Promise.all(Array.from({ length: followers }, () => follow({ ...options, signal }))))
  )
  const started = performance.now()
  const commits = Math.ceil(events / writers / events_per_commit)
  const written = (yield* Effect.forEach(
    Array.from({ length: writers }),
    () => Effect.provideContext(write(organization_id, { commits, run }, random, onCommitted), services),
    { concurrency: "unbounded" }
  )).flat()
  const seconds = Math.round((performance.now() - started) / 1000)
  total = written.length
  const all = yield* Fiber.join(following).pipe(Effect.timeout(rest_time_max))
  const delays = delaysOf(committed_at, all)
  return {
    events: written.length,
    commits: commits * writers,
    seconds,
    reconnects: all.map(({ reconnects }) => reconnects),
    replayed: replayed(),
    delay_millis: { p50: percentile(delays, 0.5), p99: percentile(delays, 0.99), max: percentile(delays, 1) },
    violations: violationsOf(written, all)
  }
})
