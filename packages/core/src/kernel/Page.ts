/**
 * Pages and cursors of lists (contract §6).
 *
 * A cursor holds the position at which the page ended, the list and the filters.
 * It is signed, so that only cursors issued by the service are accepted.
 */
import { Context, DateTime, Effect, Layer, Option, Schema } from "effect"
import { CurrentActor } from "./Actor.ts"
import { limits } from "./Limits.ts"
import { Secrets } from "./Secrets.ts"
import { Timestamp } from "./Timestamps.ts"

// ---------------------------------------------------------------- data

/** The position of a row in a list: the time that the list is ordered by, and the ID that breaks ties. */
export interface Position {
  readonly at: Timestamp
  readonly id: string
}

/** One page of a list, and the cursor of the next page, null on the last. */
export interface Page<A> {
  readonly data: ReadonlyArray<A>
  readonly next_cursor: string | null
}

/**
 * The page that a store reads: at most `size` rows that come after `after`.
 *
 * A store reads rows with long texts only up to `page_bytes_max` bytes of these texts, but at least one row (contract §6.2).
 */
export interface PageRequest {
  readonly after: Position | null
  readonly size: number
}

/**
 * The rows that a store found for a page, and the position at which it stopped if it found fewer than `size` and there may be
 * more.
 */
export interface Found<A> {
  readonly rows: ReadonlyArray<A>
  readonly stopped_at: Position | null
}

/** The options of a list with pages. A filter that is absent does not filter. */
export type ListOptions<Filters extends object> = Partial<Filters> & {
  readonly cursor: string | null
  readonly page_size: number
}

/** The content of a cursor: the list, the digest of its organization and filters, and the texts of the position. */
const Cursor = Schema.fromJsonString(
  Schema.TupleWithRest(Schema.Tuple([Schema.String, Schema.String]), [Schema.String])
)
const decodeCursor = Schema.decodeUnknownOption(Cursor)

const PositionTexts = Schema.Tuple([Timestamp, Schema.String])

/** A list with its filters, which its cursors belong to. */
export interface FilteredList {
  readonly list: string
  readonly filters: Readonly<Record<string, unknown>>
}

const decodeBase64Url = Schema.decodeUnknownOption(Schema.StringFromBase64Url)
const encodeBase64Url = Schema.encodeSync(Schema.StringFromBase64Url)

// -------------------------------------------------------------- errors

/** The cursor was not issued by this list, for this organization and these filters. */
export class CursorInvalid extends Schema.TaggedError<CursorInvalid>()("CursorInvalid", {}) {}

// ----------------------------------------------------------- decisions

/** Returns what a store found that never stops early. */
export const withoutStop = <A>(rows: ReadonlyArray<A>): Found<A> => ({ rows, stopped_at: null })

/** Returns the first of the rows, up to `page_bytes_max` bytes of long texts, but at least one. */
export const fitting = <A>(
  rows: ReadonlyArray<A>,
  bytesOf: (row: A) => number,
  positionOf: (row: A) => Position
): Found<A> => {
  let bytes = 0
  const end = rows.findIndex((row, index) => (bytes += bytesOf(row)) > limits.page_bytes_max && index > 0)
  const last = rows[end - 1]
  return last === undefined ? withoutStop(rows) : { rows: rows.slice(0, end), stopped_at: positionOf(last) }
}

// ---------------------------------------------------------- operations

/** Service that reads pages and issues cursors for the current actor's organization. */
export class Cursors extends Context.Service<Cursors, {
  /**
   * Reads one page: decodes the cursor, fetches one row more than the page holds,
   * and issues the next cursor from the last row of the page, or from where the store
   * stopped.
   */
  readonly page: <A, E, R>(
    options: FilteredList & {
      readonly cursor: string | null
      readonly size: number
      readonly fetch: (request: PageRequest) => Effect.Effect<Found<A>, E, R>
      readonly position: (row: A) => Position
    }
  ) => Effect.Effect<Page<A>, E | CursorInvalid, R | CurrentActor>
  /** Issues the cursor of a position in a list that is not in the order of times. */
  readonly issue: (of: FilteredList, position: ReadonlyArray<string>) => Effect.Effect<string, never, CurrentActor>
  /** Decodes the position of a cursor that `issue` made. */
  readonly read: <A>(
    of: FilteredList,
    position: Schema.Codec<A, ReadonlyArray<string>>,
    cursor: string
  ) => Effect.Effect<A, CursorInvalid, CurrentActor>
}>()("@messaging-crm/core/Page/Cursors") {
  static readonly layer = Layer.effect(
    Cursors,
    Effect.gen(function*() {
      const secrets = yield* Secrets

      const scopeOf = ({ filters }: FilteredList) =>
        CurrentActor.use(({ organization_id }) => {
          // Without absent filters: a cursor stays valid if another version has more of them.
          const present = Object.entries(filters).filter(([, value]) => value !== null)
          return secrets.sha256(JSON.stringify([organization_id, present.toSorted()]))
        })

      /** Writes what `Cursor` reads. */
      const write = (list: string, scope: string, position: ReadonlyArray<string>) => {
        const body = encodeBase64Url(JSON.stringify([list, scope, ...position]))
        // Joined for speed (docs/performance.md, Constructs of core).
        return Effect.map(secrets.sign("cursor", body), (signature) => [body, signature].join("."))
      }

      const read = Effect.fnUntraced(function*<A>(
        list: string,
        scope: string,
        position: Schema.Codec<A, ReadonlyArray<string>>,
        cursor: string
      ) {
        const [body = "", signature = "", ...rest] = cursor.split(".")
        if (rest.length > 0 || !(yield* secrets.verify("cursor", body, signature))) return yield* new CursorInvalid()
        const content = Option.flatMap(decodeBase64Url(body), decodeCursor)
        if (Option.isNone(content)) return yield* new CursorInvalid()
        const [list_given, scope_given, ...texts] = content.value
        if (list_given !== list || scope_given !== scope) return yield* new CursorInvalid()
        return yield* Effect.mapError(Schema.decodeEffect(position)(texts), () => new CursorInvalid())
      })

      return Cursors.of({
        page: Effect.fnUntraced(function*(options) {
          const scope = yield* scopeOf(options)
          const given = options.cursor === null ? null : yield* read(options.list, scope, PositionTexts, options.cursor)
          const after = given === null ? null : { at: given[0], id: given[1] }
          const { rows, stopped_at } = yield* options.fetch({ after, size: options.size + 1 })
          const data = rows.slice(0, options.size)
          const last = rows.length > data.length ? data.at(-1) : undefined
          const end = last === undefined ? stopped_at : options.position(last)
          if (end === null) return { data, next_cursor: null }
          return { data, next_cursor: yield* write(options.list, scope, [DateTime.formatIso(end.at), end.id]) }
        }),
        issue: (of, position) => Effect.flatMap(scopeOf(of), (scope) => write(of.list, scope, position)),
        read: (of, position, cursor) => Effect.flatMap(scopeOf(of), (scope) => read(of.list, scope, position, cursor))
      })
    })
  )
}
