/** Names of people on Messenger and Instagram, looked up behind their messages. */
import { assert, describe, it } from "@effect/vitest"
import { ChannelId } from "@messaging-crm/core/Ids"
import type { CloudAccount } from "@messaging-crm/provider-cloud/CloudAccounts"
import * as CloudSettings from "@messaging-crm/provider-cloud/CloudSettings"
import * as Profiles from "@messaging-crm/provider-cloud/Profiles"
import { Effect, Latch, Layer, Redacted } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"

const of = {
  channel_id: ChannelId.make("01990000-0000-7000-8000-000000000001"),
  app_id: "app",
  token: Redacted.make("the channel's token")
}
const page: CloudAccount = { type: "page_messaging", ...of, page_id: "1784" }
const photo: CloudAccount = { type: "photo_social", ...of, account_id: "1785", page_id: null }
const number: CloudAccount = { type: "phone_messaging", ...of, phone_number_id: "1", business_account_id: "2" }

const rejected = (code: number) => Response.json({ error: { code, message: "Rejected" } }, { status: 400 })

const layerOver = (client: HttpClient.HttpClient) =>
  Profiles.layer.pipe(
    Layer.provide(Layer.succeed(HttpClient.HttpClient, client)),
    Layer.provide(CloudSettings.layer({
      base_url: "https://graph.example",
      photo_social_base_url: "https://photo.example",
      version: "v1"
    }))
  )

/** Runs a test over a network that returns these responses in order, and then the last one for every other request. */
const scene = <E>(
  responses: ReadonlyArray<() => Response>,
  test: (scene: {
    readonly requests: ReadonlyArray<string>
    readonly names: ReadonlyArray<Profiles.Names>
    readonly write: (account: CloudAccount, person_id?: string) => Effect.Effect<void>
  }) => Effect.Effect<void, E>
) => {
  const requests: Array<string> = []
  const names: Array<Profiles.Names> = []
  const client = HttpClient.make((request, url) =>
    Effect.sync(() => {
      requests.push(`${url.href} ${request.headers["authorization"]}`)
      const respond = responses[requests.length - 1] ?? responses.at(-1)
      return HttpClientResponse.fromWeb(request, respond?.() ?? rejected(100))
    })
  )
  const settle = Effect.replicateEffect(Effect.yieldNow, 50)
  return Profiles.Profiles.use(({ lookUp }) =>
    test({
      requests,
      names,
      write: (account, person_id = "24601") =>
        Effect.andThen(lookUp(account, person_id, (found) => Effect.sync(() => void names.push(found))), settle)
    })
  ).pipe(Effect.provide(layerOver(client)))
}

describe("profiles", () => {
  it.effect("are looked up once a day, with the token of the account", () =>
    scene([
      () => Response.json({ first_name: "Ana", last_name: "Lima", id: "24601" }),
      () => Response.json({ name: "Ana L.", username: "ana.l" })
    ], ({ requests, names, write }) =>
      Effect.gen(function*() {
        yield* write(page)
        yield* write(page)
        yield* write(photo)
        yield* write(number, "+49151")
        assert.deepStrictEqual(requests, [
          "https://graph.example/v1/24601?fields=name%2Cfirst_name%2Clast_name Bearer the channel's token",
          "https://photo.example/v1/24601?fields=name%2Cusername Bearer the channel's token"
        ])
        assert.deepStrictEqual(names, [
          { display_name: "Ana Lima", username: null },
          { display_name: "Ana L.", username: "ana.l" }
        ])
        yield* TestClock.adjust("25 hours")
        yield* write(page)
        assert.lengthOf(requests, 3)
      })))

  it.effect("are looked up again after a failure, and with the next message", () =>
    scene(
      [() => new Response("", { status: 503 })],
      ({ requests, names, write }) =>
        Effect.gen(function*() {
          yield* write(page)
          assert.lengthOf(requests, 1)
          yield* write(page)
          assert.lengthOf(requests, 1)
          yield* TestClock.adjust("10 minutes")
          assert.lengthOf(requests, 3)
          yield* write(page)
          assert.lengthOf(requests, 4)
          assert.deepStrictEqual(names, [])
        })
    ))

  it.effect("change nothing if they are hidden or empty", () =>
    scene(
      [() => rejected(230), () => Response.json({ name: 7, id: "1" })],
      ({ requests, names, write }) =>
        Effect.gen(function*() {
          yield* write(page)
          yield* TestClock.adjust("1 hours")
          yield* write(page)
          assert.lengthOf(requests, 1)
          yield* write(page, "24602")
          assert.lengthOf(requests, 2)
          assert.deepStrictEqual(names, [])
        })
    ))

  it.effect("are bounded: one account waits for as many as are free, and its others are dropped", () =>
    scene([() => new Response("", { status: 503 })], ({ requests, write }) =>
      Effect.gen(function*() {
        for (let person = 0; person < 510; person++) yield* write(page, String(person))
        assert.lengthOf(requests, 500)
        for (let person = 0; person < 10; person++) yield* write(photo, String(person))
        assert.lengthOf(requests, 510)
        // A dropped person is looked up with the next message, once the others are over.
        yield* TestClock.adjust("10 minutes")
        const before = requests.length
        yield* write(page, "505")
        assert.lengthOf(requests, before + 1)
      })))

  it.effect("of an account that does not respond leave places for those of another", () =>
    Effect.gen(function*() {
      const [requests, released] = [new Array<string>(), yield* Latch.make()]
      const client = HttpClient.make((request, url) =>
        Effect.gen(function*() {
          requests.push(url.host)
          if (url.host === "graph.example") yield* released.await
          return HttpClientResponse.fromWeb(request, Response.json({ name: "Ana" }))
        })
      )
      const names: Array<string | null> = []
      yield* Profiles.Profiles.use(({ lookUp }) =>
        Effect.gen(function*() {
          const write = (account: CloudAccount, person: number) =>
            lookUp(account, String(person), ({ display_name }) => Effect.sync(() => void names.push(display_name)))
          for (let person = 0; person < 20; person++) yield* write(page, person)
          yield* Effect.replicateEffect(Effect.yieldNow, 50)
          assert.deepStrictEqual(requests, ["graph.example", "graph.example"])
          for (let person = 0; person < 5; person++) yield* write(photo, person)
          yield* Effect.replicateEffect(Effect.yieldNow, 200)
          assert.deepStrictEqual(names, ["Ana", "Ana", "Ana", "Ana", "Ana"])
        })
      ).pipe(Effect.provide(layerOver(client)))
    }))
})
