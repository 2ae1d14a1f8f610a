/** Sessions of the console: an encrypted cookie, whose member is checked on each request. */
import { CurrentActor } from "@messaging-crm/core/Actor"
import { MemberId, OrganizationId } from "@messaging-crm/core/Ids"
import { type AuthenticatedMember, type MemberSession, MemberSessions } from "@messaging-crm/core/MemberSessions"
import { Timestamp } from "@messaging-crm/core/Timestamps"
import { Data, DateTime, Duration, Effect, Option, Schema } from "effect"
import type { HttpServerResponse } from "effect/http"
import * as SealedCookies from "./SealedCookies.ts"
import type { Settings } from "./Settings.ts"

const Session = Schema.Struct({
  organization_id: OrganizationId,
  member_id: MemberId,
  began_at: Timestamp,
  /** The ID token of the login, for the logout at the provider; null if it is too long for a cookie. */
  id_token: Schema.NullOr(Schema.String),
  /** The token that each write of the page has, in addition to the cookie. */
  token: Schema.String
})
export interface Session extends Schema.Schema.Type<typeof Session> {}

/** The longest ID token in a cookie. Browsers do not store cookies above 4,096 characters. */
const id_token_chars_max = 2000

/** A request has no session, or its session has ended. */
export class LoggedOut extends Data.TaggedError("LoggedOut") {}

/** A session whose member has been checked. */
export interface OpenSession extends AuthenticatedMember {
  readonly session: Session
}

type Cookies = Readonly<Record<string, string>>

const makeToken = (): string => Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(32))).toString("base64url")

export const make = Effect.fnUntraced(
  function*({ keys, organization_id, origin, session_hours }: Omit<Settings, "provider">) {
    const sessions = yield* MemberSessions
    const time = Duration.hours(session_hours)
    const cookie = SealedCookies.make({
      keys,
      origin,
      purpose: "session",
      schema: Schema.toCodecJson(Session),
      time
    })

    /** Checks that the session has not ended: it has not expired, and its member has neither left nor logged out. */
    const check = Effect.fnUntraced(function*(session: Session) {
      const now = yield* DateTime.now
      if (!DateTime.isLessThan(now, DateTime.addDuration(session.began_at, time))) return yield* new LoggedOut()
      const authenticated = yield* Effect.mapError(sessions.authenticate(session), () => new LoggedOut())
      return { ...authenticated, session } satisfies OpenSession
    })

    /** Returns the session of a request. */
    const open = Effect.fnUntraced(function*(cookies: Cookies) {
      const session = Option.filter(
        yield* cookie.read(cookies),
        // Another organization can have been set since the session began.
        (found) => found.organization_id === organization_id
      )
      return yield* check(yield* Effect.fromOption(session, () => new LoggedOut()))
    })

    return {
      check,
      open,
      /** Begins a session of the member with a verified email address. None if there is no such member. */
      begin: (email: string) => sessions.begin(organization_id, email),
      /** Adds the cookie of a new session to a response. */
      set: (session: MemberSession, id_token: string | null) =>
        cookie.set({
          ...session,
          id_token: id_token === null || id_token.length > id_token_chars_max ? null : id_token,
          token: makeToken()
        }),
      /**
       * Removes the cookie from the browser, if the request has it. Otherwise, a request from another site, which has no
       * cookie, would log its victim out.
       */
      remove: (cookies: Cookies, response: HttpServerResponse.HttpServerResponse) =>
        cookie.isSent(cookies) ? cookie.remove(response) : response,
      /** Ends all sessions of the member. */
      end: ({ member_id, organization_id }: Session) =>
        sessions.end(member_id).pipe(
          Effect.provideService(CurrentActor, { organization_id, member_id }),
          Effect.catchTag("MemberNotFound", () => Effect.fail(new LoggedOut()))
        )
    }
  }
)

export type Sessions = Effect.Success<ReturnType<typeof make>>
