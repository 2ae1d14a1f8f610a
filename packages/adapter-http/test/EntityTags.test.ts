/** `ETag` and `If-Match` of contacts (contract §8.12). */
import { assert, describe, it } from "@effect/vitest"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { RequestsPerMinute } from "@messaging-crm/core/ApiKeys"
import { Digests, webCrypto } from "@messaging-crm/core/Digests"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { Effect, Layer } from "effect"
import { afterAll } from "vitest"
import { parseIfMatch } from "../src/middleware/EntityTags.ts"
import { idempotency, start } from "../testing/Service.ts"

/** The bodies of which the digests of the process were computed. */
const digested: Array<string> = []
const digests = Layer.succeed(Digests, {
  ...webCrypto,
  sha256: (text) => {
    digested.push(text)
    return webCrypto.sha256(text)
  }
})

const service = start({ tuning: Layer.succeed(RequestsPerMinute, 100_000), instead: digests })
afterAll(() => service.stop())

const strong = /^"[0-9a-f]{32}"$/

/** A contact who has written, and the requests of a client. */
const makeScene = async () => {
  const { channel, key, organization, owner } = await service.organization()
  const receive = (text: string, display_name = "Kim") =>
    service.receive(channel.id, { text, from: { external_id: "+4915112345678", display_name, username: null } })
  await receive("Hello")
  const [{ id }] = (await service.request("GET", "/v1/contacts", { key })).body.data
  const path = `/v1/contacts/${id}`
  const get = () => service.request("GET", path, { key })
  const write = (method: string, target: string, json: unknown, headers: Record<string, string> = {}) =>
    service.request(method, target, { key, json, headers: { ...idempotency().headers, ...headers } })
  const update = (json: unknown, headers?: Record<string, string>) => write("PATCH", path, json, headers)
  const note = (headers?: Record<string, string>) => write("POST", `${path}/notes`, { text: "Called" }, headers)
  const tag = async () => (await get()).headers.get("etag") ?? ""
  const erase = () =>
    service.runtime.runPromise(
      PersonalData.use((data) => data.erase(id)).pipe(
        Effect.provideService(CurrentActor, { organization_id: organization.id, member_id: null })
      )
    )
  return { channel, erase, get, key, note, owner, path, receive, tag, update, write }
}

it("a tag is computed with the digests of the process, which are faster than those of every runtime", async () => {
  const { get } = await makeScene()
  digested.length = 0
  assert.include(digested, (await get()).text)
})

describe("the ETag of a contact", () => {
  it("is that of the same contact in each response, a HEAD and a replay included", async () => {
    const { get, key, note, path, tag, update, write } = await makeScene()
    const created = await write("POST", "/v1/contacts", { first_name: "Lee" })
    const again = await service.request("GET", `/v1/contacts/${created.body.data.id}`, { key })
    assert.match(created.headers.get("etag") ?? "", strong)
    assert.strictEqual(again.headers.get("etag"), created.headers.get("etag"))
    for (const change of [() => update({ city: "Ulm" }), () => update({}), note]) {
      const response = await change()
      assert.strictEqual(response.headers.get("etag"), await tag())
    }
    assert.strictEqual((await service.request("HEAD", path, { key })).headers.get("etag"), await tag())
    const once = idempotency().headers
    const first = await update({ city: "Bonn" }, once)
    await update({ city: "Berlin" })
    const replay = await update({ city: "Bonn" }, once)
    assert.deepStrictEqual(
      [replay.headers.get("idempotent-replayed"), replay.text, replay.headers.get("etag")],
      ["true", first.text, first.headers.get("etag")]
    )
    assert.notStrictEqual(first.headers.get("etag"), (await get()).headers.get("etag"))
  })

  it("changes with every change that a read shows", async () => {
    const { erase, get, key, owner, receive, tag, update, write } = await makeScene()
    const conversations = await service.request("GET", "/v1/conversations", { key })
    const conversation = `/v1/conversations/${conversations.body.data[0].id}`
    const changes: ReadonlyArray<() => Promise<unknown>> = [
      () => update({ city: "Ulm" }),
      // Its text is the same, only `updated_at` may differ.
      () => receive("Hello again"),
      () => receive("Hello again", "Kimberly"),
      () => write("PATCH", `${conversation}/assignment`, { assigned_user_id: owner.id }),
      erase
    ]
    const seen = [await tag()]
    for (const change of changes) {
      const before = await get()
      await change()
      const after = await get()
      assert.notStrictEqual(after.text, before.text)
      seen.push(after.headers.get("etag") ?? "")
    }
    assert.strictEqual(new Set(seen).size, seen.length)
  })

  it("is on no list, no error, and no other resource", async () => {
    const { key, path, update } = await makeScene()
    const others = [
      await service.request("GET", "/v1/contacts", { key }),
      await service.request("GET", "/v1/tags", { key }),
      await service.request("GET", path.replace(/.$/, "0").replace(/.{4}$/, "0000"), { key }),
      await update({ tag_ids: "x" })
    ]
    for (const { headers } of others) assert.isNull(headers.get("etag"))
  })
})

