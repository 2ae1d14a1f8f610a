/**
 * Followers of events: clients that read every event once, in the order of commits (contract §13.5).
 *
 * A cursor holds the last event that its follower has seen. While that event is stored, no later one can have been purged
 * unseen, and the order is the one in which the follower has read. A follower of an organization without new events keeps its
 * cursor when that event is purged, because the cursor also holds the time of the last request.
 */
import { Clock, Context, DateTime, Duration, Effect, Layer, Option, Schema, type Scope, Stream } from "effect"
import { CurrentActor } from "../kernel/Actor.ts"
import { EventId, nil, type OrganizationId } from "../kernel/Ids.ts"
import { operation } from "../kernel/Operations.ts"
import { type CursorInvalid, Cursors } from "../kernel/Page.ts"
import { Timestamp } from "../kernel/Timestamps.ts"
import { event_age_max } from "../work/Changes.ts"
import { type AnyEventType, type CommittedEvent, type Event, EventStore, toListed } from "./Events.ts"
import { EventWaits } from "./EventWaits.ts"

// ---------------------------------------------------------------- data

/** The part of a follower's cursor that is not about its list. */
const FollowPosition = Schema.Tuple([
  /** The commit of the last event that the follower has seen. */
  Schema.String,
  /** The ID of that event. */
  EventId,
  /** The time at which that event was raised. */
  Timestamp,
  /** The time until which the follower has seen all events. */
  Timestamp
])

/** Where a follower has stopped: after an event, having seen all events until a time. */
interface FollowPosition extends Pick<CommittedEvent, "commit" | "created_at" | "id"> {
  readonly seen_until: Timestamp
}

/** The positions without a cursor: before the oldest stored event, and after the newest. */
export const EventsAfter = { start: "start", now: "now" } as const

export interface FollowOptions {
  /** `start`, `now`, or the cursor of the page before. */
  readonly after: string
  /** The type of the events; null for all. */
  readonly type: AnyEventType | null
  readonly page_size: number
}

/** Events in the order of commits. There is always a cursor, because there is always a next event. */
export interface FollowedPage {
  readonly data: ReadonlyArray<Event>
  readonly next_cursor: string
}

/** An event of a stream, with the cursor that continues after it. */
export interface StreamedEvent {
  readonly event: Event
  readonly cursor: string
}

/** A part of a stream. It has no events if there were none for some time. */
export interface StreamedPart {
  readonly events: ReadonlyArray<StreamedEvent>
  /** The cursor that continues after this part; null if it has not changed. */
  readonly cursor: string | null
}

/** The position before the first event of every store. */
const beginning = {
  commit: "0",
  id: EventId.make(nil),
  created_at: DateTime.makeUnsafe("0001-01-01T00:00:00.000Z")
}

/** The number of events that a page of one type looks through. */
const examined_max = 500

/** An event that commits is raised less than this time before. */
const commit_time_max = Duration.hours(1)

// -------------------------------------------------------------- errors

/** Events after the cursor may be missing: they were deleted, or the database was restored. */
export class CursorExpired extends Schema.TaggedError<CursorExpired>()("CursorExpired", {}) {}

/** As many clients of the organization, or of the process, wait for events as can wait at once. */
export class TooManyFollowers extends Schema.TaggedError<TooManyFollowers>()("TooManyFollowers", {}) {}

// ----------------------------------------------------------- decisions

/** Returns whether a follower at a position whose event is not stored has missed no event. */
const isComplete = ({ created_at, seen_until }: FollowPosition, now: Timestamp): boolean => {
  const purged_until = DateTime.subtractDuration(now, event_age_max)
  // An event that is not stored and not old was lost with its database: the order may have changed.
  return DateTime.isLessThan(created_at, purged_until) &&
    DateTime.isGreaterThan(seen_until, DateTime.addDuration(purged_until, commit_time_max))
}

/** The events of a page, and the last event that was examined for it; undefined without one. */
interface Examined {
  readonly events: ReadonlyArray<CommittedEvent>
  readonly last: CommittedEvent | undefined
  /** Whether there are no events after the last one. */
  readonly isDrained: boolean
}

