// From the OpenAPI document to programs that run: six generators write clients, the programs are compiled against them, a
// service is started in memory, and the programs call it.
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdirSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const here = fileURLToPath(new URL("..", import.meta.url))
const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "")
const run = async (command: string, args: ReadonlyArray<string>, env: Record<string, string> = {}): Promise<void> => {
  const child = spawn(command, args, { cwd: here, stdio: "inherit", env: { ...process.env, ...env } })
  const [code] = await once(child, "exit")
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}.`)
}

// Relative, so that a space in the path of the repository does not matter.
const document = "../../packages/adapter-http/openapi.json"
const generated = (client: string) => `clients/${client}/generated`

/** The command of each generator, by the folder of its client. */
const generators = {
  "openapi-fetch": `openapi-typescript ${document} --output ${generated("openapi-fetch")}/api.d.ts`,
  "hey-api": `openapi-ts --input ${document} --output ${generated("hey-api")} --silent`,
  "openapi-typescript-codegen": `openapi --input ${document} --output ${
    generated("openapi-typescript-codegen")
  } --useOptions --useUnionTypes`,
  "openapi-zod-client": `openapi-zod-client ${document} --output ${generated("openapi-zod-client")}/api.ts`,
  "swagger-typescript-api": `swagger-typescript-api generate --path ${document} --output ${
    generated("swagger-typescript-api")
  } --name api.ts --silent`,
  orval: "orval --config clients/orval/orval.config.mjs"
}
const clients = Object.keys(generators)
await Promise.all(
  Object.entries(generators).map(async ([client, words]) => {
    const [command = "", ...args] = words.split(" ")
    mkdirSync(`${here}/${generated(client)}`, { recursive: true })
    await run(command, args)
    await run("tsc", ["--project", `clients/${client}`])
  })
)

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
    await run(process.execPath, [`${generated(client)}/dist/main.js`], {
      BASE_URL: base_url,
      API_KEY: api_key,
      CHANNEL_ID
    })
  }
} finally {
  service.kill()
}
