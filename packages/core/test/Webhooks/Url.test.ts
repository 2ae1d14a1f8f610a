import { assert, describe, it } from "@effect/vitest"
import { hardText } from "@messaging-crm/conformance/Arbitraries"
import { Arbitrary, Result, Schema } from "effect"
import { parseUrl } from "../../src/webhooks/WebhookUrl.ts"

const rejectionOf = (text: string, allowed: ((address: string) => boolean) | null): string | null =>
  Result.getOrNull(Result.flip(parseUrl(text, allowed)))

const loopback = (address: string) => address === "127.0.0.1" || address === "::1"
const at_most = (length: number) => `https://example.com/${"a".repeat(length - "https://example.com/".length)}`

const good = [
  "https://example.com",
  "https://example.com/",
  "HTTPS://Example.COM/Hooks",
  "https://hooks.example.co.uk/a/b?token=1%20",
  "https://example.com:443/",
  "https://example.com:1024/",
  "https://example.com:65535/",
  "https://xn--bcher-kva.example/",
  "https://bücher.example/",
  "https://example.com./",
  "https://1.2.3.4.example.com/",
  "https://notlocal.com/",
  "https://localhost.example.com/",
  "https://example.com/@user",
  "https://example.com/?next=http://127.0.0.1/",
  "https://example.com/?next=https://user@example.com/",
  at_most(2048)
]