/** A page as it was read, and the position after it. */
interface Read {
  readonly events: ReadonlyArray<CommittedEvent>
  readonly isDrained: boolean
  readonly position: FollowPosition
}

/** Selects the events of a page from the next ones. `isAll` is whether there are no others. */
const select = (
  next: ReadonlyArray<CommittedEvent>,
  { page_size, type }: Pick<FollowOptions, "page_size" | "type">,
  isAll: boolean
): Examined => {
  const matching = next.filter((event) => type === null || event.type === type)
  const events = matching.slice(0, page_size)
  return matching.length > page_size
    ? { events, last: events.at(-1), isDrained: false }
    : { events, last: next.at(-1), isDrained: isAll }
}

// ---------------------------------------------------------- operations

/** A follower that waits for events. It holds one of its organization's slots. */
export interface Follower {
  /** Returns the next events. The page is empty only if there are none until the time is over, or waits have ended. */
  readonly next: (
    options: FollowOptions,
    time: Duration.Duration
  ) => Effect.Effect<FollowedPage, CursorExpired | CursorInvalid, CurrentActor>
  /**
   * Reads the next events, and returns the stream that begins with them. It has a part without events after each `pause`
   * without any, and ends only with the waits of the process, or if its cursor expires.
   */
  readonly stream: (
    options: FollowOptions,
    pause: Duration.Duration
  ) => Effect.Effect<Stream.Stream<StreamedPart, CursorExpired>, CursorExpired | CursorInvalid, CurrentActor>
}

/** Makes the functions that read the page after a position, and the cursor of a position. */
const makeReader = Effect.gen(function*() {
  const cursors = yield* Cursors
  const store = yield* EventStore

  const listOf = (type: AnyEventType | null) => ({ list: "followed_events", filters: { type } })

  /** Returns where a follower starts or continues. */
  const positionOf = Effect.fnUntraced(function*({ after, type }: FollowOptions) {
    const { organization_id } = yield* CurrentActor
    const seen_until = yield* DateTime.now
    if (after === EventsAfter.start) return { ...beginning, seen_until }
    if (after === EventsAfter.now) {
      const last = yield* store.lastCommitted(organization_id)
      return { ...Option.getOrElse(last, () => beginning), seen_until }
    }
    const [commit, id, created_at, until] = yield* cursors.read(listOf(type), FollowPosition, after)
    return { commit, id, created_at, seen_until: until }
  })

  /** Returns at most `size` events after a position. */
  const nextOf = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    position: FollowPosition,
    size: number
  ) {
    const found = yield* store.committed(organization_id, { from: position, size: size + 1 })
    if (found[0]?.id === position.id && found[0].commit === position.commit) return found.slice(1)
    if (!isComplete(position, yield* DateTime.now)) return yield* new CursorExpired()
    // What is stored is younger than the follower's last event, so it has seen none of it.
    return position.commit === beginning.commit
      ? found.slice(0, size)
      : yield* store.committed(organization_id, { from: beginning, size })
  })

  /** Reads the page after a position. */
  const read = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    position: FollowPosition,
    options: FollowOptions
  ): Effect.fn.Return<Read, CursorExpired> {
    const size = options.type === null ? options.page_size : examined_max
    const now = yield* DateTime.now
    const next = yield* nextOf(organization_id, position, size)
    const { events, isDrained, last = position } = select(next, options, next.length < size)
    return { events, isDrained, position: { ...last, seen_until: isDrained ? now : last.created_at } }
  })

  /** Returns the cursor of a position. */
  const cursorOf = ({ type }: FollowOptions, { commit, created_at, id, seen_until }: FollowPosition) =>
    cursors.issue(listOf(type), [commit, id, DateTime.formatIso(created_at), DateTime.formatIso(seen_until)])

  const toPage = (options: FollowOptions, { events, position }: Read) =>
    Effect.map(cursorOf(options, position), (next_cursor) => ({ data: events.map(toListed), next_cursor }))

  return { cursorOf, positionOf, read, toPage }
})

