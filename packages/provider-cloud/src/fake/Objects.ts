/** The fake Graph API's responses about an object, by its ID: a file, a template, an account, or a person. */
import { Effect, Ref, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Files from "./Files.ts"
import { reject, set, type StateRef } from "./State.ts"
import * as Templates from "./Templates.ts"

const Query = Schema.Struct({ fields: Schema.optionalKey(Schema.String) })

/** Responds to `GET /{version}/{id}`. If fields are requested, any ID is that of an account or a person. */
export const route = (state: StateRef, url: string) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { fields } = yield* HttpServerRequest.schemaSearchParams(Query)
    const template = Templates.find(yield* Ref.get(state), id, fields)
    if (template !== null) return HttpServerResponse.jsonUnsafe(template)
    if (fields === undefined) return yield* Files.link(state, url, id)
    const names = fields.split(",").map((field) => field.trim()).filter((field) => field !== "" && field !== "id")
    return HttpServerResponse.jsonUnsafe({ ...Object.fromEntries(names.map((name) => [name, "Fake"])), id })
  }).pipe(Effect.catchTag("SchemaError", () => Effect.succeed(reject(100))))

const defaultProfile = {
  messaging_product: "whatsapp",
  about: "A shop that does not exist.",
  address: "Lindenweg 4, Bremen",
  description: "The fake network made it up.",
  email: "shop@shop.example",
  vertical: "RETAIL",
  websites: ["https://shop.example/"]
}

/** Responds to `GET /{version}/{id}/whatsapp_business_profile`, with the requested fields. */
export const profileRoute = (state: StateRef) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { fields } = yield* HttpServerRequest.schemaSearchParams(Query)
    const { profiles } = yield* Ref.get(state)
    const profile = Object.entries({ ...defaultProfile, ...profiles.get(id) })
    const wanted = fields === undefined ? null : new Set(["messaging_product", ...fields.split(",")])
    const shown = profile.filter(([name]) => wanted === null || wanted.has(name))
    return HttpServerResponse.jsonUnsafe({ data: [Object.fromEntries(shown)] })
  }).pipe(Effect.catchTag("SchemaError", () => Effect.succeed(reject(100))))

const decodeProfile = HttpServerRequest.schemaBodyJson(Schema.Record(Schema.String, Schema.Unknown))

/** Responds to `POST /{version}/{id}/whatsapp_business_profile`. */
export const setProfileRoute = (state: StateRef) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { messaging_product, ...profile } = yield* decodeProfile
    if (messaging_product !== "whatsapp") return reject(100, 400, "The parameter messaging_product is required.")
    yield* set(state, ({ profiles }) => ({ profiles: new Map(profiles).set(id, { ...profiles.get(id), ...profile }) }))
    return HttpServerResponse.jsonUnsafe({ success: true })
  }).pipe(Effect.catch(() => Effect.succeed(reject(100, 400, "The body is not JSON."))))

/** Responds to `GET /{version}/{id}/phone_numbers` of a business account. */
export const numbersRoute = Effect.map(HttpRouter.params, ({ id = "" }) =>
  HttpServerResponse.jsonUnsafe({
    data: [{ id: `${id}1`, display_phone_number: "+1 555-078-3881", verified_name: "Fake", quality_rating: "GREEN" }],
    paging: { cursors: { before: "0", after: "1" } }
  }))

/** Responds to every path that the fake Graph API does not have. */
export const unknown = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ url }) => reject(2500, 404, `Unknown path components: ${url.split("?")[0] ?? ""}`)
)
