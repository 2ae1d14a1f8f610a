/** The list of templates of the fake Graph API, in pages. One page may fail or never get a response. */
import { Effect, Ref, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { type FakeTemplate, reject, type State, type StateRef } from "./State.ts"

/** The maximum number of templates of a page, whatever limit is requested, so that three templates make two pages. */
const page_size_max = 2

const hello = { type: "BODY", text: "Hello {{1}}, this is about {{2}}.", example: { body_text: [["Kim", "4711"]] } }

const orderReady = [
  { type: "HEADER", format: "TEXT", text: "Order {{1}}", example: { header_text: ["4711"] } },
  {
    type: "BODY",
    text: "Hello {{1}}, your order {{2}} is ready.",
    example: { body_text: [["Kim", "4711"]] }
  },
  { type: "FOOTER", text: "Thank you for your order." },
  {
    type: "BUTTONS",
    buttons: [{ type: "URL", text: "Track it", url: "https://shop.example/orders/{{1}}", example: ["4711"] }]
  }
]

/** With a picture, an amount, a time, and a button that returns what the sender says. */
const receipt = [
  { type: "HEADER", format: "IMAGE", example: { header_handle: ["https://shop.example/receipt.png"] } },
  {
    type: "BODY",
    text: "You paid {{1}} on {{2}}.",
    example: { body_text: [["12.50 €", "20 November"]] }
  },
  { type: "BUTTONS", buttons: [{ type: "QUICK_REPLY", text: "Not me" }] }
]

/** The templates of an account without templates of its own. */
export const defaultTemplates = (["order_ready", "appointment_reminder", "spring_sale", "receipt"] as const).map((
  name,
  index
) => ({
  id: `92007035264614${index}`,
  name,
  language: "en",
  category: name === "spring_sale" ? "MARKETING" : "UTILITY",
  status: "APPROVED",
  parameter_format: "POSITIONAL",
  components: name === "order_ready" ? orderReady : name === "receipt" ? receipt : [hello]
}))

const Query = Schema.Struct({
  after: Schema.optionalKey(Schema.String),
  category: Schema.optionalKey(Schema.String),
  fields: Schema.optionalKey(Schema.String),
  language: Schema.optionalKey(Schema.String),
  limit: Schema.optionalKey(Schema.FiniteFromString),
  name: Schema.optionalKey(Schema.String),
  name_or_content: Schema.optionalKey(Schema.String),
  status: Schema.optionalKey(Schema.String)
})

const isIn = (value: unknown, wanted: string | undefined) =>
  wanted === undefined || wanted.split(",").includes(`${value}`)

/** Returns whether a template passes the filters of a query. Its name need only contain the text that is asked for. */
const passes = ({ category, language, name, name_or_content, status }: typeof Query.Type) => (template: FakeTemplate) =>
  isIn(template["category"], category) && isIn(template["language"], language) && isIn(template["status"], status) &&
  template.name.includes(name ?? "") && JSON.stringify(template).includes(name_or_content ?? "")

/** Returns the fields that are asked for, and the ID. */
const chosen = (fields: string | undefined) => (template: FakeTemplate): FakeTemplate | object => {
  if (fields === undefined) return template
  const names = new Set(["id", ...fields.split(",").map((field) => field.trim())])
  return Object.fromEntries(Object.entries(template).filter(([name]) => names.has(name)))
}

/** Responds to `GET /{version}/{id}/message_templates`. */
export const route = (state: StateRef) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const query = yield* HttpServerRequest.schemaSearchParams(Query)
    const { after = "0", fields, limit = page_size_max } = query
    const { broken_page, templates } = yield* Ref.get(state)
    const page_size = Math.max(1, Math.min(Math.trunc(limit), page_size_max))
    const first = Number(after)
    if (!Number.isInteger(first) || first < 0) return reject(100, 400, "The cursor is invalid.")
    const page = first / page_size + 1
    if (page === broken_page) return reject(1, 500)
    const all = (templates.get(id) ?? defaultTemplates).filter(passes(query))
    const next = first + page_size
    // The link has another host and contains a secret, so a client must page by the cursor instead.
    const link = next < all.length ? { next: `https://elsewhere.example/?after=${next}&access_token=secret` } : {}
    const data = all.slice(first, next).map(chosen(fields))
    if (data.length === 0) return HttpServerResponse.jsonUnsafe({ data })
    return HttpServerResponse.jsonUnsafe({ data, paging: { cursors: { before: after, after: String(next) }, ...link } })
  }).pipe(Effect.catchTag("SchemaError", () => Effect.succeed(reject(100))))

/** Returns a template of any account by its ID, with the fields that are asked for. */
export const find = ({ templates }: State, id: string, fields: string | undefined): object | null => {
  const found = [...templates.values(), defaultTemplates].flat().find((template) => template.id === id)
  return found === undefined ? null : chosen(fields)(found)
}

/** Responds to `GET /{version}/{account}/message_templates/{id}`, as some clients ask for a template. */
export const oneRoute = (state: StateRef) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { fields } = yield* HttpServerRequest.schemaSearchParams(Query)
    const found = find(yield* Ref.get(state), id, fields)
    return found === null
      ? reject(100, 400, `There is no object with the ID ${id}.`)
      : HttpServerResponse.jsonUnsafe(found)
  }).pipe(Effect.catchTag("SchemaError", () => Effect.succeed(reject(100))))
