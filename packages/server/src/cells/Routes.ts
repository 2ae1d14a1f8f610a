/** Finds the cell that responds to a request: that of its API key, or of the organization in its media link. */
import * as Http from "@messaging-crm/adapter-http"
import {
  ApiKeys,
  type Authentication,
  type KeyDigest,
  type RateLimited,
  Unauthorized
} from "@messaging-crm/core/ApiKeys"
import { OrganizationClosed } from "@messaging-crm/core/Commit"
import { limits } from "@messaging-crm/core/Limits"
import { Media, MediaNotFound, type OpenedFile } from "@messaging-crm/core/Media"
import { Cause, Effect, Exit, Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import { type Cell, Resolution } from "./Cell.ts"
import { startedOf } from "./Cells.ts"
import { Directory, type Located } from "./Directory.ts"

/** The cell that responds, and the result of finding it. */
export interface Route {
  readonly cell: Cell
  readonly resolution: Resolution
}

/** The key of a request, read as the API reads it. Only keys in queries need the query. */
const credential = HttpApiBuilder.securityDecode(HttpApiSecurity.bearer).pipe(
  Effect.provideService(HttpServerRequest.ParsedSearchParams, {})
)

/** Turns an error that only the owner of a key or file can have into something found. */
const foundUnless =
  <Absent>(isAbsent: (error: unknown) => error is Absent) =>
  <A, E, R>(asked: Effect.Effect<A, E | Absent, R>): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
    Effect.match(asked, {
      onFailure: (error) => isAbsent(error) ? Option.none() : Option.some(Exit.fail(error)),
      onSuccess: (found) => Option.some(Exit.succeed(found))
    })

const isUnauthorized = (error: unknown): error is Unauthorized => error instanceof Unauthorized
const isMediaNotFound = (error: unknown): error is MediaNotFound => error instanceof MediaNotFound

/**
 * Returns the route where no cell has what the request names, or one could not say so: the remembered cell responds with the
 * error, else any cell.
 */
const unlocated = <E>(
  cells: ReadonlyArray<Cell>,
  remembered: Cell | undefined,
  resolutionOf: (exit: Exit.Exit<never, E>) => Resolution
) =>
(cause: Cause.Cause<E>) =>
  Cause.hasInterruptsOnly(cause)
    ? Effect.interrupt
    : Effect.sync((): Route => ({
      cell: remembered ?? startedOf(cells),
      resolution: resolutionOf(Exit.failCause(cause))
    }))

/**
 * Looks once more for a key that no cell has: its organization may have left one cell, in which it was not found any more,
 * and arrived in another, in which it was not found yet. Dies with `OrganizationClosed` if it is in neither.
 */
const foundAfterMove = Effect.fnUntraced(function*<A, E, R>(
  cells: ReadonlyArray<Cell>,
  digest: KeyDigest,
  located: Effect.Effect<Option.Option<A>, E, R>
) {
  const first = yield* located
  if (Option.isSome(first) || cells.length === 1) return first
  const moving = yield* Effect.forEach(cells, ({ running }) => running?.isMoving(digest) ?? Effect.succeed(false), {
    concurrency: "unbounded"
  })
  const second = yield* located
  return Option.isNone(second) && moving.includes(true) ? yield* Effect.die(new OrganizationClosed()) : second
})

/** Makes the function that finds the route of a request to an endpoint of the contract. */
export const make = (cells: ReadonlyArray<Cell>) => {
  const keys = new Directory<KeyDigest, Cell>(cells)
  const owners = new Directory<string, Cell>(cells)
  const withinLimit = Http.limitUnknownKeys(limits.unknown_keys_at_once)

  const ofKey = (digest: KeyDigest) => {
    const resolutionOf = (exit: Exit.Exit<Authentication, RateLimited | Unauthorized>) =>
      Resolution.Key({ digest, exit })
    const located = keys.find(
      digest,
      (cell) => foundUnless(isUnauthorized)(cell.use(ApiKeys, ({ authenticate }) => authenticate(digest)))
    )
    // Fails as authentication does, so that the limit applies to keys that no cell has accepted.
    const found = Effect.flatMap(
      foundAfterMove(cells, digest, located),
      (found) => Effect.fromOption(found, () => new Unauthorized())
    )
    return Effect.matchCauseEffect(withinLimit({ digest, address: Http.clientAddress }, found), {
      onFailure: unlocated(cells, keys.remembered(digest), resolutionOf),
      onSuccess: ({ cell, found }): Effect.Effect<Route> => Effect.succeed({ cell, resolution: resolutionOf(found) })
    })
  }

  /** A link begins with the ID of its organization. A cell verifies its signature before it reads anything. */
  const ofLink = (link: string) => {
    const resolutionOf = (exit: Exit.Exit<OpenedFile, MediaNotFound>) => Resolution.Link({ link, exit })
    const owner = link.slice(0, link.indexOf("."))
    const located = owners.find(
      owner,
      (cell) => foundUnless(isMediaNotFound)(cell.use(Media, ({ open }) => open(link)))
    )
    const found = Effect.flatMap(located, (found) => Effect.fromOption(found, () => new MediaNotFound()))
    return Effect.matchCauseEffect(found, {
      onFailure: unlocated(cells, owners.remembered(owner), resolutionOf),
      onSuccess: ({ cell, found }: Located<Cell, Exit.Exit<OpenedFile, MediaNotFound>>): Effect.Effect<Route> =>
        Effect.succeed({ cell, resolution: resolutionOf(found) })
    })
  }

  const nothing = Effect.sync((): Route => ({ cell: startedOf(cells), resolution: Resolution.Nothing() }))

  return Effect.fnUntraced(function*(endpoint: { readonly template: string }) {
    if (endpoint.template === "/v1/openapi.json") return yield* nothing
    if (endpoint.template === "/media/:link") {
      const request = yield* HttpServerRequest.HttpServerRequest
      return yield* ofLink(Http.pathOf(request).slice("/media/".length))
    }
    const presented = yield* credential
    const digest = yield* Effect.option(startedOf(cells).use(ApiKeys, ({ digest }) => digest(presented)))
    // Without a key, any cell responds as a single one does.
    return yield* Option.match(digest, { onNone: () => nothing, onSome: ofKey })
  })
}
