import { assert, describe, it } from "@effect/vitest"
import { isPublic, networks } from "@messaging-crm/adapter-http/outbound/Addresses"
import { Arbitrary, Option, Schema } from "effect"
import ipaddr from "ipaddr.js"
import { harmless, hostile, of_clouds } from "./Vectors.ts"

const byte = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))

const bytes = (length: number) => Arbitrary.array(byte, { minLength: length, maxLength: length })

/** The first 16 bits of an IPv6 address, such as registries care about more often than by chance. */
const prefixes = Schema.Literals([
  0,
  0x64,
  0x100,
  0x2001,
  0x2002,
  0x2606,
  0x2620,
  0x3ffe,
  0x3fff,
  0x5f00,
  0xfd00,
  0xfe80
])

const vectors4 = Schema.Literals([...hostile, ...harmless].filter(ipaddr.IPv4.isValidFourPartDecimal))

describe("a public address", () => {
  it("is none of the hostile vectors, and each of the harmless ones", () => {
    assert.lengthOf(hostile, 64)
    for (const address of hostile) assert.isFalse(isPublic(address), address)
    // Only we know these: registries call them public.
    for (const address of of_clouds) assert.isFalse(isPublic(address), address)
    for (const address of harmless) assert.isTrue(isPublic(address), address)
    for (const text of ["", "localhost", "1.2.3", "1.2.3.4.5", "01.2.3.4", " 1.1.1.1", "[::1]", "1.1.1.1/8"]) {
      assert.isFalse(isPublic(text), text)
    }
  })

  it.prop("is what ipaddr.js calls unicast, for IPv4", { random: bytes(4), near: vectors4 }, ({ near, random }) => {
    const neighbor = [...near.split(".").slice(0, 2), ...random.slice(2)]
    for (
      const address of [random.join("."), neighbor.join("."), [...near.split(".").slice(0, 3), random[3]].join(".")]
    ) {
      const expected = ipaddr.parse(address).range() === "unicast" && !of_clouds.includes(address)
      assert.strictEqual(isPublic(address), expected, address)
    }
  }, { arbitrary: { runs: 10_000 } })

  it.prop("is what ipaddr.js calls unicast, and for IPv6 also inside of 2000::/3", {
    prefix: prefixes,
    random: bytes(16),
    zeros: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 14 })),
    written: Schema.Boolean
  }, ({ prefix, random, written, zeros }) => {
    const all = random.map((value, index) => index >= 2 && index < 2 + zeros ? 0 : value)
    if (written) all.splice(0, 2, prefix >> 8, prefix & 0xff)
    const oracle = ipaddr.fromByteArray(all)
    const isGlobal = ((all[0] ?? 0) & 0xe0) === 0x20
    for (const address of [oracle.toString(), oracle.toNormalizedString()]) {
      assert.strictEqual(isPublic(address), isGlobal && oracle.range() === "unicast", `${address} ${oracle.range()}`)
    }
  }, { arbitrary: { runs: 10_000 } })

  it.prop("is never one that holds a private IPv4 address", { last: byte }, ({ last }) => {
    for (const v4 of [`127.0.0.${last}`, `10.0.0.${last}`, `169.254.169.${last}`]) {
      const words = ipaddr.IPv4.parse(v4).toIPv4MappedAddress().parts.slice(6).map((part) => part.toString(16)).join(
        ":"
      )
      for (const prefix of ["::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "2002:"]) {
        const address = prefix === "2002:" ? `2002:${words}::` : `${prefix}${words}`
        assert.isFalse(isPublic(address), address)
      }
      assert.isFalse(isPublic(`::ffff:${v4}`))
    }
  })
})

describe("networks", () => {
  const isIn = (...written: ReadonlyArray<string>) => Option.getOrThrow(networks(written))

  it("hold what is in any of them, in every spelling", () => {
    const isAllowed = isIn("127.0.0.0/8", "10.1.2.3/32", "::1/128", "fd00::/8")
    for (
      const address of ["127.0.0.1", "127.255.0.1", "10.1.2.3", "::1", "0:0:0:0:0:0:0:1", "fd12::1", "::ffff:127.0.0.1"]
    ) {
      assert.isTrue(isAllowed(address), address)
    }
    for (const address of ["128.0.0.1", "10.1.2.4", "::2", "fe80::1", "fd12::1%eth0", "localhost", ""]) {
      assert.isFalse(isAllowed(address), address)
    }
    assert.isTrue(isIn("0.0.0.0/0")("8.8.8.8"))
    assert.isFalse(isIn("0.0.0.0/0")("2606:4700:4700::1111"))
  })

  it("are none when one is not written as a network", () => {
    for (
      const written of [
        "",
        "127.0.0.1",
        "127.0.0.0/",
        "127.0.0.0/33",
        "::/129",
        "127.0/8",
        "localhost/8",
        "1.2.3.4/-1",
        " 127.0.0.0/8",
        "127.0.0.0/8 "
      ]
    ) {
      assert.isTrue(Option.isNone(networks(["10.0.0.0/8", written])), written)
    }
  })
})
