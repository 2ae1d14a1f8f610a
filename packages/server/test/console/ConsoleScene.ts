/** The console behind a login: the whole service in memory with a real provider, and browsers of its members. */
import { TrustedProxies } from "@messaging-crm/adapter-http"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { Audit } from "@messaging-crm/core/Audit"
import { PublicUrl } from "@messaging-crm/core/Media"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { ConfigProvider, Effect, Exit, Layer, ManagedRuntime, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { start as startCrm } from "../../../adapter-http/testing/Service.ts"
import * as Console from "../../src/console/Console.ts"
import { freePort } from "../../src/dev/FreePort.ts"
import * as Listener from "../../src/http/Listener.ts"
import * as Layers from "../../src/Layers.ts"
import * as IdentityProvider from "../../testing/IdentityProvider.ts"
import { Browser, type Received, signIn } from "./Browser.ts"

export const sessionKey = (fill: number) => Buffer.alloc(32, fill).toString("base64")

export const session_cookie = "__Host-messaging-crm-session"
export const login_cookie = "__Host-messaging-crm-login"
export const logout_cookie = "__Host-messaging-crm-logout"

interface Options {
  readonly settings?: Readonly<Record<string, string>>
  readonly claims?: "id_token" | "userinfo"
  /** Whether the provider has a logout. Default: true. */
  readonly has_logout?: boolean
  readonly public_url?: string
}

/** Starts everything. Times in the console are those of a `TestClock`, which `adjust` moves. */
export const startConsole = async (options: Options = {}) => {
  const { claims = "id_token", has_logout = true, public_url = "", settings = {} } = options
  const scope = Scope.makeUnsafe()
  const port = await Effect.runPromise(freePort)
  const origin = `http://localhost:${port}`
  const provider = await Effect.runPromise(
    Effect.provideService(
      IdentityProvider.start({
        claims,
        redirect_uri: `${origin}/console/callback`,
        post_logout_redirect_uri: has_logout ? `${origin}/console/logged-out` : null
      }),
      Scope.Scope,
      scope
    )
  )
  const crm = startCrm()
  const { channel, key, organization, owner } = await crm.organization()
  const asOwner = Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
  const variables = {
    CONSOLE_URL: origin,
    CONSOLE_ORGANIZATION_ID: organization.id,
    CONSOLE_SESSION_KEY: sessionKey(1),
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: IdentityProvider.client.client_id,
    OIDC_CLIENT_SECRET: IdentityProvider.client.client_secret,
    ...settings
  }
  const environment = Layer.mergeAll(
    ConfigProvider.layer(ConfigProvider.fromUnknown(variables)),
    Layer.succeed(References.MinimumLogLevel, "None"),
    Layer.succeed(PublicUrl, public_url),
    // Browsers of the tests name any address in `X-Forwarded-For`.
    Layer.succeed(TrustedProxies, (address) => address === "127.0.0.1"),
    TestClock.layer()
  )
  const runtime = ManagedRuntime.make(
    Layer.unwrap(
      Effect.map(Console.make, (additions) => Layers.api(Effect.succeed(true), { ingress: Layer.empty }, additions))
    ).pipe(
      Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port })),
      Layer.provide(Layer.succeedContext(await crm.runtime.context())),
      Layer.provideMerge(environment)
    )
  )
  await runtime.context()

  const at = (path: string) => `${origin}${path}`

  /** Begins a login, and returns the address of the provider's page. */
  const beginLogin = async (browser: Browser, path = "/console/login"): Promise<string> => {
    const { headers, status, text } = await browser.get(at(path))
    if (status !== 302) throw new Error(`${path} responded with ${status}: ${text}`)
    return headers["location"] ?? ""
  }

  /** Returns a browser in which a person has signed in, and the address of the console to which the provider redirects. */
  const signedIn = async (email: string, path?: string) => {
    const browser = new Browser()
    const callback = await signIn(browser, await beginLogin(browser, path), email)
    return { browser, callback }
  }

  /** Returns a browser in which a member has logged in, with the token of the page. */
  const loggedIn = async (email: string) => {
    const { browser, callback } = await signedIn(email)
    const { status, text } = await browser.get(callback)
    if (status !== 302) throw new Error(`The login failed with ${status}: ${text}`)
    const page = await browser.get(at("/console"))
    const [, token = ""] = /data-token="([^"]+)"/.exec(page.text) ?? []
    const write = (
      path: string,
      body: unknown = {},
      headers: Readonly<Record<string, string>> = {}
    ): Promise<Received> =>
      browser.send("POST", at(path), {
        headers: { origin, "content-type": "application/json", "x-csrf-token": token, ...headers },
        body: JSON.stringify(body)
      })
    const call = (name: string, input: unknown = {}, headers: Readonly<Record<string, string>> = {}) =>
      write(`/console/call/${name}`, input, headers)
    return { browser, call, page, token, write }
  }

  const add = (email: string) =>
    crm.runtime.runPromise(
      asOwner(Members.use((members) => members.add(AddMember.make({ name: "Grace Hopper", email, role: "member" }))))
    )

  const remove = (id: Effect.Success<ReturnType<Members["Service"]["add"]>>["id"]) =>
    crm.runtime.runPromise(asOwner(Members.use((members) => members.remove(id))))

  const audit = (member_id: typeof owner.id) =>
    crm.runtime.runPromise(
      asOwner(Audit.use(({ list }) => list({ resource_id: null, key_id: null, member_id, before: null }, 100)))
    )

  const stop = async () => {
    await runtime.dispose()
    await crm.stop()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }

  return {
    add,
    adjust: (duration: Parameters<typeof TestClock.adjust>[0]) => runtime.runPromise(TestClock.adjust(duration)),
    at,
    audit,
    beginLogin,
    channel,
    crm,
    key,
    loggedIn,
    origin,
    owner,
    provider,
    remove,
    signedIn,
    stop
  }
}

export type ConsoleScene = Awaited<ReturnType<typeof startConsole>>
