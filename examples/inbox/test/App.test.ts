/** The application around the inbox, with a service that must not be called. */
import { signWebhook } from "@messaging-crm/client"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { makeApp } from "../src/App.ts"

const origin = "http://127.0.0.1"
const secret = `whsec_${btoa("the secret of the webhook")}`
const payload = JSON.stringify({
  id: "0199",
  type: "message.received",
  timestamp: "2026-11-20T10:00:00.000Z",
  data: { conversation_id: "0200", message_id: "0201" }
})

const start = () => makeApp({ apiKey: "key", baseUrl: `${origin}:1`, hosts: ["127.0.0.1"], password: "the password" })
let inbox = start()

const call = async (path: string, init: RequestInit = {}) => inbox.app.request(`${origin}${path}`, init)

const logIn = (password: string) => call("/login", { method: "POST", body: new URLSearchParams({ password }) })

/** Logs in, and returns the header of a request with the session. */
const session = async () => {
  const [cookie = ""] = (await logIn("the password")).headers.getSetCookie()[0]?.split(";") ?? []
  return { cookie }
}

const hook = async (signingSecret: string) =>
  (await call("/hooks", {
    method: "POST",
    body: payload,
    headers: await signWebhook({ payload, secret: signingSecret })
  })).status

beforeEach(() => void (inbox = start()))
afterEach(() => inbox.close())

describe("without a session", () => {
  it("the page redirects to the login", async () => {
    assert.equal((await call("/inbox")).headers.get("location"), "/login")
  })

  it("there is no stream and no operation", async () => {
    const headers = { cookie: "session=forged", origin }
    assert.equal((await call("/inbox/stream", { headers })).status, 401)
    assert.equal((await call("/inbox/call/conversations", { method: "POST", headers })).status, 401)
  })

  it("only the password starts one", async () => {
    assert.equal((await logIn("another password")).status, 401)
    assert.equal((await call("/inbox", { headers: await session() })).status, 200)
  })
})

describe("an event of the service", () => {
  it("is rejected before the app has the secret, and then with another one", async () => {
    assert.equal(await hook(secret), 503)
    inbox.setSigningSecret(secret)
    assert.equal(await hook(`whsec_${btoa("another secret")}`), 401)
  })

  it("appears in the stream of an open page", async () => {
    inbox.setSigningSecret(secret)
    const stream = await call("/inbox/stream", { headers: await session() })
    assert.equal(await hook(secret), 204)
    let received = ""
    for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      received += chunk
      if (received.includes("\"type\":\"message.received\"")) break
    }
    assert.include(received, "0201")
  })
})
