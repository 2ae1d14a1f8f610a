/**
 * The documentation page, which shows the OpenAPI document and, where `TryRequests` is set, sends requests with an API key.
 *
 * It contains all its scripts and styles, and its content security policy allows each script by its hash. It connects to
 * this service if it sends requests, and otherwise to none.
 */
import { Context, Effect, Layer, type Scope, Struct } from "effect"
import { HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApiScalar } from "effect/http-api"
import * as Examples from "./api/Examples.ts"
import { fresh_keys_script, withForms, withoutKeys } from "./Docs/Contract.ts"
import { policyOf } from "./Docs/SecurityPolicy.ts"
import * as SharedResult from "./SharedResult.ts"
import * as StaticResponse from "./StaticResponse.ts"

/**
 * Reference for whether the page has a field for an API key and sends requests. Keys are for servers, so `serve` shows
 * documentation only, unless a setting allows it; `dev`, with a key of its demo, sends requests.
 */
export const TryRequests = Context.Reference<boolean>("@messaging-crm/adapter-http/Docs/TryRequests", {
  defaultValue: () => false
})

/** Scalar's settings. Several that turn off links and requests to other hosts are not in the type of Effect's layer. */
const scalar = {
  theme: "default" as const,
  authentication: { preferredSecurityScheme: "bearer" },
  defaultOpenAllTags: true,
  showOperationId: true,
  withDefaultFonts: false,
  favicon: "data:,",
  telemetry: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  persistAuth: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  // "Powered by" is a link, and would send the address of this page to another host.
  customCss: "a[href^='https://www.scalar.com'] { display: none }"
}

/** The settings of a page that sends no requests. The document that it would offer for download has no security schemes. */
const documentation = { hideTestRequestButton: true, documentDownloadType: "none" }

/**
 * The IDs that the page shows instead of the examples' IDs, by parameter: `dev` shows those of its demo, so that a form
 * works without changes. The page waits for them.
 */
export const ExampleIds = Context.Reference<Effect.Effect<Partial<typeof Examples.ids>>>(
  "@messaging-crm/adapter-http/Docs/ExampleIds",
  { defaultValue: () => Effect.succeed({}) }
)

const withIds = (html: string, known: Partial<typeof Examples.ids>): string =>
  Struct.keys(Examples.ids).reduce(
    (text, name) => text.replaceAll(Examples.ids[name], known[name] ?? Examples.ids[name]),
    html
  )

const htmlOf = ({ body }: HttpServerResponse.HttpServerResponse): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

const prepared = Effect.fnUntraced(function*(html: string, sends: boolean) {
  return yield* StaticResponse.prepare({
    content_type: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": yield* policyOf(html, sends),
      "cross-origin-opener-policy": "same-origin",
      "referrer-policy": "no-referrer"
    },
    text: html
  })
})

/** Scalar's own page. Its scripts are 13 MB in memory, so they are loaded for the first request of the page. */
const rendered = (sends: boolean) => {
  const layer = sends
    ? HttpApiScalar.layer(withForms, { path: "/docs", scalar })
    : HttpApiScalar.layer(withoutKeys, { path: "/docs", scalar: { ...scalar, ...documentation } })
  return Effect.scoped(
    Effect.flatMap(HttpRouter.toHttpEffect(layer), Effect.map(htmlOf)).pipe(
      // It uses a router of its own. The layers that are already built would provide the router of this request.
      Effect.updateContext((context: Context.Context<HttpServerRequest.HttpServerRequest | Scope.Scope>) =>
        Context.omit(Layer.CurrentMemoMap)(context)
      ),
      Effect.map((html) => sends ? html.replace("<body>", `<body>${fresh_keys_script}`) : html)
    )
  )
}

/**
 * Layer that adds the page to a router, at `/docs`. Needs no key. The page and its policy are the same for every
 * request. They are prepared at the first, because most processes never show the page.
 */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const ids = yield* ExampleIds
  const sends = yield* TryRequests
  const html = Effect.zipWith(rendered(sends), ids, withIds)
  const page = yield* SharedResult.make(Effect.flatMap(html, (html) => prepared(html, sends)))
  yield* router.add("GET", "/docs", Effect.flatten(page))
}))
