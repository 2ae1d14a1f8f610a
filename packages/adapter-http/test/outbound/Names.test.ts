/** Names as a real name server answers them, over UDP. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import ipaddr from "ipaddr.js"
import { createSocket } from "node:dgram"
import { Resolver } from "node:dns/promises"
import { resolveWith } from "../../src/outbound/Names.ts"

/** The records of each name: its addresses, or null for a family that the server fails to look up. */
type Zone = Readonly<
  Record<string, { readonly v4: ReadonlyArray<string> | null; readonly v6: ReadonlyArray<string> | null }>
>

const name_at = 12

/** Reads the question: a name in labels, then its type, 1 for IPv4 and 28 for IPv6. */
const questionOf = (query: Buffer) => {
  const labels: Array<string> = []
  let at = name_at
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join("."), type: query.readUInt16BE(at + 1), end: at + 5 }
}

const answerTo = (query: Buffer, zone: Zone): Buffer => {
  const { end, name, type } = questionOf(query)
  const addresses = type === 1 ? zone[name]?.v4 : zone[name]?.v6
  const records = (addresses ?? []).map((address) => {
    const data = Buffer.from(ipaddr.parse(address).toByteArray())
    return Buffer.concat([Buffer.from([0xc0, name_at, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]), data])
  })
  const code = zone[name] === undefined ? 3 : addresses === null ? 2 : 0
  const header = Buffer.from([
    query.readUInt8(0),
    query.readUInt8(1),
    0x81,
    0x80 | code,
    0,
    1,
    0,
    records.length,
    0,
    0,
    0,
    0
  ])
  return Buffer.concat([header, query.subarray(name_at, end), ...records])
}

const resolving = (zone: Zone) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }>((resume) => {
      const socket = createSocket("udp4")
      socket.on("message", (query, { address, port }) => socket.send(answerTo(query, zone), port, address))
      socket.bind(0, "127.0.0.1", () =>
        resume(Effect.succeed({
          port: socket.address().port,
          close: () => socket.close()
        })))
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ port }) => {
    const resolver = new Resolver({ timeout: 1500, tries: 2 })
    resolver.setServers([`127.0.0.1:${port}`])
    return resolveWith(resolver)
  }))

it.live("a name is every address of it, of both families", () =>
  Effect.gen(function*() {
    const resolve = yield* resolving({
      "both.example": { v4: ["192.0.2.1", "192.0.2.2"], v6: ["2001:db8::1"] },
      "half.example": { v4: ["192.0.2.3"], v6: null },
      "six.example": { v4: [], v6: ["2001:db8::2"] },
      "none.example": { v4: [], v6: [] },
      "broken.example": { v4: null, v6: null },
      "localhost.example": { v4: ["192.0.2.4"], v6: [] },
      "notlocalhost": { v4: ["192.0.2.5"], v6: [] }
    })
    const all = (name: string) => Effect.map(resolve(name), (addresses) => addresses.toSorted())
    assert.deepStrictEqual(yield* all("both.example"), ["192.0.2.1", "192.0.2.2", "2001:db8::1"])
    assert.deepStrictEqual(yield* all("both.example."), ["192.0.2.1", "192.0.2.2", "2001:db8::1"])
    assert.deepStrictEqual(yield* all("half.example"), ["192.0.2.3"])
    assert.deepStrictEqual(yield* all("six.example"), ["2001:db8::2"])
    assert.deepStrictEqual(yield* all("localhost.example"), ["192.0.2.4"])
    assert.deepStrictEqual(yield* all("notlocalhost"), ["192.0.2.5"])
    for (const name of ["none.example", "broken.example", "unknown.example"]) {
      assert.deepStrictEqual(yield* all(name), [], name)
    }
  }).pipe(Effect.scoped))

it.live("localhost is this machine, without a query", () =>
  Effect.gen(function*() {
    const resolve = resolveWith(new Resolver({ timeout: 1, tries: 1 }))
    for (const name of ["localhost", "localhost.", "app.localhost"]) {
      assert.deepStrictEqual(yield* resolve(name), ["127.0.0.1"])
    }
  }))
