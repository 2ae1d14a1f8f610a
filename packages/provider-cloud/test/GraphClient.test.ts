/** The meaning of a response of the Graph API: its JSON, an error with its fields, or an unknown outcome. */
import { assert, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { call, Rejected, ResponseLost } from "../src/GraphClient.ts"
import { account } from "./Account.ts"

const callFor = (status: number, body: string, headers: Readonly<Record<string, string>> = {}) => {
  const client = HttpClient.make((request) =>
    Effect.succeed(HttpClientResponse.fromWeb(request, new Response(body, { status, headers })))
  )
  return Effect.exit(call(client, account, HttpClientRequest.get("https://graph.example/")))
}

const rejected = (reported: Partial<Rejected["reported"]>) =>
  Exit.fail(
    new Rejected({
      reported: {
        code: 4,
        error_subcode: null,
        is_transient: false,
        status: 400,
        retry_after_seconds: null,
        ...reported
      }
    })
  )

const errorBody = (error: object) => JSON.stringify({ error: { code: 4, ...error } })

it.effect("an error body is an error with its fields, whatever the status", () =>
  Effect.gen(function*() {
    for (const status of [200, 302, 400, 500]) {
      assert.deepStrictEqual(yield* callFor(status, errorBody({})), rejected({ status }))
    }
    assert.deepStrictEqual(
      yield* callFor(400, errorBody({ error_subcode: 5, is_transient: true })),
      rejected({ error_subcode: 5, is_transient: true })
    )
  }))

it.effect("an error has the time after which the network accepts requests, in at most six digits", () =>
  Effect.gen(function*() {
    const seconds = { "0": 0, "30": 30, "999999": 999_999, "1000000": null, "-1": null, "1.5": null, "soon": null }
    for (const [header, retry_after_seconds] of Object.entries(seconds)) {
      const exit = yield* callFor(400, errorBody({}), { "retry-after": header })
      assert.deepStrictEqual(exit, rejected({ retry_after_seconds }), header)
    }
  }))

it.effect("only JSON with a 2xx is a success, and nothing follows from the rest", () =>
  Effect.gen(function*() {
    for (const status of [200, 299]) assert.deepStrictEqual(yield* callFor(status, "{\"a\":1}"), Exit.succeed({ a: 1 }))
    for (
      const [status, body] of [[300, "{}"], [399, "{}"], [400, "{}"], [500, "{}"], [200, "<html>"], [200, ""]] as const
    ) {
      assert.deepStrictEqual(yield* callFor(status, body), Exit.fail(new ResponseLost()), `${status} ${body}`)
    }
  }))