/** Rejected URLs with the reason. The URL parser turns some of them into an address, a private name, or another host. */
const bad = [
  ["", "absolute"],
  ["example.com", "absolute"],
  ["//example.com/", "absolute"],
  ["/hooks", "absolute"],
  ["https:", "absolute"],
  ["https://", "absolute"],
  ["https:///", "absolute"],
  ["https:example.com", "absolute"],
  ["https:/example.com", "absolute"],
  ["https:\\\\example.com", "absolute"],
  ["https:///example.com", "absolute"],
  [" https://example.com/", "absolute"],
  ["https://example.com/\n", "absolute"],
  ["https://exam\tple.com/", "absolute"],
  ["https://example.com/a b", "absolute"],
  ["https://exa mple.com/", "absolute"],
  ["https://example.com/\u0000", "absolute"],
  ["https://example.com:99999/", "absolute"],
  ["https://1.2.3.256/", "absolute"],
  ["https://[::1/", "absolute"],
  ["https://[fe80::1%25eth0]/", "absolute"],
  ["ftp://example.com/", "begin with https://"],
  ["xhttps://example.com/", "begin with https://"],
  ["file:///etc/passwd", "begin with https://"],
  ["ftp://x", "begin with https://"],
  ["localhost:3000/hooks", "absolute"],
  ["javascript:alert(1)", "absolute"],
  ["data:text/plain,x", "absolute"],
  ["http://example.com/", "https"],
  ["http://127.0.0.1/", "https"],
  ["https://user:password@example.com/", "user name"],
  ["https://user@example.com/", "user name"],
  ["https://@example.com/", "user name"],
  ["https://:@example.com/", "user name"],
  ["https://example.com@127.0.0.1/", "user name"],
  ["https://example.com/#fragment", "fragment"],
  ["https://example.com/#", "fragment"],
  ["https://example.com:80/", "port"],
  ["https://example.com:22/", "port"],
  ["https://example.com:1023/", "port"],
  ["https://example.com:0/", "port"],
  ["https://127.0.0.1/", "IP address"],
  ["https://127.0.0.1:8443/", "IP address"],
  ["https://8.8.8.8/", "IP address"],
  ["https://127.1/", "IP address"],
  ["https://127.0.0.1./", "IP address"],
  ["https://2130706433/", "IP address"],
  ["https://0x7f.1/", "IP address"],
  ["https://0x7f000001/", "IP address"],
  ["https://0177.0.0.1/", "IP address"],
  ["https://①②⑦.⓪.⓪.①/", "IP address"],
  ["https://169。254。169。254/", "IP address"],
  ["https://%31%32%37.0.0.1/", "IP address"],
  ["https://0/", "IP address"],
  ["https://[::1]/", "IP address"],
  ["https://[::ffff:127.0.0.1]/", "IP address"],
  ["https://[2606:4700:4700::1111]/", "IP address"],
  ["https://localhost/", "public domain"],
  ["https://LOCALHOST/", "public domain"],
  ["https://localhost./", "public domain"],
  ["https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "public domain"],
  ["https://a.localhost/", "public domain"],
  ["https://printer.local/", "public domain"],
  ["https://metadata.google.internal/", "public domain"],
  ["https://metadata.google.internal./", "public domain"],
  ["https://router.home.arpa/", "public domain"],
  ["https://home.arpa/", "public domain"],
  ["https://facebookcorewwwi.onion/", "public domain"],
  ["https://intranet/", "public domain"],
  ["https://com./", "public domain"],
  ["https://example..com/", "domain name"],
  ["https://.example.com/", "domain name"],
  ["https://./", "domain name"],
  ["https://exa*mple.com/", "domain name"],
  [`https://${"a".repeat(64)}.com/`, "domain name"],
  [`https://${"a.".repeat(127)}com/`, "domain name"],
  [at_most(2049), "2048 characters"]
] as const

describe("a webhook's URL", () => {
  it("may be any public https URL", () => {
    for (const url of good) assert.isNull(rejectionOf(url, null), url)
  })

  it("is kept in ASCII, as it goes into a request", () => {
    for (
      const [given, kept] of [
        ["https://b\u00FCcher.example/x", "https://xn--bcher-kva.example/x"],
        ["https://EXAMPLE.com:443/gr\u00FC\u00DFe?q=\u00E9", "https://example.com/gr%C3%BC%C3%9Fe?q=%C3%A9"],
        ["https://example.com", "https://example.com/"],
        ["https://example.com:1024/a/../b", "https://example.com:1024/b"]
      ] as const
    ) {
      assert.deepStrictEqual(parseUrl(given, null), Result.succeed(kept))
    }
    const grows = `https://example.com/${"\u00FC".repeat(400)}`
    assert.isTrue(Result.isFailure(parseUrl(grows, null)))
  })

  it("is rejected with a sentence that states the reason", () => {
    for (const [url, reason] of bad) assert.include(rejectionOf(url, null) ?? "allowed", reason, url)
  })

  it("may be private and http only if such addresses are allowed", () => {
    for (
      const url of [
        "http://127.0.0.1:3001/hooks",
        "http://127.1/",
        "http://localhost/",
        "http://receiver:8080/",
        "https://[::1]:8443/",
        "https://printer.local/",
        "http://example.com/"
      ]
    ) {
      assert.isNull(rejectionOf(url, loopback), url)
    }
    const also_private = new Set(["https", "IP address", "public domain"])
    for (const [url, reason] of bad) {
      if (!also_private.has(reason)) assert.include(rejectionOf(url, loopback) ?? "allowed", reason, url)
    }
    for (const url of ["http://user@example.com/", "http://:@localhost/"]) {
      assert.include(rejectionOf(url, loopback) ?? "allowed", "user name", url)
    }
    for (const url of ["http://10.0.0.1/", "https://169。254。169。254/", "https://8.8.8.8/", "https://[::2]/"]) {
      assert.include(rejectionOf(url, loopback) ?? "allowed", "IP address", url)
    }
  })

  it.prop("is never parsed as another host than the written one", {
    scheme: Schema.Literals(["https://", "HTTPS://", "https:/", "http://"]),
    host: Arbitrary.array(
      Arbitrary.schema(Schema.Literals(["a", "b.example", "1", ".", "①", "%31", "@", ":1024", "\\", "[", "é"])),
      { maxLength: 6 }
    ),
    end: Schema.Literals(["", "/", "/hooks", "?a", "#"]),
    rest: hardText({ min: 0, max: 4 })
  }, ({ end, host, rest, scheme }) => {
    const text = `${scheme}${host.join("")}${end}${rest}`
    if (rejectionOf(text, null) !== null) return
    const kept = Result.getOrThrow(parseUrl(text, null))
    const { hash, hostname, href, origin, password, protocol, username } = new URL(text)
    // What is kept is what is connected to, as a URI.
    assert.strictEqual(new URL(kept).origin, origin)
    assert.strictEqual(new URL(kept).href, kept)
    assert.match(kept, /^(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9A-F]{2})+$/i)
    assert.strictEqual(Result.getOrThrow(parseUrl(kept, null)), kept)
    assert.deepStrictEqual({ protocol, username, password, hash }, {
      protocol: "https:",
      username: "",
      password: "",
      hash: ""
    })
    assert.match(hostname, /^[a-z0-9_-]+(\.[a-z0-9_-]+)+\.?$/)
    assert.notMatch(hostname, /^[0-9.]+$/)
    assert.isNull(rejectionOf(href, null))
  }, { arbitrary: { runs: 5000 } })
})

it("is stored as a URI: what WHATWG URL leaves unescaped in a path or a query is percent-encoded", () => {
  const cases = [
    ["https://example.com/x?y=%zz", "https://example.com/x?y=%25zz"],
    ["https://example.com/a|b^[c]?d={e}&f=[1]|`", "https://example.com/a%7Cb%5E%5Bc%5D?d=%7Be%7D&f=%5B1%5D%7C%60"],
    ["https://example.com/%41%?%", "https://example.com/%41%25?%25"],
    ["https://example.com/a~b-c._d!$&'()*+,;=:@?/?", "https://example.com/a~b-c._d!$&'()*+,;=:@?/?"]
  ] as const
  for (const [text, stored] of cases) {
    for (const url of [text, stored]) assert.strictEqual(Result.getOrThrow(parseUrl(url, null)), stored)
  }
})
