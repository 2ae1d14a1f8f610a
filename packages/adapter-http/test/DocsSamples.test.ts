/** The code samples of the docs page: each sends the request that the document describes. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { documentOf } from "../src/Docs/Contract.ts"
import { samplesOf } from "../src/Docs/Samples.ts"

const base_url = "http://crm.example/v1"
const variables = { BASE_URL: base_url, API_KEY: "svc_live_key" }

interface Sent {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

const operations = Object.entries(documentOf(false).paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation }))
)

const sampleOf = ({ "x-code-samples": samples }: typeof operations[number], language: string): string =>
  samples.find(({ label }) => label === language)?.source ?? ""

/** Runs a sample of JavaScript, and returns the request that it sends. */
const runJavaScript = async (source: string): Promise<Sent> => {
  let sent: Sent = { method: "", url: "", headers: {}, body: undefined }
  const fetch = async (
    url: string,
    { body, ...init }: { method: string; headers: Record<string, string>; body?: string }
  ) => {
    sent = { ...init, url, body: body === undefined ? undefined : JSON.parse(body) }
    return new Response("{}")
  }
  // oxlint-disable-next-line typescript/no-implied-eval -- the sample is run as its reader would run it
  const run = new Function("fetch", "process", "console", `return (async () => {${source}\n})()`)
  await run(fetch, { env: variables }, { log: () => {} })
  return sent
}

/** Runs a sample for a shell whose `curl` prints its arguments, and returns the request that it would send. */
const runCurl = (source: string): Sent => {
  const script = `curl() { printf '%s\\0' "$@"; }\n${source}`
  const given = execFileSync("sh", ["-c", script], { env: variables, encoding: "utf8" }).split("\0").slice(0, -1)
  const valuesOf = (flag: string) => given.flatMap((value, index) => given[index - 1] === flag ? [value] : [])
  const [data] = valuesOf("-d")
  const [method = data === undefined ? "GET" : "POST"] = valuesOf("-X")
  const headers = valuesOf("-H").map((line) => /^([^:]+): (.*)$/.exec(line)?.slice(1) ?? [])
  return {
    method,
    url: given.find((value) => value.startsWith(base_url)) ?? "",
    headers: Object.fromEntries(headers),
    body: data === undefined ? undefined : JSON.parse(data)
  }
}

const checkSent = (sent: Sent, { method, parameters, path, requestBody }: typeof operations[number]) => {
  assert.strictEqual(sent.method, method)
  const pattern = new RegExp(`^${base_url}${path.replaceAll(/\{\w+\}/g, "[0-9a-f-]{36}")}$`)
  assert.match(sent.url, pattern)
  assert.strictEqual(sent.headers["Authorization"], "Bearer svc_live_key")
  const needsKey = parameters.some((each) => "name" in each && each.name === "Idempotency-Key")
  assert.strictEqual(sent.headers["Idempotency-Key"], needsKey ? "order-4711-ready" : undefined)
  const [example] = Object.values(requestBody?.content["application/json"].examples ?? {})
  assert.deepStrictEqual(sent.body, example?.value)
  assert.strictEqual(sent.headers["Content-Type"], example === undefined ? undefined : "application/json")
}

describe("the samples of each operation", () => {
  it("send its request in JavaScript", async () => {
    for (const operation of operations) checkSent(await runJavaScript(sampleOf(operation, "JavaScript")), operation)
  })

  it("send its request with curl", () => {
    for (const operation of operations) checkSent(runCurl(sampleOf(operation, "curl")), operation)
  })
})

it("values that a language writes in another way are written so", () => {
  const body = { active: true, left: null, names: ["it's", "`true`"], none: {} }
  const samples = samplesOf({ method: "POST", path: "/tags", headers: {}, body })
  const sourceOf = (language: string) => samples.find(({ label }) => label === language)?.source ?? ""
  assert.include(
    sourceOf("Python"),
    "\"active\": True,\n        \"left\": None,\n        \"names\": [\n            \"it's\","
  )
  assert.include(sourceOf("Python"), "\"none\": {}")
  assert.include(sourceOf("Go"), "strings.NewReader(\"{\\n  \\\"active\\\": true")
  assert.include(sourceOf("PHP"), "<<<'JSON'\n        {\n          \"active\": true,")
  assert.deepStrictEqual(runCurl(sourceOf("curl")).body, body)
})
