import { verifyWebhook } from "@messaging-crm/client"
import { makeConsole } from "@messaging-crm/console"
import { Hono } from "hono"
import { getCookie, setCookie } from "hono/cookie"
import { createHash, randomUUID, timingSafeEqual } from "node:crypto"

export interface Settings {
  /**
   * The key that the inbox acts with. It needs the scopes of what your users do there. They share its limit, so set
   * `RATE_LIMIT_PER_MINUTE` of the service to at least 100 times their number.
   */
  readonly apiKey: string
  readonly baseUrl: string
  /** The host names of this app. */
  readonly hosts: ReadonlyArray<string>
  readonly password: string
}

const loginPage = `<!doctype html><title>Log in</title>
<form method="post"><label>Password <input type="password" name="password" autofocus></label> <button>Log in</button></form>`

const digest = (text: string) => createHash("sha256").update(text).digest()

/** Returns an app with a login, and the inbox behind it. */
export const makeApp = ({ apiKey, baseUrl, hosts, password }: Settings) => {
  const inbox = makeConsole({ apiKey, baseUrl, hosts, path: "/inbox" })
  // In your app: your existing sessions and users.
  const sessions = new Set<string>()
  let signing_secret: string | null = null

  const app = new Hono()
  app.get("/login", (context) => context.html(loginPage))
  app.post("/login", async (context) => {
    const { password: given } = await context.req.parseBody()
    if (!timingSafeEqual(digest(String(given)), digest(password))) return context.text("Wrong password.", 401)
    const session = randomUUID()
    sessions.add(session)
    // In production also `secure: true`, for a session that travels over https only.
    setCookie(context, "session", session, { httpOnly: true, sameSite: "Strict", path: "/" })
    return context.redirect("/inbox")
  })

  // The login comes first. The inbox checks the host and the origin of a request, and not who sends it.
  app.use("/inbox/*", async (context, next) => {
    if (sessions.has(getCookie(context, "session") ?? "")) return next()
    return context.req.path === "/inbox" ? context.redirect("/login") : context.text("Log in first.", 401)
  })
  app.all("/inbox/*", (context) => inbox.handle(context.req.raw))

  // Events of the service, which make open pages change by themselves.
  app.post("/hooks", async (context) => {
    if (signing_secret === null) return context.body(null, 503)
    const payload = await context.req.text()
    const { headers } = context.req.raw
    const event = await verifyWebhook({ payload, headers, secret: signing_secret }).catch(() => null)
    if (event === null) return context.body(null, 401)
    inbox.publish(event)
    return context.body(null, 204)
  })

  /** Sets the secret that the service returns when it creates the webhook, for which the app must listen already. */
  const setSigningSecret = (secret: string) => {
    signing_secret = secret
  }
  return { app, close: inbox.close, setSigningSecret }
}
