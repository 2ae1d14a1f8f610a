/** An OpenID Connect provider on this machine: the certified `oidc-provider`, with accounts for any email address. */
import { Effect } from "effect"
import { exportJWK, generateKeyPair } from "jose"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import { type Configuration, Provider } from "oidc-provider"
import { freePort } from "../src/dev/FreePort.ts"

export const client = { client_id: "console", client_secret: "a-client-secret" }

interface Options {
  readonly redirect_uri: string
  /** Where the provider redirects after its logout. Null for a provider without one. */
  readonly post_logout_redirect_uri: string | null
  /** Where the provider says who the person is. Default: in the ID token. */
  readonly claims?: "id_token" | "userinfo"
}

/** The email address of an account whose owner has not verified it. */
export const unverified = "unverified@acme.example"

/** The email address of an account whose ID token is too long for a cookie. */
export const in_many_groups = "groups@acme.example"

const groups = Array.from({ length: 100 }, (_, index) => `group-${index}-of-the-directory`)

const configurationOf = async (
  { claims = "id_token", post_logout_redirect_uri, redirect_uri }: Options
): Promise<Configuration> => {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true })
  return {
    clients: [{
      ...client,
      redirect_uris: [redirect_uri],
      ...post_logout_redirect_uri === null ? {} : { post_logout_redirect_uris: [post_logout_redirect_uri] }
    }],
    jwks: { keys: [{ ...await exportJWK(privateKey), alg: "RS256", use: "sig", kid: "test" }] },
    ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    cookies: { keys: ["a-cookie-key"] },
    claims: { openid: ["sub"], email: ["email", "email_verified", "groups"] },
    conformIdTokenClaims: claims === "userinfo",
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: post_logout_redirect_uri !== null,
        logoutSource: (context, form) => {
          context.body = `<!doctype html><html lang="en"><title>Sign out</title><link rel="icon" href="data:,">${form}
<button form="op.logoutForm" name="logout" value="yes">Sign out</button></html>`
        }
      }
    },
    pkce: { required: () => true },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    // The account of each email address, which is its ID too.
    findAccount: (_, accountId) => ({
      accountId,
      claims: () => ({
        sub: accountId,
        email: accountId,
        email_verified: accountId !== unverified,
        ...accountId === in_many_groups ? { groups } : {}
      })
    }),
    // Every account has consented.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId ?? "",
        accountId: oidc.session?.accountId ?? ""
      })
      grant.addOIDCScope("openid email")
      await grant.save()
      return grant
    }
  }
}

const form = (uid: string) =>
  `<!doctype html><html lang="en"><title>Sign in</title><link rel="icon" href="data:,"><form method="post" action="/interaction/${uid}">
<label>Email <input name="email"></label><button>Sign in</button></form></html>`

const textOf = async (request: IncomingMessage): Promise<string> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}

/** The page on which a person signs in with an email address. */
const interact = async (provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { uid } = await provider.interactionDetails(request, response)
  if (request.method !== "POST") {
    response.writeHead(200, { "content-type": "text/html" }).end(form(uid))
    return
  }
  const accountId = new URLSearchParams(await textOf(request)).get("email") ?? ""
  await provider.interactionFinished(request, response, { login: { accountId } }, { mergeWithLastSubmission: false })
}

/** Starts a provider, which stops with the scope. `calls` counts its requests by path. */
export const start = Effect.fnUntraced(function*(options: Options) {
  const issuer = `http://127.0.0.1:${yield* freePort}`
  const configuration = yield* Effect.promise(() => configurationOf(options))
  const provider = new Provider(issuer, configuration)
  const respond = provider.callback()
  const calls = new Map<string, number>()
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createServer((request, response) => {
        const { pathname } = new URL(request.url ?? "/", issuer)
        calls.set(pathname, (calls.get(pathname) ?? 0) + 1)
        if (!pathname.startsWith("/interaction/")) return void respond(request, response)
        interact(provider, request, response).catch(() => response.writeHead(400).end())
      }).listen(Number(new URL(issuer).port), "127.0.0.1")
    ),
    (server) => Effect.sync(() => server.close().closeAllConnections())
  )
  yield* Effect.promise(() => once(server, "listening"))
  return { calls, issuer }
})

export type IdentityProvider = Effect.Success<ReturnType<typeof start>>
