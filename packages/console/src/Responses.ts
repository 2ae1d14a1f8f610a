/** The responses of the console: its page, JSON, and errors. */
import { ConnectionError, MessagingCrmError } from "@messaging-crm/client"
import { createHash } from "node:crypto"

const headers = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

const escapeHtml = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

export const respond = (
  body: BodyInit | null,
  status: number,
  type: string,
  extraHeaders: Readonly<Record<string, string>> = {}
) => new Response(body, { status, headers: { ...headers, "content-type": type, ...extraHeaders } })

export const json = (value: unknown, status = 200) => respond(JSON.stringify(value), status, "application/json")

export const reject = (status: number, code: string, message: string) => json({ error: { code, message } }, status)

interface PageOptions {
  readonly baseUrl: string
  readonly path: string
  readonly title: string
  /** Whether the page has the views of a service in development. */
  readonly isDevelopment: boolean
  /** Whether the page can write in a customer's name. */
  readonly canWriteAsCustomer: boolean
  /** The person who has logged in, if the server has a login. */
  readonly visitor: { readonly member_id?: string; readonly name: string; readonly token: string } | undefined
}

/** The server's settings for the page, as attributes of its body, such as `data-path`. */
export interface PageData {
  readonly path: string
  readonly development: "false" | "true"
  readonly writeAsCustomer: "false" | "true"
  readonly token?: string
  readonly visitor?: string
  readonly member?: string
}

/** Returns the attribute that a browser shows under a name in `dataset`. */
const attributeOf = (name: string, value: string) =>
  `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}="${escapeHtml(value)}"`

/** Returns the content security policy of the page: it can run only these scripts, and send requests only to this server. */
const policyOf = (api: string, importMapHash: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' '${importMapHash}'`,
    "style-src 'self'",
    `img-src 'self' data: ${api}`,
    `media-src 'self' ${api}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types lit-html"
  ].join("; ")

/** Returns the page, which loads everything from the console's path, with its content security policy. */
export const pageOf = ({ baseUrl, canWriteAsCustomer, isDevelopment, path, title, visitor }: PageOptions): Response => {
  const map = JSON.stringify({ imports: { "lit-html": `${path}/page/lit-html.js` } })
  const hash = createHash("sha256").update(map).digest("base64")
  const data: PageData = {
    path,
    development: `${isDevelopment}`,
    writeAsCustomer: `${canWriteAsCustomer}`,
    ...visitor === undefined ? {} : { token: visitor.token, visitor: visitor.name },
    ...visitor?.member_id === undefined ? {} : { member: visitor.member_id }
  }
  const attributes = Object.entries(data).map(([name, value]) => attributeOf(name, value)).join(" ")
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${path}/page/style.css">
<script type="importmap">${map}</script>
<script type="module" src="${path}/page/main.mjs"></script>
</head>
<body ${attributes}><p class="loading" role="status">Loading…</p><noscript>The console requires JavaScript. Enable it and reload.</noscript></body>
</html>
`
  const policy = policyOf(new URL(baseUrl).origin, `sha256-${hash}`)
  return respond(html, 200, "text/html; charset=utf-8", { "content-security-policy": policy })
}

/** Returns the response to an operation that failed, with the error of the service. */
export const failure = (error: unknown): Response => {
  if (error instanceof MessagingCrmError) {
    // The status of a proxy's response can be any, such as 200 or 204.
    const status = error.code === "unexpected_response" ? 502 : error.status
    return json({ error: { code: error.code, message: error.message, param: error.param } }, status)
  }
  return error instanceof ConnectionError
    ? reject(502, "unreachable", "The service did not respond. Check that it is running.")
    : reject(400, "invalid_input", "The request is not valid. Check its fields.")
}
