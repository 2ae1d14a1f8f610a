/**
 * The documentation page: the OpenAPI document to read, and to try with a key of one's own.
 *
 * The page asks nobody but this service. What it is made of comes in the page,
 * and its content security policy names each script by its hash, so that
 * nothing else runs there: a key is pasted into it.
 */
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiScalar } from "effect/http-api"
import { Api } from "./api/Api.ts"

/** Scalar's settings; several that keep it from leading elsewhere are not in the type of Effect's layer. */
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
  // "Powered by" is a link that tells another host who reads here.
  customCss: "a[href^='https://www.scalar.com'] { display: none }"
}

const inline = /<script>([\s\S]*?)<\/script>/g

/** Returns the name by which a content security policy knows a script. */
const nameOf = (script: string) =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(script))),
    (digest) => `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`
  )

const policyOf = Effect.fnUntraced(function*(html: string) {
  const scripts = yield* Effect.forEach(html.matchAll(inline), ([, script = ""]) => nameOf(script))
  return [
    "default-src 'none'",
    `script-src ${scripts.join(" ")}`,
    // The page writes its own style sheets.
    "style-src 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
})

const guard = Effect.fnUntraced(function*(page: HttpServerResponse.HttpServerResponse) {
  const html = page.body._tag === "Uint8Array" ? new TextDecoder().decode(page.body.body) : ""
  return HttpServerResponse.setHeaders(page, {
    "content-security-policy": yield* policyOf(html),
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer"
  })
})

const guarded = HttpRouter.middleware((httpEffect) => Effect.flatMap(httpEffect, guard)).layer

/** Layer that adds the page to a router, at `/docs`. Needs no key. */
export const layer = HttpApiScalar.layer(Api, { path: "/docs", scalar }).pipe(Layer.provide(guarded))
