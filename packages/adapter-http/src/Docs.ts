/**
 * The documentation page, which shows the OpenAPI document and, where `TryRequests` is set, sends requests with an API key.
 *
 * It contains all its scripts and styles, and its content security policy allows each script by its hash. It connects to
 * this service if it sends requests, and otherwise to none.
 */
import { Context, Effect, Layer, Record, type Scope, Struct } from "effect"
import { HttpRouter, type HttpServerRequest, type HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Api } from "./api/Api.ts"
import * as Examples from "./api/Examples.ts"
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

interface Parameter {
  readonly name: string
  readonly required: boolean
  readonly example?: unknown
  readonly schema: { readonly default?: unknown }
}

interface Operation {
  readonly operationId: string
  readonly parameters: ReadonlyArray<Parameter | { readonly $ref: string }>
  readonly security?: unknown
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly examples: object } } }
}

/** The prefix of the idempotency keys in the forms. */
const tried = "try-"

/**
 * Gives each request of a form a key of its own, so that a form may be sent again with
 * another body. A key that the reader enters is sent unchanged.
 */
const fresh_keys_script = `<script>
  const send = window.fetch.bind(window)
  window.fetch = (input, init) => {
    const request = new Request(input, init)
    const key = request.headers.get("idempotency-key") ?? ""
    const own = Date.now().toString(36) + Math.random().toString(36).slice(2, 8)
    if (key.startsWith("${tried}")) request.headers.set("idempotency-key", key + "-" + own)
    return send(request)
  }
</script>`

/** Returns the example of a parameter. No example of a cursor is valid, and a copied command would contain it. */
const exampleOf = (name: string | undefined, example: unknown): unknown => name === "cursor" ? "" : example

/**
 * An operation with changes for the page's form, in each of its examples: an optional
 * parameter is off until it is selected, and each operation has its own idempotency key.
 */
const form = ({ operationId, parameters, requestBody, ...operation }: Operation) => {
  const names = Object.keys(requestBody?.content["application/json"].examples ?? {})
  const field = ({ example, ...parameter }: Parameter) => {
    const filled = parameter.name === "Idempotency-Key" ? `${tried}${operationId}` : exampleOf(parameter.name, example)
    const value = filled ?? parameter.schema.default ?? ""
    const given = { value, "x-disabled": !parameter.required }
    return { ...parameter, examples: Object.fromEntries([...names, "default"].map((name) => [name, given])) }
  }
  return {
    ...operation,
    operationId,
    ...(requestBody === undefined ? {} : { requestBody }),
    // The one reference is to `X-Request-Id`, which a form would send without a value.
    parameters: parameters.flatMap((parameter) => "$ref" in parameter ? [] : [field(parameter)])
  }
}

const complete = Context.getUnsafe(Api.annotations, OpenApi.Transform)

/** The contract with a document for the page's forms, which otherwise send the examples of optional parameters. */
const withForms = Api.annotate(OpenApi.Transform, (generated) => {
  const document = complete(generated)
  // The document is the result of `api/Document.ts`.
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  return { ...document, paths: Record.map(paths, Record.map(form)) }
})

/** The contract with a document that has no security schemes, for which the page would show a field. */
const withoutKeys = Api.annotate(OpenApi.Transform, (generated) => {
  const { components, security: _, ...document } = complete(generated)
  // The document is the result of `api/Document.ts`.
  const { securitySchemes: _schemes, ...others } = components as Readonly<Record<string, unknown>>
  const paths = document["paths"] as Readonly<Record<string, Readonly<Record<string, Operation>>>>
  const shown = ({ parameters, security: _, ...operation }: Operation) => ({
    ...operation,
    parameters: parameters.map((parameter) =>
      "$ref" in parameter ? parameter : { ...parameter, example: exampleOf(parameter.name, parameter.example) }
    )
  })
  return { ...document, components: others, paths: Record.map(paths, Record.map(shown)) }
})

/**
 * The ids that the page shows instead of the examples' ids, by parameter: `dev` shows those of its demo, so that a form
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

const inline = /<script>([\s\S]*?)<\/script>/g

/** Returns the source expression of a script for a content security policy. */
const nameOf = (script: string) =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(script))),
    (digest) => `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`
  )

const policyOf = Effect.fnUntraced(function*(html: string, sends: boolean) {
  const scripts = yield* Effect.forEach(html.matchAll(inline), ([, script = ""]) => nameOf(script))
  return [
    "default-src 'none'",
    `script-src ${scripts.join(" ")}`,
    // The page writes its own style sheets.
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    `connect-src ${sends ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
})

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
