/**
 * The console: an inbox in the browser, over the public REST API. With a `Monitor` it also shows what happens in a
 * service in development.
 *
 * The API key stays on this side: the page asks for named operations, which are carried out here with the client.
 */
import { ConnectionError, type Fetch, MessagingCrm, MessagingCrmError, type WebhookEvent } from "@messaging-crm/client"
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { Feed } from "./Feed.ts"
import { policyOf, refusalOf } from "./Guard.ts"
import type { Monitor } from "./Monitor.ts"
import * as Operations from "./Operations.ts"

export type { Feed } from "./Feed.ts"
export { type AnsweredRequest, Monitor, type SendReport } from "./Monitor.ts"

/** A message that the console writes in a customer's name. */
export interface CustomerMessage {
  readonly channel_id: string
  /** The network's ID of the customer; on phone messaging the number. */
  readonly from: string
  readonly name: string | null
  readonly text: string
}

/** What a service in development adds. */
export interface Development {
  readonly monitor: Monitor
  /** Receives a message as if the network had delivered it; null if the network is not simulated. */
  readonly write: ((message: CustomerMessage) => Promise<void>) | null
}

export interface ConsoleOptions {
  readonly apiKey: string
  /** The service's address with the version, such as `http://127.0.0.1:3000/v1`. */
  readonly baseUrl: string
  /** The path of the page, such as `/inbox`. Everything below it belongs to the console. */
  readonly path: string
  /** The host names, without ports, under which a browser may ask. Requests for any other are refused. */
  readonly hosts: ReadonlyArray<string>
  readonly title?: string
  /** A replacement for the global `fetch`, which calls the service. */
  readonly fetch?: Fetch
  readonly development?: Development
}

export interface Console {
  /** Answers a request for the console's path, or for a path below it. Check before that the user may see the inbox. */
  readonly handle: (request: Request) => Promise<Response>
  /** Tells every page of an event that a webhook received, so that it changes by itself. */
  readonly publish: (event: WebhookEvent) => void
  /** Ends the streams of all pages. */
  readonly close: () => void
}

const assets: Readonly<Record<string, { readonly file: URL; readonly type: string }>> = (() => {
  const page = new URL("page/", import.meta.resolve("@messaging-crm/console/package.json"))
  const script = "text/javascript; charset=utf-8"
  const scripts = ["main.mjs", "store.mjs", "inbox.mjs", "thread.mjs", "template.mjs", "activity.mjs"]
  return {
    ...Object.fromEntries(scripts.map((name) => [name, { file: new URL(name, page), type: script }])),
    "style.css": { file: new URL("style.css", page), type: "text/css; charset=utf-8" },
    // Node resolves to the variant for servers, next to which the one for browsers lies.
    "lit-html.js": { file: new URL("../lit-html.js", import.meta.resolve("lit-html")), type: script }
  }
})()

const headers = {
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
}

const escaped = (text: string) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)

const answer = (body: BodyInit | null, status: number, type: string, more: Readonly<Record<string, string>> = {}) =>
  new Response(body, { status, headers: { ...headers, "content-type": type, ...more } })

const json = (value: unknown, status = 200) => answer(JSON.stringify(value), status, "application/json")

const refuse = (status: number, code: string, message: string) => json({ error: { code, message } }, status)

/** Returns the page, which loads everything from below the console's path, with its content security policy. */
const pageOf = ({ baseUrl, development, path, title = "Inbox" }: ConsoleOptions): Response => {
  const map = JSON.stringify({ imports: { "lit-html": `${path}/page/lit-html.js` } })
  const hash = createHash("sha256").update(map).digest("base64")
  const facts = { "data-path": path, "data-development": development !== undefined, "data-write": !!development?.write }
  const attributes = Object.entries(facts).map(([name, value]) => `${name}="${escaped(String(value))}"`).join(" ")
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${path}/page/style.css">
<script type="importmap">${map}</script>
<script type="module" src="${path}/page/main.mjs"></script>
</head>
<body ${attributes}><noscript>The console needs JavaScript.</noscript></body>
</html>
`
  const policy = policyOf(new URL(baseUrl).origin, `sha256-${hash}`)
  return answer(html, 200, "text/html; charset=utf-8", { "content-security-policy": policy })
}

const refusalFrom = (error: unknown): Response => {
  if (error instanceof MessagingCrmError) {
    return json({ error: { code: error.code, message: error.message, param: error.param } }, error.status)
  }
  return error instanceof ConnectionError
    ? refuse(502, "unreachable", "The service did not respond. Check that it is running.")
    : refuse(400, "invalid_input", "The request is not valid. Check its fields.")
}

/** Makes a console. Its handler takes web requests, and so fits any server. */
export const makeConsole = (options: ConsoleOptions): Console => {
  const { development, hosts, path } = options
  const crm = new MessagingCrm(options)
  const feed = development?.monitor.feed ?? new Feed()
  const operations: Readonly<Record<string, (crm: MessagingCrm, input: never) => Promise<unknown>>> = {
    ...Operations.inbox,
    ...development === undefined ? {} : Operations.development,
    ...development?.write ? { write: async (_, input) => ({ data: await development.write?.(input) }) } : {}
  }

  const call = async (name: string, request: Request): Promise<Response> => {
    const operation = Object.hasOwn(operations, name) ? operations[name] : undefined
    if (operation === undefined) return refuse(404, "not_found", "The console does not support this operation.")
    try {
      // The service validates the input, which the client passes on.
      return json(await operation(crm, await request.json() as never))
    } catch (error) {
      return refusalFrom(error)
    }
  }

  const asset = async (name: string): Promise<Response> => {
    const found = Object.hasOwn(assets, name) ? assets[name] : undefined
    if (found === undefined) return refuse(404, "not_found", "The console has no file at this path.")
    return answer(await readFile(found.file, "utf8"), 200, found.type)
  }

  const handle = async (request: Request): Promise<Response> => {
    const refusal = refusalOf(request, hosts)
    if (refusal !== null) return refuse(403, "forbidden", refusal)
    const [, place = "", name = ""] = new URL(request.url).pathname.slice(path.length).split("/")
    if (request.method === "POST" && place === "call") return call(name, request)
    if (request.method !== "GET") return refuse(405, "method_not_allowed", "The method is not allowed here.")
    if (place === "") return pageOf(options)
    if (place === "page") return asset(name)
    if (place !== "stream") return refuse(404, "not_found", "The console has no page at this path.")
    const stream = feed.connect("snapshot", development?.monitor.snapshot() ?? null)
    return answer(stream, 200, "text/event-stream", { "x-accel-buffering": "no" })
  }

  return { handle, publish: (event) => feed.publish("event", event), close: () => feed.close() }
}