describe("If-Match", () => {
  const other = `"${"0".repeat(32)}"`

  it("applies a write to the contact as it was read, and rejects it afterward", async () => {
    const { get, note, tag, update } = await makeScene()
    const read = await tag()
    const first = await update({ city: "Ulm" }, { "if-match": read })
    assert.strictEqual(first.status, 200)
    for (const late of [await update({ city: "Bonn" }, { "if-match": read }), await note({ "if-match": read })]) {
      assert.strictEqual(late.status, 412)
      assert.deepInclude(late.body.error, { code: "precondition_failed", param: "If-Match" })
    }
    assert.strictEqual((await get()).text, first.text)
    assert.strictEqual((await note({ "if-match": first.headers.get("etag") ?? "" })).status, 200)
  })

  it("compares lists and weak tags as RFC 9110 says", async () => {
    const { tag, update } = await makeScene()
    const forms: ReadonlyArray<readonly [status: number, header: (tag: string) => string]> = [
      [200, (tag) => `${other}, ${tag}`],
      [200, (tag) => `,${tag},,W/${other} ,`],
      [200, (tag) => tag.replace(/"$/, "-gzip\"")],
      [200, () => "*"],
      [200, () => " * "],
      [412, () => other],
      [412, (tag) => `W/${tag}`],
      [412, (tag) => `"a,${tag.slice(1)}, ""`],
      [400, () => ""],
      [400, () => ",  ,"],
      [400, (tag) => tag.slice(1)],
      [400, (tag) => tag.slice(0, -1)],
      [400, (tag) => `${tag} ${tag}`],
      [400, (tag) => `*, ${tag}`],
      [400, (tag) => `w/${tag}`],
      [400, (tag) => `W/ ${tag}`],
      [400, (tag) => `'${tag.slice(1, -1)}'`],
      [400, () => `"a b"`]
    ]
    for (const [status, header] of forms) {
      const value = header(await tag())
      const response = await update({ city: `${status}` }, { "if-match": value })
      assert.strictEqual(response.status, status, value)
      if (status === 400) assert.deepInclude(response.body.error, { code: "invalid_input", param: "If-Match" })
    }
  })

  it("reads a long header in linear time", () => {
    for (const part of [" ", ",", "\"", "W/", "\"\",", ", ", "\"a\" "]) {
      const result = parseIfMatch(`"a",${part.repeat(200_000)}x`)
      assert.isNull(result)
    }
    assert.deepStrictEqual(parseIfMatch(`${"\"a\" , ".repeat(3)}"b"`), new Set(["a", "b"]))
  })

  it("of an unknown contact is not compared, nor that of invalid input", async () => {
    const { key, update } = await makeScene()
    const absent = "/v1/contacts/01990000-0000-7000-8000-000000000000"
    for (const value of ["*", other]) {
      const json = { city: "Ulm" }
      const headers = { ...idempotency().headers, "if-match": value }
      assert.strictEqual((await service.request("PATCH", absent, { key, json, headers })).status, 404)
    }
    assert.strictEqual((await update({ city: 1 }, { "if-match": other })).status, 400)
  })

  it("comes before the references of the body, and leaves the key free", async () => {
    const { tag, update } = await makeScene()
    const once = idempotency().headers
    const json = { tag_ids: ["01990000-0000-7000-8000-000000000000"] }
    assert.strictEqual((await update(json, { ...once, "if-match": other })).status, 412)
    assert.strictEqual((await update(json, { ...once, "if-match": await tag() })).status, 400)
    const corrected = await update({ city: "Ulm" }, { ...once, "if-match": await tag() })
    assert.deepStrictEqual([corrected.status, corrected.headers.has("idempotent-replayed")], [200, false])
  })

  it("is not part of the request that a key identifies: a retry gets the first response, with any tag", async () => {
    const { get, tag, update } = await makeScene()
    const once = idempotency().headers
    const read = await tag()
    const first = await update({ city: "Ulm" }, { ...once, "if-match": read })
    for (const value of [read, await tag(), other, "*"]) {
      const retry = await update({ city: "Ulm" }, { ...once, "if-match": value })
      assert.deepStrictEqual([retry.status, retry.text], [200, first.text])
      assert.strictEqual(retry.headers.get("idempotent-replayed"), "true")
      assert.strictEqual(retry.headers.get("etag"), first.headers.get("etag"))
    }
    assert.strictEqual((await get()).text, first.text)
  })

  it("lets one of ten concurrent editors write", async () => {
    const { get, tag, update } = await makeScene()
    const read = await tag()
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) => update({ city: `${index}` }, { "if-match": read }))
    )
    const written = outcomes.filter(({ status }) => status === 200)
    assert.strictEqual(written.length, 1)
    assert.strictEqual(outcomes.filter(({ status }) => status === 412).length, 9)
    assert.strictEqual((await get()).text, written[0]?.text)
  })
})
