/**
 * The organization's identity provider, over OpenID Connect: the authorization code flow with PKCE, state, and nonce.
 *
 * `openid-client` implements the protocol. It checks the issuer of the response (RFC 9207) and of the ID token, its audience, expiry,
 * nonce, and signature.
 */
import * as SharedResult from "@messaging-crm/adapter-http/SharedResult"
import { Data, Effect, Option, Redacted, Schema } from "effect"
import * as OpenId from "openid-client"

export interface Settings {
  readonly issuer: string
  readonly client_id: string
  readonly client_secret: Redacted.Redacted
  /** The address to which the provider redirects. */
  readonly redirect_uri: string
  /** The address to which the provider redirects after a logout. */
  readonly post_logout_redirect_uri: string
}

/** The secrets of one login. The browser keeps them, encrypted, until the provider has redirected it. */
export const Attempt = Schema.Struct({
  state: Schema.String,
  nonce: Schema.String,
  code_verifier: Schema.String
})
export interface Attempt extends Schema.Schema.Type<typeof Attempt> {}

/** The provider rejected the login, or its response is not valid. `reason` is a constant, for the log. */
export class LoginRejected extends Data.TaggedError("LoginRejected")<{ readonly reason: string }> {}

/** The provider could not be reached, or its configuration could not be read. */
export class ProviderUnavailable extends Data.TaggedError("ProviderUnavailable")<{ readonly reason: string }> {}

/** The seconds that the provider has for each response. */
const response_seconds_max = 10

/**
 * The age of an authentication up to which the provider can use it, in seconds: a year, which is no restriction. With the parameter,
 * the provider must say how old the authentication is.
 */
const authentication_seconds_max = 31_536_000

/** How long the provider's configuration is used. Its signing keys are read again whenever one is unknown. */
const configuration_time = "1 hour"

/** Returns the constant that names an error. Its message can contain values of the request. */
const reasonOf = (error: unknown): string => {
  const { code, error: name } = error as { readonly code?: unknown; readonly error?: unknown }
  for (const text of [name, code]) if (typeof text === "string" && /^[A-Za-z_]{1,60}$/.test(text)) return text
  return error instanceof Error ? error.name : "unknown"
}

/** A response of the provider that says no, as opposed to none. */
const isRejection = (error: unknown): boolean =>
  error instanceof OpenId.AuthorizationResponseError || error instanceof OpenId.ResponseBodyError ||
  (error instanceof OpenId.ClientError && error.code !== "OAUTH_TIMEOUT" && error.code !== "OAUTH_ABORT")

/** Sends the secret as the provider supports it. Without its metadata, the standard's default applies. */
const authenticateWith = (secret: string): OpenId.ClientAuth => (server, client, body, headers) => {
  const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = server
  const auth = methods.includes("client_secret_basic")
    ? OpenId.ClientSecretBasic(secret)
    : OpenId.ClientSecretPost(secret)
  return auth(server, client, body, headers)
}

/** Only the settings can name an issuer without TLS, and only on this machine. */
const isInsecure = (issuer: string): boolean => new URL(issuer).protocol === "http:"

const discover = ({ client_id, client_secret, issuer }: Settings) =>
  Effect.tryPromise({
    try: () =>
      OpenId.discovery(new URL(issuer), client_id, {}, authenticateWith(Redacted.value(client_secret)), {
        timeout: response_seconds_max,
        execute: [OpenId.enableNonRepudiationChecks, ...isInsecure(issuer) ? [OpenId.allowInsecureRequests] : []]
      }),
    catch: (error) => new ProviderUnavailable({ reason: reasonOf(error) })
  })

const Identity = Schema.Struct({
  email: Schema.String,
  email_verified: Schema.Literal(true),
  auth_time: Schema.optional(Schema.Number)
})

/** A person as the provider has verified them. */
export interface VerifiedPerson {
  readonly email: string
  /** When the person last gave their credentials, in seconds since 1970. Null if the provider does not say it. */
  readonly authenticated_at: number | null
  /** The signed statement of the provider, which names the person when they log out. */
  readonly id_token: string | null
}

