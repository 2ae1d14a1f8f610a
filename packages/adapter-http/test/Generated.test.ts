/**
 * Sends each operation requests that the document allows, and requests with one changed value.
 *
 * `GENERATED_REQUESTS=5000 GENERATED_SEED=7` sets the number of requests per operation, and the seed.
 * `GENERATED_DATABASE_URL=postgres://…` selects PostgreSQL instead of memory; its database must be empty.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import * as Postgres from "@messaging-crm/adapter-postgres"
import * as Client from "@messaging-crm/adapter-postgres/Client"
import * as Migrations from "@messaging-crm/adapter-postgres/Migrations"
import { randomNumbers } from "@messaging-crm/conformance/RandomNumbers"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { ContactFields, CreateContactField } from "@messaging-crm/core/ContactFields"
import { Effect, Layer, Redacted } from "effect"
import { afterAll } from "vitest"
import { documented, flawOf } from "../testing/Document.ts"
import { idempotency, orderReady, start } from "../testing/Service.ts"
import { mutated, nearby, pick, type Pool, type Schema, type Source, valid } from "./Generated.ts"

const requests = Number(process.env["GENERATED_REQUESTS"] ?? 200)
const seed = Number(process.env["GENERATED_SEED"] ?? 1)

const database_url = process.env["GENERATED_DATABASE_URL"]
const storage = database_url === undefined ? Memory.layer : Postgres.layer.pipe(
  Layer.provide(Migrations.layer),
  Layer.provide(Client.layer({ url: Redacted.make(database_url) }))
)

const service = start({ storage, tuning: Layer.succeed(RequestsPerMinute, 1_000_000_000) })
afterAll(() => service.stop())

const absent = "01990000-0000-7000-8000-00000000c0de"

type Organization = Awaited<ReturnType<typeof service.organization>>

/** The mock network's template `receipt` with values for its parameters. */
const receipt = ({ phone_messaging_business_account_id }: Organization["channel"]) => ({
  id: `${phone_messaging_business_account_id}.receipt`,
  components: [
    { type: "header", parameters: [{ type: "image", image: { link: "https://shop.example/receipt.png" } }] },
    {
      type: "body",
      parameters: [
        { type: "currency", currency: { fallback_value: "12.50 €", code: "EUR", amount_1000: 12_500 } },
        { type: "date_time", date_time: { fallback_value: "20 November" } }
      ]
    },
    { type: "button", sub_type: "quick_reply", index: 0, parameters: [{ type: "payload", payload: "DISPUTE" }] }
  ]
})

/** Creates an organization with one resource of each kind, and returns their IDs as a pool of values. */
const makeScene = async () => {
  const ours = await service.organization()
  const { channel, key, organization, owner, social } = ours
  const post = async (path: string, json: unknown) =>
    (await service.request("POST", `/v1${path}`, { key, json, ...idempotency() })).body.data
  const contact = await post("/contacts", { first_name: "Kim" })
  const tags = [await post("/tags", { name: "one", color: "red" }), await post("/tags", { name: "two", color: "red" })]
  const field = await service.runtime.runPromise(
    ContactFields.use((fields) =>
      fields.create(CreateContactField.make({ key: "plan", name: "Plan", type: "text", options: null }))
    ).pipe(
      Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: owner.id })
    )
  )
  const template = orderReady(channel)
  const send = await post("/conversations", { channel_id: channel.id, phone: "+4915112345678", template })
  const webhook = await post("/webhooks", { url: "https://shop.example/crm", event_types: ["message.sent"] })
  const follow = async () => (await service.request("GET", `/v1/sends/${send.id}`, { key })).body.data
  await service.until(async () => (await follow()).status === "sent")
  const deliveries = await service.request("GET", `/v1/webhooks/${webhook.id}/deliveries`, { key })
  const pool: Pool = {
    contact_id: [contact.id, absent],
    conversation_id: [send.conversation_id, absent],
    message_id: [(await follow()).message_id, absent],
    send_id: [send.id, absent],
    webhook_id: [webhook.id, absent],
    delivery_id: [deliveries.body.data[0].id, absent],
    event_id: [deliveries.body.data[0].event_id, absent],
    owner_user_id: [owner.id, owner.id.toUpperCase(), null],
    assigned_user_id: [owner.id, null],
    channel_id: [channel.id, social.id],
    tag_id: [tags[0].id, absent],
    "tag_ids[]": tags.map(({ id }) => id),
    "add_tag_ids[]": tags.map(({ id }) => id),
    "remove_tag_ids[]": tags.map(({ id }) => id),
    custom_values: [{}, { [field.id]: "gold" }, { [field.id]: null }, null],
    template: [receipt(channel), template, { id: template.id, components: [] }, { ...template, id: "other" }],
    phone: ["+4915112345678", "0049 151 12345678", "+49 (151) 123-45678", "4915112345678"],
    primary_phone: ["+4915112345678", "0049 151 12345678", "49 151 12345678", "", null],
    primary_email: ["kim@example.org", "kim@bücher.example", "", null],
    birthday: ["2000-02-29", null],
    website_url: ["https://example.org/a?b#c", "https://bücher.example/x", null],
    network_url: ["http://example.org", "", null],
    url: ["https://shop.example/crm", "https://bücher.example/x", "HTTPS://shop.example", "http://shop.example/crm"],
    cursor: [""],
    updated_since: ["2026-11-20T10:00:00Z", "2026-11-20T10:00:00.123456Z", "2026-02-30T10:00:00Z"],
    created_since: ["2026-11-20T10:00:00Z"],
    since: ["2026-11-20T10:00:00Z", new Date().toISOString()],
    page_size: [1, 100]
  }
  return { key, pool }
}

