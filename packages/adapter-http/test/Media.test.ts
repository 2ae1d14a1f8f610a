/** Messages with files, and the links to them, followed as a browser does. */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { MediaId } from "@messaging-crm/core/Ids"
import { Inbound, type ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Media, MediaStore, PublicUrl, type ReceivedMedia } from "@messaging-crm/core/Media"
import { MessageType } from "@messaging-crm/core/Messages"
import { picture } from "@messaging-crm/provider-mock"
import { DateTime, Duration, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { afterAll } from "vitest"
import { DownloadsAtOnce, DownloadTime, DownloadWait } from "../src/handlers/Media.ts"
import { idempotency, orderReady, start } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

type Organization = Awaited<ReturnType<typeof service.organization>>

const image: ReceivedMedia = {
  kind: "image",
  mime_type: "image/png",
  filename: null,
  transcript: null,
  bytes: picture
}

/** A person writes to an organization. Returns the path of the conversation's messages. */
const write = async (to: Organization, said: Partial<ProviderMessageReceived>, through = service) => {
  await through.receive(to.channel.id, { type: "image", text: null, media: image, ...said })
  const { body } = await through.request("GET", "/v1/conversations", { key: to.key })
  return `/v1/conversations/${body.data[0].id}/messages`
}

const newest = async (of: Organization, path: string, through = service) =>
  (await through.request("GET", path, { key: of.key })).body.data[0]

const bytesOf = async (response: Response) => new Uint8Array(await response.arrayBuffer())

/** The link to the file of a message that was just received. */
const linkTo = async (media: Partial<ReceivedMedia>) => {
  const ours = await service.organization()
  const { media: { url } } = await newest(ours, await write(ours, { media: { ...image, ...media } }))
  return url as string
}

describe("a message with a file", () => {
  it("describes the file, and links to its very bytes, which need no key", async () => {
    const ours = await service.organization()
    const path = await write(ours, { text: "Look!" })
    const message = await newest(ours, path)
    const { url, ...described } = message.media
    assert.deepStrictEqual(described, {
      kind: "image",
      mime_type: "image/png",
      filename: null,
      byte_size: picture.byteLength,
      transcript: null
    })
    assert.match(url, /^http:\/\/localhost\/media\/[\w.-]{1,200}$/)
    const response = await service.fetch(url)
    assert.strictEqual(response.status, 200)
    assert.deepStrictEqual(await bytesOf(response), picture)
  })

  it("has a new link at each reading, in the list and alone, and the earlier ones still open", async () => {
    const ours = await service.organization()
    const path = await write(ours, {})
    const { id } = await newest(ours, path)
    const urls = new Set<string>()
    for (let reading = 0; reading < 3; reading++) {
      urls.add((await newest(ours, path)).media.url)
      urls.add((await service.request("GET", `${path}/${id}`, { key: ours.key })).body.data.media.url)
    }
    assert.strictEqual(urls.size, 6)
    for (const url of urls) assert.strictEqual((await service.fetch(url)).status, 200)
  })

  it("is previewed by its caption, or else by its type", async () => {
    const ours = await service.organization()
    const previews = async () => {
      const conversations = await service.request("GET", "/v1/conversations", { key: ours.key })
      const contacts = await service.request("GET", "/v1/contacts", { key: ours.key })
      return [conversations, contacts].map(({ body }) => body.data[0].last_activity_preview)
    }
    for (const type of MessageType.literals.filter((type) => type !== "text" && type !== "template")) {
      const message = await newest(ours, await write(ours, { type, media: null }))
      assert.deepStrictEqual([message.type, message.text, message.media], [type, null, null])
      assert.deepStrictEqual(await previews(), [`[${type}]`, `[${type}]`])
    }
    await write(ours, { type: "document", text: "The offer" })
    assert.deepStrictEqual(await previews(), ["The offer", "The offer"])
  })

  it("that is too large to be kept is described without a link", async () => {
    const ours = await service.organization()
    const bytes = new Uint8Array(16_000_001)
    const { media } = await newest(
      ours,
      await write(ours, { type: "video", media: { ...image, kind: "video", bytes } })
    )
    assert.strictEqual(media.byte_size, 16_000_001)
    assert.isNull(media.url)
  })

  it("arrives from the number 0008 as the reply to a template", async () => {
    const ours = await service.organization()
    const { status } = await service.request("POST", "/v1/conversations", {
      key: ours.key,
      json: {
        channel_id: ours.channel.id,
        phone: "+4915112340008",
        template: orderReady(ours.channel)
      },
      ...idempotency()
    })
    assert.strictEqual(status, 202)
    const conversation = async () => (await service.request("GET", "/v1/conversations", { key: ours.key })).body.data[0]
    await service.until(async () => (await conversation()).last_activity_preview === "[image]")
    const { data } = (await service.request("GET", `/v1/conversations/${(await conversation()).id}/messages`, {
      key: ours.key
    })).body
    const received = data.filter(({ direction }: { readonly direction: string }) => direction === "inbound")
    assert.lengthOf(received, 1)
    assert.strictEqual(received[0].type, "image")
    assert.deepStrictEqual(await bytesOf(await service.fetch(received[0].media.url)), picture)
  })
})

describe("a link", () => {
  it("says what the file is, how long it may be kept, and that nothing of it may run", async () => {
    const { headers } = await service.fetch(await linkTo({ filename: "Foto \"Größe\".png" }))
    assert.strictEqual(headers.get("content-type"), "image/png")
    assert.strictEqual(headers.get("content-length"), String(picture.byteLength))
    assert.strictEqual(
      headers.get("content-disposition"),
      "inline; filename=\"Foto _Gr__e_.png\"; filename*=UTF-8''Foto%20%22Gr%C3%B6%C3%9Fe%22.png"
    )
    assert.strictEqual(headers.get("content-security-policy"), "default-src 'none'; sandbox")
    assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
    assert.match(headers.get("cache-control") ?? "", /^private, max-age=3[56]\d\d, immutable$/)
    assert.isNotNull(headers.get("x-request-id"))
    assert.isNull(headers.get("x-ratelimit-limit"))
  })

  it("to what a browser would run has it saved", async () => {
    for (const mime_type of ["text/html", "image/svg+xml", "application/pdf", null, "image/png\r\nx: y"]) {
      const response = await service.fetch(await linkTo({ mime_type, bytes: new TextEncoder().encode("<script>") }))
      assert.strictEqual(response.headers.get("content-disposition"), "attachment")
      assert.strictEqual(await response.text(), "<script>")
      const expected = mime_type === null || mime_type.includes("\n") ? "application/octet-stream" : mime_type
      assert.strictEqual(response.headers.get("content-type"), expected)
    }
  })

  it("responds to HEAD with everything but the bytes", async () => {
    const response = await service.fetch(await linkTo({}), { method: "HEAD" })
    assert.strictEqual(response.status, 200)
    assert.strictEqual(response.headers.get("content-length"), String(picture.byteLength))
    assert.strictEqual((await bytesOf(response)).byteLength, 0)
  })

  it("returns the requested range, unless it is of another version or beyond the end", async () => {
    const url = await linkTo({})
    const size = picture.byteLength
    const part = await service.fetch(url, { headers: { range: "bytes=1-3" } })
    assert.strictEqual(part.status, 206)
    assert.strictEqual(part.headers.get("content-range"), `bytes 1-3/${size}`)
    assert.strictEqual(part.headers.get("content-length"), "3")
    assert.strictEqual(await part.text(), "PNG")
    const etag = part.headers.get("etag") ?? ""
    const rest = await service.fetch(url, { headers: { range: `bytes=${size - 2}-`, "if-range": etag } })
    assert.deepStrictEqual(await bytesOf(rest), picture.slice(-2))
    for (const headers of [{ range: "bytes=1-3", "if-range": "\"other\"" }, { range: `bytes=${size}-` }]) {
      const whole = await service.fetch(url, { headers })
      assert.strictEqual(whole.status, 200, headers.range)
      assert.strictEqual((await bytesOf(whole)).byteLength, size, headers.range)
    }
  })

  it("supports GET and HEAD only", async () => {
    const response = await service.fetch(await linkTo({}), { method: "DELETE" })
    assert.strictEqual(response.status, 405)
    assert.strictEqual(response.headers.get("allow"), "GET, HEAD")
  })

  it("that is forged, cut, of another organization's file, or an hour old gets the same API error", async () => {
    const [ours, theirs] = [await service.organization(), await service.organization()]
    const { media: { url } } = await newest(ours, await write(ours, {}))
    const [origin, link = ""] = (url as string).split("/media/")
    const foreign = link.replace(ours.organization.id, theirs.organization.id)
    assert.notStrictEqual(foreign, link)
    const later = link.replace(/\.(\d{13})\./, (_, expires: string) => `.${Number(expires) + 1}.`)
    assert.notStrictEqual(later, link)
    // Made by the very key, in 1970.
    const expired = await service.runtime.runPromise(
      Effect.gen(function*() {
        const media = yield* Media
        const id = MediaId.make(link.split(".")[1] ?? "")
        const { bytes: _bytes, ...described } = image
        return (yield* media.link({ ...described, id, byte_size: picture.byteLength })).url?.split("/media/")[1]
      }).pipe(
        Effect.provideService(CurrentActor, { organization_id: ours.organization.id, member_id: null }),
        Effect.provide(TestClock.layer())
      )
    )
    const links = [foreign, later, expired, link.slice(0, -1), `${link}0`, "x", link.toUpperCase()]
    const responses = await Promise.all(links.map((link) => service.request("GET", `/media/${link}`)))
    for (const [index, { body, headers, status }] of responses.entries()) {
      assert.strictEqual(status, 404, `link ${index}`)
      const { request_id, ...error } = body.error
      assert.deepStrictEqual(error, {
        code: "not_found",
        message: "The media link is invalid or has expired. Get the message again for a new link.",
        param: null
      })
      assert.strictEqual(request_id, headers.get("x-request-id"))
      assert.strictEqual(headers.get("cache-control"), "no-store")
    }
    assert.strictEqual((await service.fetch(`${origin}/media/${link}`)).status, 200)
  })

  it("starts with the operator's public URL, or else with the host of the request", async () => {
    const ours = await service.organization()
    const path = await write(ours, {})
    const named = async (host: string) => {
      const options = { key: ours.key, headers: { host } }
      return new URL((await service.request("GET", path, options)).body.data[0].media.url, "relative://").origin
    }
    assert.strictEqual(await named("crm.example:8080"), "http://crm.example:8080")
    const elsewhere = start({ instead: Layer.succeed(PublicUrl, "https://crm.example/api") })
    const theirs = await elsewhere.organization()
    const { media } = await newest(theirs, await write(theirs, {}, elsewhere), elsewhere)
    assert.match(media.url, /^https:\/\/crm\.example\/api\/media\//)
    await elsewhere.stop()
  })
})

const large = new Uint8Array(1_000_000).map((_, index) => index % 251)

/** A store that counts the bytes that it is asked for. */
const counted = (counts: { bytes: number }) =>
  Layer.effect(
    MediaStore,
    Effect.map(MediaStore, (store) =>
      MediaStore.of({
        ...store,
        read: (organization_id, id, range) =>
          Effect.tap(store.read(organization_id, id, range), (slice) =>
            Effect.sync(() =>
              counts.bytes += Option.match(slice, { onNone: () => 0, onSome: (bytes) => bytes.length })
            ))
      }))
  ).pipe(Layer.provideMerge(Memory.layer))

describe("the bytes of a file", () => {
  it("are read slice by slice as they are taken, only those that are asked for, and none for HEAD", async () => {
    const counts = { bytes: 0 }
    const counting = start({ storage: counted(counts) })
    const ours = await counting.organization()
    const path = await write(ours, { media: { ...image, bytes: large } }, counting)
    const { url } = (await newest(ours, path, counting)).media
    await counting.fetch(url, { method: "HEAD" })
    assert.strictEqual(counts.bytes, 0)
    const part = await counting.fetch(url, { headers: { range: "bytes=300000-300009" } })
    assert.deepStrictEqual(await bytesOf(part), large.slice(300_000, 300_010))
    assert.strictEqual(counts.bytes, 10)
    const reader = (await counting.fetch(url)).body?.getReader()
    await reader?.read()
    assert.isBelow(counts.bytes, large.length)
    await reader?.cancel()
    assert.deepStrictEqual(await bytesOf(await counting.fetch(url)), large)
    await counting.stop()
  })

  it("are handed out to so many callers of an organization at once, and to so many in all", async () => {
    const limited = start({
      tuning: Layer.empty,
      // Each cell has its own limits, and the two organizations would be in different ones.
      storage: Memory.layer,
      instead: Layer.merge(
        Layer.succeed(DownloadsAtOnce, { of_one: 2, of_all: 3 }),
        Layer.succeed(DownloadWait, Duration.millis(1))
      )
    })
    const linkOf = async () => {
      const ours = await limited.organization()
      const path = await write(ours, { media: { ...image, bytes: large } }, limited)
      return (await newest(ours, path, limited)).media.url as string
    }
    const [ours, theirs] = [await linkOf(), await linkOf()]
    const open = async (url: string) => {
      const response = await limited.fetch(url)
      return { response, reader: response.body?.getReader() }
    }
    const [first, second] = [await open(ours), await open(ours)]
    assert.deepStrictEqual([first.response.status, second.response.status], [200, 200])
    const third = await limited.request("GET", new URL(ours).pathname)
    assert.deepStrictEqual([third.status, third.body.error.code, third.headers.get("retry-after")], [
      503,
      "overloaded",
      "1"
    ])
    assert.strictEqual(third.headers.get("cache-control"), "no-store")
    assert.strictEqual((await limited.fetch(ours, { method: "HEAD" })).status, 200)
    const other = await open(theirs)
    assert.strictEqual(other.response.status, 200)
    assert.strictEqual((await limited.request("GET", new URL(theirs).pathname)).status, 503)
    // One is read to its end, the others are given up: each makes room.
    while (!(await first.reader?.read())?.done) { /* read on */ }
    await second.reader?.cancel()
    await other.reader?.cancel()
    for (const url of [ours, ours, theirs]) assert.deepStrictEqual((await open(url)).response.status, 200)
    await limited.stop()
  })

  it("stop when the time of a download is over", async () => {
    const hasty = start({ instead: Layer.succeed(DownloadTime, Duration.zero) })
    const ours = await hasty.organization()
    const { media: { url } } = await newest(ours, await write(ours, {}, hasty), hasty)
    const response = await hasty.fetch(url)
    assert.strictEqual(response.status, 200)
    const read = await bytesOf(response).then(({ byteLength }) => byteLength, () => 0)
    assert.strictEqual(read, 0)
    await hasty.stop()
  })

  it("end in a broken response, never in half a file, if the file is removed meanwhile", async () => {
    const ours = await service.organization()
    const provider_message_id = globalThis.crypto.randomUUID()
    const path = await write(ours, { provider_message_id, media: { ...image, bytes: large } })
    const reader = (await service.fetch((await newest(ours, path)).media.url)).body?.getReader()
    await reader?.read()
    await service.runtime.runPromise(
      Effect.flatMap(
        DateTime.now,
        (at) =>
          Inbound.use((inbound) =>
            inbound.receive({ event: "message_deleted", channel_id: ours.channel.id, provider_message_id, at })
          )
      )
    )
    const rest = async () => {
      while (!(await reader?.read())?.done) { /* read on */ }
    }
    assert.strictEqual(await rest().then(() => "complete", () => "broken"), "broken")
  })
})
