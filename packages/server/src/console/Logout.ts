/**
 * Logging out: it ends the sessions of the member here, and then that of the browser at the identity provider, if the provider has such an
 * operation.
 */
import { Effect, Option, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import type { IdentityProvider } from "./IdentityProvider.ts"
import * as Pages from "./Pages.ts"
import * as SealedCookies from "./SealedCookies.ts"
import type { OpenSession, Sessions } from "./Sessions.ts"
import { login_again, path, type Settings } from "./Settings.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The secret of one logout. The browser keeps it, encrypted, until the provider has redirected it. */
const Attempt = Schema.Struct({ state: Schema.String })

const loggedOut = Pages.page({
  status: 200,
  login: login_again,
  title: "Logged out",
  text: "You have logged out in every browser."
})

const expired = Pages.page({
  status: 400,
  login: login_again,
  title: "The logout has expired",
  text: "This logout was not started in this browser, took too long, or was completed before."
})

const tryAgain = Pages.reject({
  status: 503,
  code: "unavailable",
  message: "The server is busy. Try again.",
  retry_after: 1
})

export const make = ({ keys, origin }: Settings, sessions: Sessions, provider: IdentityProvider) => {
  const cookie = SealedCookies.make({
    keys,
    origin,
    purpose: "logout",
    schema: Schema.toCodecJson(Attempt),
    time: Pages.attempt_time
  })

  /** Responds with the provider's address, which the page opens; with 204 if the provider has no logout. */
  const leave = Effect.fnUntraced(function*({ id_token }: OpenSession["session"]) {
    const found = yield* provider.beginLogout(id_token)
    if (Option.isNone(found)) return Pages.empty()
    const { address, state } = found.value
    return yield* cookie.set({ state })(Pages.json({ location: address.href }))
  })

  /** Ends all sessions of the member. */
  const begin = ({ cookies }: Request, { session }: OpenSession) =>
    sessions.end(session).pipe(
      Effect.andThen(leave(session)),
      Effect.map((response) => sessions.remove(cookies, response)),
      Effect.catchTag("ConcurrentChanges", () => Effect.succeed(tryAgain))
    )

  /** Shows that the member has logged out. The provider redirects here with the state of the logout. */
  const complete = Effect.fnUntraced(function*({ cookies, url }: Request) {
    const [state, ...others] = new URL(url, origin).searchParams.getAll("state")
    if (state === undefined) return loggedOut
    const isBegun = Option.exists(yield* cookie.read(cookies), (attempt) => attempt.state === state)
    // Without the state, the address can be loaded again.
    return isBegun && others.length === 0 ? cookie.remove(Pages.redirect(`${path}/logged-out`)) : expired
  })

  return { begin, complete }
}

export type Logout = ReturnType<typeof make>
