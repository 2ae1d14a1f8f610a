/** The OpenAPI document, the docs page and its script: public, large and the same at each request. */
import { assert, describe, it } from "@effect/vitest"
import * as Docs from "@messaging-crm/adapter-http/Docs"
import { Digests, webCrypto } from "@messaging-crm/core/Digests"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createHash } from "node:crypto"
import { gunzipSync } from "node:zlib"
import { afterAll } from "vitest"
import { acceptsGzip, matchesETag } from "../src/StaticResponse.ts"
import { start } from "../testing/Service.ts"

const service = start()
const docs = HttpRouter.toWebHandler(Docs.layer.pipe(Layer.provide(HttpServer.layerServices)), { disableLogger: true })
afterAll(async () => {
  await docs.dispose()
  await service.stop()
})

const askDocs = (path: string) => (init: RequestInit) =>
  docs.handler(new Request(`http://localhost${path}`, init), Context.empty() as never)

const pages = {
  "/v1/openapi.json": (init: RequestInit) => service.fetch("http://localhost/v1/openapi.json", init),
  "/docs": askDocs("/docs"),
  "/docs/explorer.js": askDocs("/docs/explorer.js")
}

for (const [path, ask] of Object.entries(pages)) {
  describe(path, () => {
    it("is compressed for clients that accept it", async () => {
      const plain = await ask({})
      const small = await ask({ headers: { "accept-encoding": "br, gzip;q=0.5" } })
      assert.isNull(plain.headers.get("content-encoding"))
      assert.strictEqual(small.headers.get("content-encoding"), "gzip")
      assert.strictEqual(small.headers.get("vary"), "accept-encoding")
      const bytes = new Uint8Array(await small.arrayBuffer())
      const text = await plain.text()
      assert.strictEqual(gunzipSync(bytes).toString(), text)
      assert.isBelow(bytes.byteLength, text.length / 2)
    })

    it("is not sent again to clients that have it", async () => {
      for (const encoding of ["identity", "gzip"]) {
        const first = await ask({ headers: { "accept-encoding": encoding } })
        const etag = first.headers.get("etag") ?? ""
        assert.match(etag, /^"[0-9a-f]{32}(?:-gzip)?"$/)
        assert.strictEqual(first.headers.get("cache-control"), "no-cache")
        const headers = { "accept-encoding": encoding, "if-none-match": `"other", W/${etag}` }
        const again = await ask({ headers })
        assert.strictEqual(again.status, 304, encoding)
        assert.strictEqual(again.headers.get("etag"), etag, encoding)
        assert.strictEqual(await again.text(), "")
        assert.strictEqual((await ask({ headers: { ...headers, "if-none-match": "\"other\"" } })).status, 200)
      }
    })
  })
}

it("the docs page and its script take less than 300 kB, and less than 1.3 MB without compression", async () => {
  const sizeOf = async (encoding: string) => {
    const headers = { "accept-encoding": encoding }
    const responses = await Promise.all([pages["/docs"]({ headers }), pages["/docs/explorer.js"]({ headers })])
    return responses.reduce((sum, response) => sum + Number(response.headers.get("content-length")), 0)
  }
  assert.isBelow(await sizeOf("gzip"), 300_000)
  assert.isBelow(await sizeOf("identity"), 1_300_000)
})

it("the docs page allows only its own scripts, by their hashes", async () => {
  const page = await pages["/docs"]({})
  const policy = page.headers.get("content-security-policy") ?? ""
  const digest = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`
  const inline = /<script>([^]*?)<\/script>/.exec(await page.text())?.[1] ?? ""
  const script = await (await pages["/docs/explorer.js"]({})).text()
  assert.include(policy, `script-src ${digest(inline)} ${digest(script)};`)
})

it("the docs page has no security scheme, so no field for a key, and connects to nothing, unless it is told to", async () => {
  const response = await pages["/docs"]({})
  assert.include(response.headers.get("content-security-policy"), "connect-src 'none'")
  assert.notInclude(await response.text(), "securitySchemes\":")
  const sending = HttpRouter.toWebHandler(
    Docs.layer.pipe(Layer.provide([HttpServer.layerServices, Layer.succeed(Docs.TryRequests, true)])),
    { disableLogger: true }
  )
  const forms = await sending.handler(new Request("http://localhost/docs"), Context.empty() as never)
  assert.include(forms.headers.get("content-security-policy"), "connect-src 'self'")
  assert.include(await forms.text(), "securitySchemes\":")
  await sending.dispose()
})

describe("a response that many clients request before it is prepared", () => {
  /** Digests that count how often a text is hashed, which happens once for each response that is prepared. */
  const counting = () => {
    const texts: Array<string> = []
    const sha256 = (text: string) => Effect.andThen(Effect.sync(() => texts.push(text)), webCrypto.sha256(text))
    return { texts, layer: Layer.succeed(Digests, { ...webCrypto, sha256 }) }
  }

  /** Asks for it many times; the first, and some of the others, hang up. */
  const askAtOnce = async (ask: (init: RequestInit) => Promise<Response>) => {
    const leaving = Array.from({ length: 10 }, () => new AbortController())
    const gone = leaving.map(({ signal }) => ask({ signal }).catch(() => null))
    for (const controller of leaving) controller.abort()
    const responses = await Promise.all(Array.from({ length: 20 }, () => ask({})))
    await Promise.all(gone)
    return responses.map(({ status }) => status)
  }

  it("is prepared once: the document", async () => {
    const { layer, texts } = counting()
    const cold = start({ instead: layer })
    assert.deepStrictEqual(
      await askAtOnce((init) => cold.fetch("http://localhost/v1/openapi.json", init)),
      Array(20).fill(200)
    )
    assert.lengthOf(texts, 1)
    await cold.stop()
  })

  it("is prepared once: the docs page", async () => {
    const { layer, texts } = counting()
    const cold = HttpRouter.toWebHandler(
      Docs.layer.pipe(Layer.provideMerge(layer), Layer.provide(HttpServer.layerServices)),
      { disableLogger: true }
    )
    assert.deepStrictEqual(
      await askAtOnce((init) => cold.handler(new Request("http://localhost/docs", init), Context.empty() as never)),
      Array(20).fill(200)
    )
    assert.lengthOf(texts, 1)
    await cold.dispose()
  })
})

it("reads what a client accepts and has", () => {
  for (const header of ["gzip", "GZIP", "br, gzip;q=0.1", "*", "x-gzip", "gzip;q=1.0"]) {
    assert.isTrue(acceptsGzip(header))
  }
  for (const header of ["", "br", "gzip;q=0", "gzip; q=0.00", "*;q=0", "identity", "gzip;q=0, *"]) {
    assert.isFalse(acceptsGzip(header), header)
  }
  assert.isFalse(acceptsGzip(undefined))
  assert.isTrue(matchesETag("*", "\"a\""))
  assert.isFalse(matchesETag("\"a-gzip\"", "\"a\""))
  assert.isFalse(matchesETag(undefined, "\"a\""))
})
