import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { Duration } from "effect"
import { once } from "node:events"
import { Socket } from "node:net"
import { Connection, IdleConnections, mayConnect } from "../../src/outbound/Connections.ts"
import { failureOf } from "../../src/outbound/NoResponse.ts"

describe("a request", () => {
  const [http, https] = [new URL("http://hooks.example/"), new URL("https://hooks.example/")] as const
  const isAllowed = (address: string) => address === "10.0.0.1"

  it("goes to public addresses over https only, and to others only if they are allowed", () => {
    for (const allowed of [null, isAllowed]) {
      for (const address of ["8.8.8.8", "2606:4700:4700::1111"]) {
        assert.isTrue(mayConnect(allowed, https, address), address)
        assert.isFalse(mayConnect(allowed, http, address), address)
      }
      for (const url of [http, https]) {
        assert.isFalse(mayConnect(allowed, url, "10.0.0.2"))
        assert.strictEqual(mayConnect(allowed, url, "10.0.0.1"), allowed !== null)
      }
    }
  })

  it("that fails has the reason of its socket, or the one that its step suggests", () => {
    const codes = {
      connection_refused: ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"],
      connection_reset: ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"],
      timeout: ["ETIMEDOUT"],
      tls_error: ["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_TLS_CERT_ALTNAME_INVALID"],
      protocol_error: ["ERR_OTHER"]
    }
    for (const [reason, each] of Object.entries(codes)) {
      for (const code of each) {
        assert.strictEqual(failureOf({ code }, "protocol_error").failure_code, reason, code)
      }
    }
    for (const error of [null, undefined, "ETIMEDOUT", {}]) {
      assert.strictEqual(failureOf(error, "dns_error").failure_code, "dns_error")
    }
  })
})

describe("idle connections", () => {
  afterEach(() => void vi.useRealTimers())

  const url = new URL("http://hooks.example/")
  const open = (to = url) => new Connection(to, new Socket())

  it("are taken from the newest, each once, by their own origin", () => {
    const idle = new IdleConnections()
    const [older, newer, other] = [open(), open(), open(new URL("http://other.example/"))] as const
    for (const connection of [older, newer, other]) idle.keep(connection)
    const { origin } = url
    assert.deepStrictEqual([idle.take(origin), idle.take(origin), idle.take(origin)], [newer, older, undefined])
    assert.strictEqual(idle.take(other.origin), other)
    for (const connection of [older, newer, other]) connection.end()
  })

  it("are 256: the oldest ends for another one", () => {
    const idle = new IdleConnections()
    const all = Array.from({ length: 257 }, () => open())
    const endedOf = () => all.filter(({ socket }) => socket.destroyed)
    for (const connection of all.slice(0, 256)) idle.keep(connection)
    assert.lengthOf(endedOf(), 0)
    for (const connection of all.slice(256)) idle.keep(connection)
    assert.deepStrictEqual(endedOf(), all.slice(0, 1))
    idle.endAll()
    assert.lengthOf(endedOf(), 257)
    assert.isUndefined(idle.take(url.origin))
  })

  it("that have closed do not count", async () => {
    const idle = new IdleConnections()
    const all = Array.from({ length: 257 }, () => open())
    const [oldest, closed] = all
    for (const connection of all.slice(0, 256)) idle.keep(connection)
    closed?.socket.destroy()
    await once(closed?.socket ?? new Socket(), "close")
    for (const connection of all.slice(256)) idle.keep(connection)
    assert.isFalse(oldest?.socket.destroyed)
    idle.endAll()
  })

  it("are not used again after a minute, or once they have ended", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const idle = new IdleConnections()
    const [kept, ended] = [open(), open()] as const
    idle.keep(kept)
    idle.keep(ended)
    ended.socket.destroy()
    vi.advanceTimersByTime(Duration.toMillis("59 seconds"))
    assert.isTrue(kept.mayBeUsedAgain)
    assert.isFalse(ended.mayBeUsedAgain)
    vi.advanceTimersByTime(Duration.toMillis("1 second"))
    assert.isFalse(kept.mayBeUsedAgain)
    assert.isUndefined(idle.take(url.origin))
    const late = open()
    vi.advanceTimersByTime(Duration.toMillis("1 minute"))
    idle.keep(late)
    assert.isTrue(late.socket.destroyed)
    idle.endAll()
  })
})