const scene = await makeScene()

/** Messages of errors that no schema describes: unknown references, and values that are invalid only in combination. */
const outsideSchema = new RegExp(
  [
    "does not exist in this organization",
    "The template (cannot be sent|has no)",
    "no template with this template.id",
    "The (header|body|button \\d+) (requires|is listed more than once)",
    "since must be a time within the last 30 days",
    "external_id is not certain to be one phone number",
    "A contact must have",
    "contains no ID of add_tag_ids",
    "absent (if|unless)",
    "present(, because| if match)",
    "must be an RFC 3339 time",
    "after must be start, now, or",
    "cannot be combined with after",
    "wait requires after",
    "channel_id must be",
    "Templates are supported",
    "The cursor is not valid",
    "well-formed text",
    "one phone number that starts with",
    "absolute http or https URL",
    "a calendar date",
    "The URL must (be absolute|begin with|have at most|hold no|not hold|not have|name a host)",
    "The host of the URL",
    "The port of the URL"
  ].join("|")
)

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: Schema
}

/** Returns query parameters, of which only `changed` can be invalid, and the flaws that the document finds in them. */
const generateQuery = (
  source: Source,
  query: ReadonlyArray<Parameter>,
  changed: Parameter | null
) => {
  const search = new URLSearchParams()
  const flaws: Array<string | null> = []
  for (const parameter of query) {
    if (parameter !== changed && source.random() < 0.6) continue
    const value = parameter === changed
      ? pick(source, nearby(source, parameter.schema))
      : valid(source, parameter.schema, parameter.name)
    const text = typeof value === "object" ? JSON.stringify(value) : String(value)
    search.set(parameter.name, text)
    // The service reads digits as an integer. `search` has replaced unpaired surrogates, as a URL cannot contain them.
    const isInteger = parameter.schema.type === "integer" && /^[0-9]+$/.test(text)
    flaws.push(flawOf(parameter.schema, isInteger ? Number(text) : search.get(parameter.name)))
  }
  return { flaws, search }
}

/** Returns a request, and the first flaw that the document finds in it. */
const generateRequest = (source: Source, { operation, path }: typeof documented[number], isMutated: boolean) => {
  // Only a header is a reference, and has no schema here.
  const parameters = operation.parameters.filter((each): each is Parameter => "schema" in each)
  const query = parameters.filter((parameter) => parameter.in === "query")
  const changesQuery = isMutated && query.length > 0
  const { flaws, search } = generateQuery(source, query, changesQuery ? pick(source, query) : null)
  const flaw = flaws.find((each) => each !== null) ?? null
  const concrete = path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => String(valid(source, { format: "uuid", type: "string" }, name))
  )
  const target = `/v1${concrete}${search.size === 0 ? "" : `?${search}`}`
  const schema = operation.requestBody?.content["application/json"]?.schema as Schema | undefined
  if (schema === undefined) return { flaw, json: undefined, target }
  const made = valid(source, schema, "body")
  const json = isMutated && !changesQuery ? mutated(source, schema, made, "body") : made
  const bodyFlaw = json === undefined ? null : flawOf(schema, json)
  return { flaw: flaw ?? bodyFlaw, json, target }
}

describe("every operation agrees with its document", () => {
  for (const documentedOperation of documented) {
    const { method, path } = documentedOperation
    it(`${method} ${path}`, async () => {
      const source = { random: randomNumbers(seed), pool: scene.pool }
      for (let number = 0; number < requests; number++) {
        const { flaw, json, target } = generateRequest(source, documentedOperation, number % 2 === 1)
        const { body, status, text } = await service.request(method, target, {
          key: scene.key,
          ...(json === undefined ? {} : { json }),
          ...(method === "GET" ? {} : idempotency())
        })
        const exchange = `${method} ${target} ${JSON.stringify(json)?.slice(0, 300)} (${number}): ${text.slice(0, 300)}`
        assert.isBelow(status, 500, exchange)
        // The document allows 413, but no schema limits the length of a whole body.
        if (status === 413) continue
        if (status === 400) {
          const isOutsideSchema = outsideSchema.test(body.error.message)
          assert.isTrue(flaw !== null || isOutsideSchema, `rejected, though the document allows it: ${exchange}`)
        } else {
          assert.isNull(flaw, `accepted, though the document does not allow it: ${exchange}`)
        }
      }
    }, Math.max(120_000, requests * 100))
  }
})
