// From the OpenAPI document to programs that run: two generators write clients, the programs are compiled against them, a
// service is started in memory, and the programs call it.
import { execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const here = fileURLToPath(new URL("..", import.meta.url))
const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "")
const run = (command: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  execFileSync(command, args, { cwd: here, stdio: "inherit", env: { ...process.env, ...env } })

const document = `${root}/packages/adapter-http/openapi.json`
run("openapi-typescript", [document, "--output", "clients/openapi-fetch/generated/api.d.ts"])
run("openapi-ts", ["--input", document, "--output", "clients/hey-api/generated", "--silent"], {
  NODE_OPTIONS: `--import ${new URL("typescript5.ts", import.meta.url).href}`
})
const clients = ["openapi-fetch", "hey-api"]
for (const client of clients) run("tsc", ["--project", `clients/${client}`])

const service = spawn(
  process.execPath,
  [`${root}/packages/server/src/main.ts`, "dev", "--storage", "memory", "--port", "0", "--json"],
  {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, LOG_LEVEL: "warning", SECRET_KEY: randomBytes(32).toString("base64") }
  }
)
try {
  const stopped = once(service, "exit").then(([code]) => Promise.reject(new Error(`The service stopped with ${code}.`)))
  const [line] = await Promise.race([once(createInterface({ input: service.stdout }), "line"), stopped])
  const { api_key, base_url, channels } = JSON.parse(line)
  const CHANNEL_ID = channels.find(({ type }: { readonly type: string }) => type === "phone_messaging").id
  for (const client of clients) {
    run(process.execPath, [`dist/${client}/main.js`], { BASE_URL: base_url, API_KEY: api_key, CHANNEL_ID })
  }
} finally {
  service.kill()
}
