// From the OpenAPI document to a program that runs: types are generated, the program is compiled against them, a service
// is started in memory, and the program calls it.
import { execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const here = fileURLToPath(new URL("..", import.meta.url))
const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "")
const run = (command: string, args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
  execFileSync(command, args, { cwd: here, stdio: "inherit", env: { ...process.env, ...env } })

run("openapi-typescript", [`${root}/packages/adapter-http/openapi.json`, "--output", "client/api.d.ts"])
run("tsc", ["--project", "client"])

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
  const { api_key, base_url } = JSON.parse(line)
  run(process.execPath, ["dist/main.js"], { BASE_URL: base_url, API_KEY: api_key })
} finally {
  service.kill()
}
