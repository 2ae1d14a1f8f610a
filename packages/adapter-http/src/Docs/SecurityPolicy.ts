import { Effect } from "effect"

/** Returns the hash of a script, as a content security policy and the attribute `integrity` name it. */
export const hashOf = (script: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(script))),
    (digest) => `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`
  )

/** Returns the content security policy of the page, which allows each script by its hash. */
export const policyOf = (hashes: ReadonlyArray<string>, sends: boolean): string =>
  [
    "default-src 'none'",
    `script-src ${hashes.map((hash) => `'${hash}'`).join(" ")}`,
    // The page writes its own style sheets.
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src ${sends ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