/** Asks the provider with the code, and returns what it says about the person. The ID token has the time. */
const claimsOf = async (
  configuration: OpenId.Configuration,
  address: URL,
  { code_verifier, nonce, state }: Attempt
): Promise<{ readonly claims: Readonly<Record<string, unknown>>; readonly id_token: string | null }> => {
  const tokens = await OpenId.authorizationCodeGrant(configuration, address, {
    pkceCodeVerifier: code_verifier,
    expectedNonce: nonce,
    expectedState: state,
    idTokenExpected: true
  })
  const { access_token, id_token = null } = tokens
  const claims = tokens.claims()
  if (claims === undefined || claims["email"] !== undefined) return { claims: { ...claims }, id_token }
  const info = await OpenId.fetchUserInfo(configuration, access_token, claims.sub)
  return { claims: { ...info, auth_time: claims.auth_time }, id_token }
}

/** Makes the provider of the settings. Nothing is read from it before the first login. */
export const make = Effect.fnUntraced(function*(settings: Settings) {
  const configuration = yield* SharedResult.make(discover(settings), configuration_time)

  /** Begins a login: returns its secrets, and the address of the provider's page. `again` requests the person's credentials. */
  const begin = Effect.fnUntraced(function*({ again }: { readonly again: boolean }) {
    const known = yield* configuration
    const attempt: Attempt = {
      state: OpenId.randomState(),
      nonce: OpenId.randomNonce(),
      code_verifier: OpenId.randomPKCECodeVerifier()
    }
    const code_challenge = yield* Effect.promise(() => OpenId.calculatePKCECodeChallenge(attempt.code_verifier))
    const address = OpenId.buildAuthorizationUrl(known, {
      redirect_uri: settings.redirect_uri,
      scope: "openid email",
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge,
      code_challenge_method: "S256",
      max_age: String(authentication_seconds_max),
      ...again ? { prompt: "login" } : {}
    })
    return { attempt, address }
  })

  /** Completes a login, and returns whom the provider has verified. `query` is that of the provider's redirect. */
  const complete = Effect.fnUntraced(function*(attempt: Attempt, query: string) {
    const known = yield* configuration
    const address = new URL(`${settings.redirect_uri}${query}`)
    const { claims, id_token } = yield* Effect.tryPromise({
      try: () => claimsOf(known, address, attempt),
      catch: (error) =>
        isRejection(error)
          ? new LoginRejected({ reason: reasonOf(error) })
          : new ProviderUnavailable({ reason: reasonOf(error) })
    })
    const { auth_time = null, email } = yield* Schema.decodeUnknownEffect(Identity)(claims).pipe(
      Effect.mapError(() => new LoginRejected({ reason: "email_not_verified" }))
    )
    return { email, id_token, authenticated_at: auth_time } satisfies VerifiedPerson
  })

  /**
   * Begins a logout: returns its secret, and the address at which the provider ends its session of the browser. Returns
   * `Option.none()` if the provider has no logout, or is unavailable.
   */
  const beginLogout = Effect.fnUntraced(
    function*(id_token: string | null) {
      const known = yield* configuration
      if (known.serverMetadata().end_session_endpoint === undefined) return Option.none()
      const state = OpenId.randomState()
      const address = yield* Effect.try({
        try: () =>
          OpenId.buildEndSessionUrl(known, {
            post_logout_redirect_uri: settings.post_logout_redirect_uri,
            state,
            ...id_token === null ? {} : { id_token_hint: id_token }
          }),
        catch: (error) => new ProviderUnavailable({ reason: reasonOf(error) })
      })
      return Option.some({ address, state })
    },
    Effect.catch(({ reason }) =>
      Effect.as(
        Effect.annotateLogs(Effect.logWarning("The identity provider has no usable logout"), { reason }),
        Option.none()
      )
    )
  )

  return { begin, beginLogout, complete }
})

export type IdentityProvider = Effect.Success<ReturnType<typeof make>>
