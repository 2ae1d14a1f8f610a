/** The pages before and after a login, and rejections. They load only the stylesheet, and no other page can show them in a frame. */
import { Duration } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Rejection } from "./RequestChecks.ts"
import { stylesheet } from "./Settings.ts"

const headers = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY"
}

/** How long a person has for the provider's pages. */
export const attempt_time = Duration.minutes(10)

interface Page {
  readonly status: number
  readonly title: string
  readonly text: string
  /** The address of the login page. */
  readonly login: string
  readonly retry_after?: number | undefined
}

const after = (seconds: number | undefined) => seconds === undefined ? {} : { "retry-after": String(seconds) }

/** Returns a page with a sentence and a link to the login. Its texts are constants. */
export const page = ({ login, retry_after, status, text, title }: Page): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="${stylesheet}"><title>${title}</title></head>
<body class="plain"><main><h1>${title}</h1><p>${text}</p><p><a href="${login}">Log in</a></p></main></body>
</html>
`,
    { status, contentType: "text/html; charset=utf-8", headers: { ...headers, ...after(retry_after) } }
  )

/** Returns an error for the page's script, in the form of the API. */
export const reject = ({ code, message, retry_after, status }: Rejection): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(
    { error: { code, message } },
    { status, headers: { ...headers, ...after(retry_after) } }
  )

/** Returns a value for the page's script. */
export const json = (value: unknown): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(value, { headers })

export const redirect = (location: string | URL): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.redirect(location, { headers })

export const empty = (): HttpServerResponse.HttpServerResponse => HttpServerResponse.empty({ status: 204, headers })
