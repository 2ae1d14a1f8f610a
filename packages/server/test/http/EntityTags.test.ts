/** The `ETag` of compressed responses: clients such as `fetch` accept gzip, and their `If-Match` must still match. */
import { assert, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { startService } from "./ContractScene.ts"

const { fullKey, origin, stop } = await startService()
afterAll(stop)

it("a compressed contact has a strong tag of its own, which matches the contact", async () => {
  const key = await fullKey()
  const call = (method: string, path: string, headers: Record<string, string>, json?: unknown) =>
    fetch(`${origin}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "idempotency-key": globalThis.crypto.randomUUID(),
        ...headers
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) })
    })
  const created = await call("POST", "/contacts", {}, { first_name: "Kim", notes: "long ".repeat(500) })
  const { data } = await created.json() as { readonly data: { readonly id: string } }
  const read = async (accepted: string) => {
    const { headers } = await call("GET", `/contacts/${data.id}`, { "accept-encoding": accepted })
    return [headers.get("content-encoding"), headers.get("etag") ?? ""] as const
  }
  const [plain, compressed] = [await read("identity"), await read("gzip")]
  assert.deepStrictEqual([plain[0], compressed[0]], [null, "gzip"])
  assert.match(plain[1], /^"[0-9a-f]{32}"$/)
  assert.strictEqual(compressed[1], plain[1].replace(/"$/, "-gzip\""))
  assert.strictEqual(created.headers.get("etag"), compressed[1])
  const change = (city: string, tag: string) => call("PATCH", `/contacts/${data.id}`, { "if-match": tag }, { city })
  const updated = await change("Ulm", compressed[1])
  assert.strictEqual(updated.status, 200)
  assert.strictEqual((await change("Bonn", compressed[1])).status, 412)
  assert.strictEqual((await change("Bonn", updated.headers.get("etag") ?? "")).status, 200)
})
