/**
 * Counts the requests of API keys in this process while the database rejects writes, such as with a full disk.
 *
 * One request per second is counted in the database again: each attempt adds to the database's log, which can be on the
 * same disk.
 */
import { window_seconds } from "@messaging-crm/core/ApiKeys"
import type { ApiKeyId } from "@messaging-crm/core/Ids"
import type { Timestamp } from "@messaging-crm/core/Timestamps"
import { Cause, DateTime, Effect, Option } from "effect"
import { isRejection } from "../database/Writable.ts"

/** A key that a request presents. */
export interface Presented {
  readonly digest: string
  /** The maximum number of requests in a window. */
  readonly limit: number
}

/** A key with its window, and the time of the database. */
interface Metered {
  readonly key_id: ApiKeyId
  readonly count: number
  readonly window_ends_at: Timestamp
  readonly now: Timestamp
}

type Lookup<Row> = (presented: Presented) => Effect.Effect<Option.Option<Row>>

const pause_seconds = 1

/** Makes a function that counts requests in this process. A window ends by the database's clock, as in the database. */
const makeWindows = () => {
  const windows = new Map<ApiKeyId, { readonly ends_at: Timestamp; count: number }>()
  return <Row extends Metered>(found: Row, limit: number): Row => {
    const { key_id, now } = found
    const known = windows.get(key_id)
    const isOpen = known !== undefined && DateTime.isLessThan(now, known.ends_at)
    const window = isOpen ? known : { ends_at: DateTime.add(now, { seconds: window_seconds }), count: 0 }
    if (!isOpen) windows.set(key_id, window)
    window.count = Math.min(window.count + 1, limit + 1)
    return { ...found, count: window.count, window_ends_at: window.ends_at }
  }
}

/** Makes the state of where requests are counted. It logs when this process begins and ends to count them. */
const makeCounter = () => {
  let counter: "database" | "process" = "database"
  /** When the database is tried again; null until its clock is known. */
  let tries_at: Timestamp | null = null
  /** Whether the next request tries the database. */
  let isDue = false
  return {
    isDatabase: () => counter === "database",
    /** Counts in this process, because the database rejected a count. */
    leaveDatabase: Effect.suspend(() => {
      if (counter === "process") return Effect.void
      counter = "process"
      tries_at = null
      isDue = false
      return Effect.logWarning("The database rejects writes: requests are counted in this process")
    }),
    /** Notes the time of the database, which is tried again after a pause. */
    note: (now: Timestamp) => {
      if (counter === "database") return
      tries_at ??= DateTime.add(now, { seconds: pause_seconds })
      if (!DateTime.isLessThan(now, tries_at)) [isDue, tries_at] = [true, null]
    },
    /** Lets the next request try the database. */
    tryNext: Effect.sync(() => {
      isDue = true
    }),
    /** Returns whether a request tries the database: one after each pause. */
    takeTry: () => {
      const tries = isDue
      isDue = false
      return tries
    },
    /** Counts in the database again, because it has counted a request. */
    returnToDatabase: Effect.suspend(() => {
      if (counter === "database") return Effect.void
      counter = "database"
      return Effect.logInfo("The database accepts writes again: requests are counted in the database")
    })
  }
}

/** Returns `count`, but with the windows of this process while the database rejects it. Then `find` finds the key. */
export const orLocally = <Row extends Metered>(count: Lookup<Row>, find: Lookup<Row>): Lookup<Row> => {
  const countHere = makeWindows()
  const counter = makeCounter()

  const findAndCount = (presented: Presented) =>
    Effect.map(
      find(presented),
      Option.map((found) => {
        counter.note(found.now)
        return countHere(found, presented.limit)
      })
    )

  const orHere = (counted: ReturnType<Lookup<Row>>, presented: Presented) =>
    Effect.catchCause(counted, (cause) =>
      isRejection(Cause.squash(cause))
        ? Effect.andThen(counter.leaveDatabase, findAndCount(presented))
        : Effect.failCause(cause))

  return (presented) =>
    Effect.suspend(() => {
      if (counter.isDatabase()) return orHere(count(presented), presented)
      if (!counter.takeTry()) return findAndCount(presented)
      // An unknown key is not counted, so it neither shows that the database accepts writes nor uses up the try.
      return orHere(
        Effect.tap(count(presented), (found) => Option.isSome(found) ? counter.returnToDatabase : counter.tryNext),
        presented
      )
    })
}
