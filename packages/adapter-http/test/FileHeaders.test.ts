/** The headers of files that strangers sent. */
import { assert, describe, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { MediaId } from "@messaging-crm/core/Ids"
import { contentDisposition, contentType, rangeOf } from "../src/handlers/FileHeaders.ts"

const file = (mime_type: string | null, filename: string | null = null) => ({
  id: MediaId.make("01990000-0000-7000-8000-000000000001"),
  mime_type,
  filename,
  bytes: new Uint8Array()
})

/** Returns the file name that a client reads by RFC 8187. */
const nameIn = (disposition: string): string => decodeURIComponent(disposition.split("filename*=UTF-8''")[1] ?? "")

describe("the content type", () => {
  it("is what the provider said, as far as a header may carry it", () => {
    for (
      const said of [
        "image/png",
        "audio/ogg; codecs=opus",
        "application/vnd.ms-excel",
        "text/plain;charset=\"utf-8\"",
        `a/${"b".repeat(125)}`
      ]
    ) {
      assert.strictEqual(contentType(file(said)), said)
    }
    for (
      const said of [
        null,
        "",
        "png",
        "image/png\r\nset-cookie: a=b",
        "image/png, text/html",
        "a/b;",
        `a/${"b".repeat(126)}`
      ]
    ) {
      assert.strictEqual(contentType(file(said)), "application/octet-stream")
    }
  })

  it.prop("can always be a header", { said: hardText({ min: 0, max: 60 }) }, ({ said }) => {
    for (const mime_type of [said, `image/${said}`, `image/png; name=${said}`]) {
      assert.isNotNull(new Headers({ "content-type": contentType(file(mime_type)) }).get("content-type"))
    }
  })
})

describe("the content disposition", () => {
  it("shows what a browser can show, and saves what it would run", () => {
    const shown = ["image/png", "IMAGE/JPEG", "image/webp", "audio/ogg; codecs=opus", "video/mp4"]
    for (const mime_type of shown) assert.strictEqual(contentDisposition(file(mime_type)), "inline")
    const saved = [
      "image/svg+xml",
      "image/pngx",
      "text/html",
      "application/xhtml+xml",
      "application/pdf",
      "image/png\n",
      "",
      null
    ]
    for (const mime_type of saved) assert.strictEqual(contentDisposition(file(mime_type)), "attachment")
  })

  it("contains the name in ASCII and unchanged", () => {
    assert.strictEqual(
      contentDisposition(file("application/pdf", "Größe \"M\" (neu) 100%.pdf")),
      "attachment; filename=\"Gr__e _M_ (neu) 100_.pdf\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%20%22M%22%20%28neu%29%20100%25.pdf"
    )
  })

  it("names no folder, ends no header and does not read backwards", () => {
    const disposition = contentDisposition(file("application/pdf", "../..\\etc/a\r\nx: y\u202Efdp.exe"))
    assert.strictEqual(nameIn(disposition), ".._.._etc_a__x: y_fdp.exe")
  })

  it("keeps the end of a name that is too long", () => {
    const name = nameIn(contentDisposition(file("application/pdf", `${"🙂".repeat(300)}.pdf`)))
    assert.strictEqual(name, `${"🙂".repeat(196)}.pdf`)
  })

  it.prop(
    "is a header, and tells every name that is harmless",
    { name: hardText({ min: 1, max: 200 }) },
    ({ name }) => {
      const disposition = contentDisposition(file(null, name))
      assert.strictEqual(new Headers({ "content-disposition": disposition }).get("content-disposition"), disposition)
      assert.strictEqual(nameIn(disposition), name.replaceAll("\\", "_"))
    }
  )
})

it("a range is used if it is one part of the file", () => {
  const cases: ReadonlyArray<readonly [string, readonly [number, number] | null]> = [
    ["bytes=0-0", [0, 1]],
    ["bytes=2-4", [2, 5]],
    ["bytes=2-", [2, 10]],
    ["bytes=-3", [7, 10]],
    ["bytes=-30", [0, 10]],
    ["bytes=8-99", [8, 10]],
    ["bytes=10-", null],
    ["bytes=-0", null],
    ["bytes=4-2", null],
    ["bytes=-", null],
    ["bytes=0-1,3-4", null],
    ["lines=0-1", null],
    ["", null]
  ]
  for (const [header, expected] of cases) {
    const range = rangeOf(header, 10)
    const found = range === null ? null : [range.start, range.end] as const
    assert.deepStrictEqual(found, expected, header)
  }
  assert.isNull(rangeOf("bytes=0-", 0))
})
