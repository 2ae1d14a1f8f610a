/** The OpenAPI document and the docs page: public, large and the same at each request. */
import { assert, describe, it } from "@effect/vitest"
import * as Docs from "@messaging-crm/adapter-http/Docs"
import { Context } from "effect"
import { Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { gunzipSync } from "node:zlib"
import { afterAll } from "vitest"
import { acceptsGzip, has } from "../src/FixedAnswer.ts"
import { start } from "./Service.ts"

const service = start()
const docs = HttpRouter.toWebHandler(Docs.layer.pipe(Layer.provide(HttpServer.layerServices)), { disableLogger: true })
afterAll(async () => {
  await docs.dispose()
  await service.stop()
})

const pages = {
  "/v1/openapi.json": (init: RequestInit) => service.fetch("http://localhost/v1/openapi.json", init),
  "/docs": (init: RequestInit) => docs.handler(new Request("http://localhost/docs", init), Context.empty() as never)
}

for (const [path, ask] of Object.entries(pages)) {
  describe(path, () => {
    it("is compressed for who takes it", async () => {
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

    it("is not sent again to who has it", async () => {
      for (const encoding of ["identity", "gzip"]) {
        const first = await ask({ headers: { "accept-encoding": encoding } })
        const etag = first.headers.get("etag") ?? ""
        assert.match(etag, /^"[0-9a-f]{32}(?:-gzip)?"$/)
        assert.strictEqual(first.headers.get("cache-control"), "no-cache")
        const headers = { "accept-encoding": encoding, "if-none-match": `"other", W/${etag}` }
        const again = await ask({ headers })
        assert.strictEqual(again.status, 304)
        assert.strictEqual(again.headers.get("etag"), etag)
        assert.strictEqual(await again.text(), "")
        assert.strictEqual((await ask({ headers: { ...headers, "if-none-match": "\"other\"" } })).status, 200)
      }
    })
  })
}

it("reads what a caller takes and has", () => {
  for (const header of ["gzip", "GZIP", "br, gzip;q=0.1", "*", "x-gzip", "gzip;q=1.0"]) {
    assert.isTrue(acceptsGzip(header))
  }
  for (const header of ["", "br", "gzip;q=0", "gzip; q=0.00", "*;q=0", "identity", "gzip;q=0, *"]) {
    assert.isFalse(acceptsGzip(header), header)
  }
  assert.isFalse(acceptsGzip(undefined))
  assert.isTrue(has("*", "\"a\""))
  assert.isFalse(has("\"a-gzip\"", "\"a\""))
  assert.isFalse(has(undefined, "\"a\""))
})
