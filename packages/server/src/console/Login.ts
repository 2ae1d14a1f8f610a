/** The login: it leads to the identity provider, and from there back to the console with a session. */
import { clientAddress, ipNetworkOf, siteOf } from "@messaging-crm/adapter-http"
import { Turns } from "@messaging-crm/core/Turns"
import { Clock, DateTime, Duration, Effect, Option, Schema } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as IdentityProvider from "./IdentityProvider.ts"
import { MinuteLimit } from "./MinuteLimit.ts"
import * as Pages from "./Pages.ts"
import * as SealedCookies from "./SealedCookies.ts"
import type { Sessions } from "./Sessions.ts"
import { login, login_again, path, type Settings } from "./Settings.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** How many logins use the provider at once: in all, and of one site. */
const [at_once_max, site_at_once_max] = [8, 2]

/** How many requests of a login one network, and one site, can send per minute. A login takes two, or four after logging out. */
const [per_minute_max, site_per_minute_max] = [60, 240]

/** How long a login waits for its turn. */
const turn_wait_max = Duration.seconds(5)

/** The longest accepted address to return to. */
const address_chars_max = 512

const Attempt = Schema.Struct({
  ...IdentityProvider.Attempt.fields,
  /** Whether the login requests the person's credentials even if the provider knows the person. */
  again: Schema.Boolean,
  /** Where the login returns to. */
  to: Schema.String
})
interface Attempt extends Schema.Schema.Type<typeof Attempt> {}

const busy = (retry_after: number, status: number) =>
  Pages.page({
    status,
    retry_after,
    login,
    title: "Too many logins",
    text: "Too many logins are in progress. Try again in a minute."
  })

const rejected = Pages.page({
  status: 400,
  login,
  title: "The login has expired",
  text: "This login was not started in this browser, took too long, or was used before. Log in again."
})

const denied = Pages.page({
  status: 403,
  login: login_again,
  title: "No access",
  text:
    "Your account is not that of a member, or its email address is not verified. Ask an administrator of the console."
})

const unavailable = Pages.page({
  status: 503,
  retry_after: 5,
  login,
  title: "The login is unavailable",
  text: "The identity provider does not respond as expected. Try again later."
})

/** Returns where a login returns to: only to a view of the console, whatever the address says. */
export const returnTo = (address: string | null, origin: string): string => {
  if (address === null || address.length > address_chars_max || !URL.canParse(address, origin)) return path
  const url = new URL(address, origin)
  return url.origin === origin && url.pathname === path ? `${path}${url.hash}` : path
}

/** By how many seconds the provider's clock can be behind that of this process. */
const clock_difference_max = 60

/**
 * Returns whether a person has given their credentials to the provider since they last logged out here. The provider keeps a session of
 * its own, which logging out does not end.
 */
export const isAuthenticatedSince = (
  logged_out_at: DateTime.Utc | null,
  { again, authenticated_at }: Pick<Attempt, "again"> & Pick<IdentityProvider.VerifiedPerson, "authenticated_at">
): boolean => {
  if (logged_out_at === null) return true
  // Without a time, only the request for the credentials counts.
  if (authenticated_at === null) return again
  const seconds = authenticated_at + (again ? clock_difference_max : 0)
  return seconds * 1000 > DateTime.toEpochMillis(logged_out_at)
}

const queryOf = ({ url }: Request): string => /\?[^#]*/.exec(url)?.[0] ?? ""

/** Logs why a login failed, and returns the page for it. */
const explain = (error: IdentityProvider.LoginRejected | IdentityProvider.ProviderUnavailable) =>
  error._tag === "LoginRejected"
    ? Effect.as(Effect.annotateLogs(Effect.logWarning("Login rejected"), { reason: error.reason }), denied)
    : Effect.as(
      Effect.annotateLogs(Effect.logWarning("The identity provider is unavailable"), { reason: error.reason }),
      unavailable
    )

/** Makes the function that runs the part of a login that uses the provider, within the limits. */
const makeLimit = () => {
  const turns = new Turns<string>({ places: at_once_max, share: site_at_once_max })
  const ofNetwork = new MinuteLimit(per_minute_max)
  const ofSite = new MinuteLimit(site_per_minute_max)
  // The network's requests above its limit do not count for its site, so that one host cannot use up the site's limit.
  const secondsAbove = (address: string, now: number) =>
    ofNetwork.count(ipNetworkOf(address), now) || ofSite.count(siteOf(address), now)
  return <E, R>(effect: Effect.Effect<Response, E, R>) =>
    Effect.gen(function*() {
      const address = (yield* clientAddress) ?? ""
      const seconds = secondsAbove(address, yield* Clock.currentTimeMillis)
      if (seconds > 0) return busy(seconds, 429)
      return Option.getOrElse(yield* turns.runWithin(siteOf(address), turn_wait_max, effect), () => busy(5, 503))
    })
}

export const make = (
  settings: Settings,
  sessions: Sessions,
  provider: IdentityProvider.IdentityProvider
) => {
  const limited = makeLimit()
  const cookie = SealedCookies.make({
    keys: settings.keys,
    origin: settings.origin,
    purpose: "login",
    schema: Schema.toCodecJson(Attempt),
    time: Pages.attempt_time
  })

  /** Leads to the provider. */
  const begin = (request: Request) => {
    const query = new URLSearchParams(queryOf(request))
    const to = returnTo(query.get("to"), settings.origin)
    const again = query.get("again") === "true"
    return limited(
      provider.begin({ again }).pipe(
        Effect.flatMap(({ address, attempt }) => cookie.set({ ...attempt, again, to })(Pages.redirect(address))),
        Effect.catch(explain)
      )
    )
  }

  const finish = Effect.fnUntraced(function*({ again, to, ...attempt }: Attempt, query: string) {
    const { authenticated_at, email, id_token } = yield* provider.complete(attempt, query)
    const begun = yield* sessions.begin(email)
    if (Option.isNone(begun)) return yield* new IdentityProvider.LoginRejected({ reason: "not_a_member" })
    const { logged_out_at, ...session } = begun.value
    if (!isAuthenticatedSince(logged_out_at, { again, authenticated_at })) {
      if (again) return yield* new IdentityProvider.LoginRejected({ reason: "not_authenticated_again" })
      return Pages.redirect(`${login_again}&to=${encodeURIComponent(to)}`)
    }
    const { member_id, organization_id } = session
    yield* Effect.annotateLogs(Effect.logInfo("Member logged in"), { member_id, organization_id })
    return yield* sessions.set(session, id_token)(Pages.redirect(to))
  })

  /** Completes the login when the provider has redirected the browser. It ends with it, whatever its outcome is. */
  const complete = (request: Request): Effect.Effect<Response, never, HttpServerRequest.HttpServerRequest> =>
    Effect.gen(function*() {
      const found = yield* cookie.read(request.cookies)
      const query = queryOf(request)
      const [state, ...others] = new URLSearchParams(query).getAll("state")
      // Before the provider is asked: only the browser that began the login has its state.
      if (Option.isNone(found) || state !== found.value.state || others.length > 0) return rejected
      return yield* limited(Effect.catch(finish(found.value, query), explain))
    }).pipe(Effect.map(cookie.remove))

  return { begin, complete }
}

export type Login = ReturnType<typeof make>
