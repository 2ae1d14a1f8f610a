/** The list of templates of the fake network, in pages. One page may fail or never be answered. */
import { Effect, Ref, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { refuse, type State } from "./State.ts"

/** How many templates a page holds, whatever limit is requested, so that three templates make two pages. */
const page_size = 2

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

/** The templates of an account that nobody gave any. */
const ordinary = (["order_ready", "appointment_reminder", "spring_sale"] as const).map((name, index) => ({
  id: `92007035264614${index}`,
  name,
  language: "en",
  category: name === "spring_sale" ? "MARKETING" : "UTILITY",
  status: "APPROVED",
  parameter_format: "POSITIONAL",
  components: name === "order_ready" ? orderReady : [hello]
}))

const Query = Schema.Struct({ after: Schema.optionalKey(Schema.String) })

/** Answers `GET /{version}/{id}/message_templates`. */
export const route = (state: State) =>
  Effect.gen(function*() {
    const { id = "" } = yield* HttpRouter.params
    const { after = "0" } = yield* HttpServerRequest.schemaSearchParams(Query)
    const { broken_page, slow_page, templates } = yield* Ref.get(state)
    const first = Number(after)
    const page = first / page_size + 1
    if (page === broken_page) return refuse(1, 500)
    if (page === slow_page) return yield* Effect.never
    const all = templates.get(id) ?? ordinary
    const next = first + page_size
    // The link has another host and contains a secret, so a client must page by the cursor instead.
    const link = next < all.length ? { next: `https://elsewhere.example/?after=${next}&access_token=secret` } : {}
    return HttpServerResponse.jsonUnsafe({
      data: all.slice(first, next),
      paging: { cursors: { before: after, after: String(next) }, ...link }
    })
  }).pipe(Effect.catchTag("SchemaError", () => Effect.succeed(refuse(100))))
