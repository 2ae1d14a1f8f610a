/**
 * The console of `serve --console`: the inbox for members of one organization, behind a login at their identity provider.
 *
 * `Service.ts` loads it only with the flag. The page has no API key: what it requests runs in this process on behalf of the member,
 * with an audit record that names the member.
 */
import { Organizations } from "@messaging-crm/core/Organizations"
import { Deferred, Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { StartupRejected } from "../settings/Config.ts"
import * as IdentityProvider from "./IdentityProvider.ts"
import * as Inbox from "./Inbox.ts"
import * as Login from "./Login.ts"
import * as Logout from "./Logout.ts"
import { MinuteLimit } from "./MinuteLimit.ts"
import * as Pages from "./Pages.ts"
import * as RequestChecks from "./RequestChecks.ts"
import * as Sessions from "./Sessions.ts"
import { login, path, read, type Settings, stylesheet } from "./Settings.ts"

type ServerRequest = HttpServerRequest.HttpServerRequest
type Respond = (request: ServerRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, ServerRequest>

/** The maximum number of writes and operations of a member per minute. */
const member_calls_per_minute_max = 600

/** How often the session of an open page is checked. */
const check_interval = "30 seconds"

const loggedOut = { status: 401, code: "unauthorized", message: "Your session has ended. Log in again." }
const noToken = { status: 403, code: "forbidden", message: "The token of the page is missing. Reload the page." }
const tooMany = { status: 429, code: "rate_limited", message: "Too many requests. Wait a minute." }

/** Returns the name after the console's path: the part of the console that a request is for. */
const sectionOf = ({ url }: ServerRequest): string => /^\/console\/([^/?#]*)/.exec(url)?.[1] ?? ""

/** Returns the request as the console's handler reads it. It has been checked, so it needs no other header. */
const webRequest = ({ method, url }: ServerRequest, origin: string, body: ArrayBuffer | null = null) =>
  new Request(`${origin}${url}`, { method, body, ...method === "POST" ? { headers: { origin } } : {} })

interface Parts {
  readonly settings: Settings
  readonly sessions: Sessions.Sessions
  readonly inbox: Inbox.Inbox
  readonly login: Login.Login
  readonly logout: Logout.Logout
  /** Completes when the process stops. */
  readonly stopped: Effect.Effect<void>
}

/** Makes the part of the console that needs a session. */
const makeMemberPart = ({ inbox, logout, sessions, settings: { origin }, stopped }: Parts) => {
  const perMinute = new MinuteLimit(member_calls_per_minute_max)

  const call = Effect.fnUntraced(function*(request: ServerRequest, open: Sessions.OpenSession) {
    const body = yield* RequestChecks.readBody(request)
    if (body === null) return Pages.reject(RequestChecks.bodyTooLarge)
    return HttpServerResponse.fromWeb(yield* inbox.handle(open, webRequest(request, origin, body)))
  })

  const write = Effect.fnUntraced(function*(request: ServerRequest, open: Sessions.OpenSession) {
    if (!RequestChecks.hasToken(request, open.session.token)) return Pages.reject(noToken)
    const now = yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)
    const retry_after = perMinute.count(open.member.id, now)
    if (retry_after > 0) return Pages.reject({ ...tooMany, retry_after })
    return yield* sectionOf(request) === "logout" ? logout.begin(request, open) : call(request, open)
  })

  /** Completes when a session has ended, or when the process stops. */
  const endOf = (session: Sessions.Session) =>
    Effect.raceFirst(
      Effect.ignore(Effect.forever(Effect.delay(sessions.check(session), check_interval))),
      stopped
    )

  return Effect.fnUntraced(function*(request: ServerRequest) {
    const open = yield* sessions.open(request.cookies)
    if (request.method !== "GET") return yield* write(request, open)
    return sectionOf(request) === "stream"
      ? inbox.stream(open, webRequest(request, origin), endOf(open.session))
      : HttpServerResponse.fromWeb(yield* inbox.handle(open, webRequest(request, origin)))
  })
}

/** Makes the function that responds to every request for the console's path or a path below it. */
const makeRespond = (parts: Parts): Respond => {
  const asMember = makeMemberPart(parts)
  /** The parts that need no session. */
  const open: Readonly<Record<string, Respond>> = {
    "login": parts.login.begin,
    "callback": parts.login.complete,
    "logged-out": parts.logout.complete
  }
  return (request) => {
    const rejection = RequestChecks.rejectionOf(request, parts.settings.origin)
    if (rejection !== null) return Effect.succeed(Pages.reject(rejection))
    const section = sectionOf(request)
    const isGet = request.method === "GET"
    const respond = isGet && Object.hasOwn(open, section) ? open[section] : undefined
    if (respond !== undefined) return respond(request)
    if (isGet && request.url === stylesheet) {
      return Effect.map(parts.inbox.file(webRequest(request, parts.settings.origin)), HttpServerResponse.fromWeb)
    }
    const whenLoggedOut = isGet && section === "" ? Pages.redirect(login) : Pages.reject(loggedOut)
    return Effect.catchTag(
      asMember(request),
      "LoggedOut",
      () => Effect.succeed(parts.sessions.remove(request.cookies, whenLoggedOut))
    )
  }
}

const unknownOrganization = new StartupRejected({
  message: "CONSOLE_ORGANIZATION_ID is the ID of no organization. `messaging-crm organizations list` shows the IDs."
})

/** Makes the routes of the console, and the effect that ends the streams of its pages before the server stops. */
export const make = Effect.gen(function*() {
  const settings = yield* read
  const stopped = yield* Deferred.make<void>()

  const routes = HttpRouter.use(Effect.fnUntraced(function*(router) {
    yield* Organizations.use(({ get }) => get(settings.organization_id)).pipe(
      Effect.mapError(() => unknownOrganization)
    )
    const sessions = yield* Sessions.make(settings)
    const provider = yield* IdentityProvider.make(settings.provider)
    const respond = makeRespond({
      settings,
      sessions,
      inbox: yield* Inbox.make(settings),
      login: Login.make(settings, sessions, provider),
      logout: Logout.make(settings, sessions, provider),
      stopped: Deferred.await(stopped)
    })
    // It matches the path itself too.
    yield* router.add("*", `${path}/*`, Effect.flatMap(HttpServerRequest.HttpServerRequest, respond))
  }))

  return { routes, stop: Effect.asVoid(Deferred.succeed(stopped, undefined)) }
})
