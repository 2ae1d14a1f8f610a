/** Starts the service and the application, logs in, and prints a received message. `npm start -- --keep` keeps both running. */
import { serve } from "@hono/node-server"
import { MessagingCrm } from "@messaging-crm/client"
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { makeApp } from "./App.ts"

const binary = fileURLToPath(new URL("../../../packages/server/src/main.ts", import.meta.url))
const service = spawn(process.execPath, [binary, "dev", "--storage", "memory", "--port", "0", "--json"], {
  // Only for a webhook on the same machine: in production, an endpoint is public and uses HTTPS.
  env: { ...process.env, WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8", LOG_LEVEL: "error" },
  stdio: ["ignore", "pipe", "inherit"]
})
const [ready] = await once(createInterface(service.stdout), "line")
const { api_key: apiKey, base_url: baseUrl, channels, template_ids } = JSON.parse(ready)

const password = "a password of yours"
const { app, close, setSigningSecret } = makeApp({ apiKey, baseUrl, hosts: ["127.0.0.1"], password })
const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 })
await once(server, "listening")
const address = server.address()
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`

const crm = new MessagingCrm({ apiKey, baseUrl })
const webhook = await crm.webhooks.create({
  url: `${origin}/hooks`,
  event_types: ["message.received", "message.sent", "message.updated", "send.failed", "conversation.closed"]
})
setSigningSecret(webhook.signing_secret)

// Without a session there is no page, no operation and no stream.
assert.equal((await fetch(`${origin}/inbox`, { redirect: "manual" })).headers.get("location"), "/login")
assert.equal((await fetch(`${origin}/inbox/stream`)).status, 401)
assert.equal((await fetch(`${origin}/inbox/call/conversations`, { method: "POST", headers: { origin } })).status, 401)

const login = await fetch(`${origin}/login`, {
  method: "POST",
  body: new URLSearchParams({ password }),
  redirect: "manual"
})
const [cookie = ""] = login.headers.getSetCookie()[0]?.split(";") ?? []
assert.equal((await fetch(`${origin}/inbox`, { headers: { cookie } })).status, 200)

const stream = await fetch(`${origin}/inbox/stream`, { headers: { cookie } })
const received = (async () => {
  const decoder = new TextDecoder()
  for await (const chunk of stream.body ?? []) {
    const message = decoder.decode(chunk)
    if (message.includes("\"type\":\"message.received\"")) return message
  }
  return ""
})()

// A number that ends in 0007 replies.
await crm.conversations.start({
  channel_id: channels.find(({ type }: { type: string }) => type === "phone_messaging").id,
  phone: "+49 151 5550007",
  template: {
    id: template_ids.find((id: string) => id.endsWith("spring_sale")),
    components: [{ type: "body", parameters: [{ type: "text", text: "20%" }, { type: "text", text: "Sunday" }] }]
  }
})
console.log((await received).trim())

if (process.argv.includes("--keep")) {
  process.once("SIGTERM", () => service.kill("SIGTERM") && process.exit())
  console.log(`The inbox is at ${origin}/inbox, and the password is: ${password}`)
} else {
  close()
  server.close()
  service.kill("SIGTERM")
  await once(service, "exit")
}
