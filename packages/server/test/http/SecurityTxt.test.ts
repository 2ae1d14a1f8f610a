/** The file for people who report vulnerabilities. */
import { assert, it } from "@effect/vitest"
import { ConfigProvider, DateTime, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { TestClock } from "effect/testing"
import * as Listener from "../../src/http/Listener.ts"
import * as SecurityTxt from "../../src/http/SecurityTxt.ts"

/** Starts a server with the file, and returns an effect that reads it. */
const start = Effect.fnUntraced(function*(env: Readonly<Record<string, string>>) {
  const routes = Layer.provide(SecurityTxt.layer, ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  const context = yield* Layer.build(
    HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(Listener.layer({ host: "127.0.0.1", port: 0 }))
    )
  )
  const address = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
  return Effect.promise(async () => {
    const response = await fetch(`${address}/.well-known/security.txt`, { headers: { connection: "close" } })
    return { status: response.status, type: response.headers.get("content-type"), text: await response.text() }
  })
})

it.effect("it has the contact, and an expiry date in half a year", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-20T10:00:00.000Z")))
    const read = yield* start({
      SECURITY_CONTACT: "mailto:security@acme.example",
      PUBLIC_URL: "https://crm.acme.example/"
    })
    const { status, text, type } = yield* read
    assert.deepStrictEqual([status, type], [200, "text/plain; charset=utf-8"])
    assert.strictEqual(
      text,
      "Contact: mailto:security@acme.example\nExpires: 2027-05-19T00:00:00.000Z\n" +
        "Canonical: https://crm.acme.example/.well-known/security.txt\n"
    )
    yield* TestClock.adjust("1 day")
    assert.include((yield* read).text, "Expires: 2027-05-20T00:00:00.000Z\n")
  }).pipe(Effect.scoped))

it.effect("it does not exist without the setting", () =>
  Effect.gen(function*() {
    const read = yield* start({ PUBLIC_URL: "https://crm.acme.example" })
    assert.strictEqual((yield* read).status, 404)
  }).pipe(Effect.scoped))
