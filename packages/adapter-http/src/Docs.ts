/**
 * The documentation page, which shows the OpenAPI document and, where `TryRequests` is set, sends requests with an API key.
 *
 * Its content security policy allows each of its scripts by its hash. It connects to this service if it sends requests, and
 * otherwise to none.
 */
import { Context, Effect, Struct } from "effect"
import { HttpRouter } from "effect/http"
import * as Examples from "./api/Examples.ts"
import { documentOf, fresh_keys_script } from "./Docs/Contract.ts"
import { path_to_code } from "./Docs/ErrorCodes.ts"
import { htmlOf, script_path, start_script } from "./Docs/Page.ts"
import { hashOf, policyOf } from "./Docs/SecurityPolicy.ts"
import * as SharedResult from "./SharedResult.ts"
import * as StaticResponse from "./StaticResponse.ts"

/**
 * Reference for whether the page has a field for an API key and sends requests. Keys are for servers, so `serve` shows
 * documentation only, unless a setting allows it; `dev`, with a key of its demo, sends requests.
 */
export const TryRequests = Context.Reference<boolean>("@messaging-crm/adapter-http/Docs/TryRequests", {
  defaultValue: () => false
})

/**
 * The IDs that the page shows instead of the examples' IDs, by parameter: `dev` shows those of its demo, so that a form
 * works without changes. The page waits for them.
 */
export const ExampleIds = Context.Reference<Effect.Effect<Partial<typeof Examples.ids>>>(
  "@messaging-crm/adapter-http/Docs/ExampleIds",
  { defaultValue: () => Effect.succeed({}) }
)

/** Returns the URL of the descriptions of error codes on the page of the service at an address, up to the code. */
export const errorHelpAt = (address: string): string => `${address}${path_to_code}`

const withIds = (html: string, known: Partial<typeof Examples.ids>): string =>
  Struct.keys(Examples.ids).reduce(
    (text, name) => text.replaceAll(Examples.ids[name], known[name] ?? Examples.ids[name]),
    html
  )

/** The script that shows the document has 0.75 MB, so it is loaded for the first request of the page. */
const loadScript = Effect.map(Effect.promise(() => import("./Docs/Explorer.ts")), ({ script }) => script)

const prepareScript = Effect.flatMap(
  loadScript,
  (text) => StaticResponse.prepare({ content_type: "text/javascript; charset=utf-8", text })
)

const preparePage = Effect.fnUntraced(function*(sends: boolean, ids: Partial<typeof Examples.ids>) {
  const script = sends ? `${fresh_keys_script}${start_script}` : start_script
  const integrity = yield* Effect.flatMap(loadScript, hashOf)
  const html = htmlOf({ document: documentOf(sends), integrity, script, sends })
  return yield* StaticResponse.prepare({
    content_type: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": policyOf([yield* hashOf(script), integrity], sends),
      "cross-origin-opener-policy": "same-origin",
      "referrer-policy": "no-referrer"
    },
    text: withIds(html, ids)
  })
})

/**
 * Layer that adds the page to a router, at `/docs`, with its script. Needs no key. The page and its policy are the same for
 * every request. They are prepared at the first, because most processes never show the page.
 */
export const layer = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const ids = yield* ExampleIds
  const sends = yield* TryRequests
  const page = yield* SharedResult.make(Effect.flatMap(ids, (known) => preparePage(sends, known)))
  const script = yield* SharedResult.make(prepareScript)
  yield* router.add("GET", "/docs", Effect.flatten(page))
  yield* router.add("GET", script_path, Effect.flatten(script))
}))
