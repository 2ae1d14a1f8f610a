// Runs the tests of the Python and Go clients, each against its own service in memory: `npm run test:clients`; of the n8n nodes with
// `npm run test:n8n`.
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { join, resolve } from "node:path"
import { createInterface } from "node:readline"

const root = resolve(import.meta.dirname, "..")

const [, , only] = process.argv

const suites = [
  { language: "python", script: "python3 -W error -m unittest --quiet" },
  { language: "go", script: "test -z \"$(gofmt -l .)\" && go vet ./... && go test -count=1 ./..." },
  { language: "n8n", script: "node ../../.ci/n8n/build.mjs && node --test ../../.ci/n8n/test.mjs" }
].filter(({ language }) => only === undefined ? language !== "n8n" : language === only)

const startService = async () => {
  const service = spawn(
    process.execPath,
    ["packages/server/src/main.ts", "dev", "--storage", "memory", "--port", "0", "--json"],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, LOG_LEVEL: "warning", SECRET_KEY: randomBytes(32).toString("base64") }
    }
  )
  const stopped = once(service, "exit").then(([code]) => Promise.reject(new Error(`The service stopped with ${code}.`)))
  const [line] = await Promise.race([once(createInterface({ input: service.stdout }), "line"), stopped])
  stopped.catch(() => {})
  const { api_key, base_url }: { readonly api_key: string; readonly base_url: string } = JSON.parse(line)
  return { service, environment: { API_KEY: api_key, BASE_URL: base_url } }
}

let failures = 0
for (const { language, script } of suites) {
  const { environment, service } = await startService()
  const child = spawn("sh", ["-c", script], {
    cwd: join(root, "clients", language),
    stdio: "inherit",
    // No compiled files in the sources, and no modules from the network.
    env: { ...process.env, ...environment, PYTHONDONTWRITEBYTECODE: "1", GOFLAGS: "-mod=mod", GOPROXY: "off" }
  })
  const [code] = await once(child, "exit")
  console.log(`${code === 0 ? "ok    " : "FAILED"} clients/${language}: ${script}`)
  if (code !== 0) failures += 1
  service.kill()
}
process.exit(failures === 0 ? 0 : 1)
