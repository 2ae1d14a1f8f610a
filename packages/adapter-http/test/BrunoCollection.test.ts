/** The Bruno collection is current, contains every operation, and its requests get responses from the API. */
import { assert, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { afterAll } from "vitest"
import { type BrunoRequest, collectionOf, language } from "../../../clients/BrunoCollection.ts"
import { start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

const folder = "clients/bruno"
const text = (file: string) => readFileSync(file, "utf8")
const document = JSON.parse(text("packages/adapter-http/openapi.json"))

const collection = collectionOf(document)
const environment = "environments/Service.bru"
const requests = new Map(
  Array.from(collection.keys()).filter((file) => /^(?!environments\/).*\/.*\.bru$/.test(file))
    .map((file): [string, BrunoRequest] => [file, language.bruToJsonV2(text(`${folder}/${file}`))])
)

it("the files are current (npm run docs)", () => {
  assert.sameMembers(
    globSync(`${folder}/**/*.{bru,json}`).map((file) => file.slice(folder.length + 1)),
    Array.from(collection.keys())
  )
  for (const [file, expected] of collection) assert.strictEqual(text(`${folder}/${file}`), expected, file)
})

it("the collection contains every operation once, with its key in a variable", () => {
  const operations = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`)
  )
  const contained = Array.from(
    requests.values(),
    ({ http: { method, url } }) => `${method} ${url.replace("{{base_url}}", "").replaceAll(/:(\w+)/g, "{$1}")}`
  )
  assert.sameMembers(contained, operations)
  for (const { http } of requests.values()) assert.strictEqual(http.auth, "inherit")
  assert.include(JSON.stringify(language.collectionBruToJson(text(`${folder}/collection.bru`))), "{{api_key}}")
  assert.deepStrictEqual(
    language.bruToEnvJsonV2(text(`${folder}/${environment}`)).variables.map(({ name, value }) => [name, value]),
    [["base_url", "{{process.env.BASE_URL}}"], ["api_key", "{{process.env.API_KEY}}"]]
  )
})

it("requests get responses of the API, in an order that sets the variables", async () => {
  const { key } = await service.organization()
  const variables = new Map([["base_url", "http://localhost/v1"]])
  const filled = (value: string): string =>
    value.replaceAll(
      /\{\{(\$?\w+)\}\}/g,
      (_, name) => name === "$guid" ? crypto.randomUUID() : variables.get(name) ?? name
    )
  const send = async ({ body, headers = [], http, params = [], vars }: BrunoRequest): Promise<number> => {
    const url = params.filter(({ type }) => type === "path")
      .reduce((url, { name, value }) => url.replace(`:${name}`, filled(value)), filled(http.url))
    const enabled = headers.filter(({ enabled }) => enabled).map(({ name, value }) => [name, filled(value)])
    const response = await service.fetch(url, {
      method: http.method.toUpperCase(),
      headers: {
        ...Object.fromEntries(enabled),
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      body: body?.json ?? null
    })
    const { data } = JSON.parse(await response.text())
    for (const { name } of vars?.res ?? []) variables.set(name, (Array.isArray(data) ? data[0] : data)?.id ?? "")
    return response.status
  }
  const statuses: ReadonlyArray<readonly [file: string, status: number]> = [
    ["Contacts/Create a contact.bru", 201],
    ["Contacts/Get a contact.bru", 200],
    ["Contacts/Update a contact.bru", 200],
    ["Contacts/Add a note to a contact.bru", 200],
    ["Contacts/List contacts.bru", 200],
    ["Tags/Create a tag.bru", 200],
    ["Webhooks/Create a webhook.bru", 200],
    ["Webhooks/Get a webhook.bru", 200],
    ["Webhook deliveries/Test a webhook.bru", 202],
    ["Webhook deliveries/List deliveries.bru", 200],
    ["Webhooks/Disable a webhook.bru", 200]
  ]
  for (const [file, status] of statuses) {
    const request = requests.get(file)
    assert.isDefined(request, file)
    if (request !== undefined) assert.strictEqual(await send(request), status, file)
  }
})
