import { Effect } from "effect"

const inline = /<script>([\s\S]*?)<\/script>/g

/** Returns the source expression of a script for a content security policy. */
const sourceOf = (script: string) =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(script))),
    (digest) => `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`
  )

/** Returns the content security policy of the page, which allows each script by its hash. */
export const policyOf = Effect.fnUntraced(function*(html: string, sends: boolean) {
  const scripts = yield* Effect.forEach(html.matchAll(inline), ([, script = ""]) => sourceOf(script))
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