/** Makes the functions of a follower that waits. */
const makeFollower = Effect.gen(function*() {
  const { cursorOf, positionOf, read, toPage } = yield* makeReader
  const waits = yield* EventWaits

  const next = operation("events.list")(function*(options: FollowOptions, time: Duration.Duration) {
    const { organization_id } = yield* CurrentActor
    const until = (yield* Clock.currentTimeMillis) + Duration.toMillis(time)
    let page = yield* read(organization_id, yield* positionOf(options), options)
    while (page.events.length === 0) {
      const left = until - (yield* Clock.currentTimeMillis)
      if (left <= 0) break
      const next = waits.next(organization_id, page.position, Duration.millis(left))
      if (page.isDrained && Option.isNone(yield* next)) break
      page = yield* read(organization_id, page.position, options)
    }
    return yield* toPage(options, page)
  })

  /** Returns the part of a stream with the events of a page. A cursor after each lets a client continue anywhere. */
  const toPart = Effect.fnUntraced(function*(options: FollowOptions, { events, position }: Read) {
    const cursor = yield* cursorOf(options, position)
    const streamed = yield* Effect.forEach(events, (event) =>
      Effect.map(
        event.id === position.id
          ? Effect.succeed(cursor)
          : cursorOf(options, { ...event, seen_until: event.created_at }),
        (cursor) => ({ event: toListed(event), cursor })
      ))
    return { events: streamed, cursor }
  })

  /** Returns the next page of a stream; null if waits have ended, the last one if there are no events. */
  const after = Effect.fnUntraced(function*(
    organization_id: OrganizationId,
    last: Read,
    options: FollowOptions,
    pause: Duration.Duration
  ) {
    const waited = last.isDrained
      ? yield* waits.next(organization_id, last.position, pause)
      : Option.some(undefined)
    if (yield* waits.isEnded) return null
    return Option.isNone(waited) ? last : yield* read(organization_id, last.position, options)
  })

  const stream = operation("events.list")(function*(options: FollowOptions, pause: Duration.Duration) {
    const actor = yield* CurrentActor
    const first = yield* read(actor.organization_id, yield* positionOf(options), options)
    return Stream.paginate<Read | null, StreamedPart, CursorExpired, CurrentActor>(
      null,
      Effect.fnUntraced(function*(last) {
        const page = last === null ? first : yield* after(actor.organization_id, last, options, pause)
        if (page === null) return [[], Option.none()] as const
        const part = page === last ? { events: [], cursor: null } : yield* toPart(options, page)
        return [[part], Option.some(page)] as const
      })
    ).pipe(Stream.provideService(CurrentActor, actor))
  })

  return { next, stream }
})

/** The operation of followers, on the events of the current actor's organization. */
export class EventFollowers extends Context.Service<EventFollowers, {
  /** Returns the next events, the first commit first, without waiting for any. */
  readonly follow: (
    options: FollowOptions
  ) => Effect.Effect<FollowedPage, CursorExpired | CursorInvalid, CurrentActor>
  /** Takes a slot until the scope ends, in which a follower can wait. */
  readonly open: Effect.Effect<Follower, TooManyFollowers, CurrentActor | Scope.Scope>
  /** Ends all waits with the page that they have, now and from now on, because the process stops. */
  readonly end: Effect.Effect<void>
}>()("@messaging-crm/core/EventFollowers") {
  static readonly layer = Layer.effect(
    EventFollowers,
    Effect.gen(function*() {
      const follower: Follower = yield* makeFollower
      const { positionOf, read, toPage } = yield* makeReader
      const waits = yield* EventWaits

      const follow = operation("events.list")(function*(options: FollowOptions) {
        const { organization_id } = yield* CurrentActor
        return yield* toPage(options, yield* read(organization_id, yield* positionOf(options), options))
      })

      const open = operation("events.list")(function*() {
        const { organization_id } = yield* CurrentActor
        if (!(yield* waits.enter(organization_id))) return yield* new TooManyFollowers()
        return follower
      })()

      return EventFollowers.of({ follow, open, end: waits.end })
    })
  ).pipe(Layer.provide(EventWaits.layer))
}
