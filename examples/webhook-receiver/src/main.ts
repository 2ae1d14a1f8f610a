/** Starts the service and a receiver, sends a message to a test number that replies, and prints the received events. */
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { type Event, receiver } from "./Receiver.ts"

const binary = fileURLToPath(new URL("../../../packages/server/src/main.ts", import.meta.url))
const service = spawn(process.execPath, [binary, "dev", "--storage", "memory", "--port", "0", "--json"], {
  // Only for a receiver on the same machine: in production, an endpoint is public and uses HTTPS.
  env: { ...process.env, WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8", LOG_LEVEL: "error" },
  stdio: ["ignore", "pipe", "inherit"]
})
const [ready] = await once(createInterface(service.stdout), "line")
const { api_key, base_url, channels, template_ids } = JSON.parse(ready)

const request = async (method: string, path: string, body: unknown = {}) => {
  const response = await fetch(base_url + path, {
    method,
    headers: {
      "authorization": `Bearer ${api_key}`,
      "content-type": "application/json",
      "idempotency-key": crypto.randomUUID()
    },
    body: JSON.stringify(body)
  })
  assert.ok(response.ok, await response.clone().text())
  return (await response.json()).data
}

const server = createServer().listen(0, "127.0.0.1")
await once(server, "listening")
const { port } = server.address() as AddressInfo

const webhook = await request("POST", "/webhooks", {
  url: `http://127.0.0.1:${port}/webhooks`,
  event_types: ["message.sent", "message.updated", "message.received"]
})

const replied = new Promise<void>((resolve) => {
  const handle = async (event: Event) => {
    console.log(event.timestamp, event.type, JSON.stringify(event.data))
    if (event.type === "message.received") resolve()
  }
  server.on("request", receiver(webhook.signing_secret, handle))
})

const forged = await fetch(webhook.url, { method: "POST", headers: { "webhook-id": "1" }, body: "{}" })
assert.equal(forged.status, 401)

// A number that ends in 0007 replies.
await request("POST", "/conversations", {
  channel_id: channels.find(({ type }: { type: string }) => type === "phone_messaging").id,
  phone: "+49 151 5550007",
  template: {
    id: template_ids.find((id: string) => id.endsWith("spring_sale")),
    components: [{ type: "body", parameters: [{ type: "text", text: "20%" }, { type: "text", text: "Sunday" }] }]
  }
})
await replied

await request("DELETE", `/webhooks/${webhook.id}`)
server.close()
service.kill("SIGTERM")
await once(service, "exit")
