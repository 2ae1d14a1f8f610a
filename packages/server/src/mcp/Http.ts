/**
 * The Model Context Protocol over HTTP, on the port of the API: a POST with one message gets one response as JSON (Streamable HTTP).
 *
 * There are no sessions and no streams. A message passes the checks of a request to the API: its key with the rate limit, and its
 * body. The requests that a tool makes run in this process for the same key, with its scopes and its turns.
 */
import * as Http from "@messaging-crm/adapter-http"
import { Authentication, JsonBody, RequestBody, RunsNothing } from "@messaging-crm/adapter-http/api/Pipeline"
import { MessagingCrm } from "@messaging-crm/client"
import { CurrentActor, RequestId } from "@messaging-crm/core/Actor"
import { DefaultCountry } from "@messaging-crm/core/Countries"
import { Ids } from "@messaging-crm/core/Ids"
import { PublicUrl } from "@messaging-crm/core/Media"
import { Secrets } from "@messaging-crm/core/Secrets"
import { Duration, Effect, Layer } from "effect"
import { HttpRouter, type HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import * as InProcessApi from "../http/InProcessApi.ts"
import { callWith } from "./Calls.ts"
import * as Protocol from "./Protocol.ts"
import { makeTools } from "./Tools.ts"

/** The path whose tools only read, and the one whose tools also write. */
export const paths = { read: "/mcp", write: "/mcp/write" } as const

/** The time limit of a call, below that of a proxy in front of the service. */
const call_time_max = Duration.seconds(25)

class Api extends HttpApi.make("mcp").add(
  HttpApiGroup.make("mcp").add(
    HttpApiEndpoint.post("read", paths.read).annotate(RunsNothing, true),
    HttpApiEndpoint.post("write", paths.write).annotate(RunsNothing, true)
  )
).middleware(JsonBody).middleware(Authentication) {}

const json = (body: unknown, status: number) => HttpServerResponse.jsonUnsafe(body, { status })

const originRejected = Protocol.errorOf(
  "invalid_request",
  "Requests of web pages are not accepted. Send the message from a program, without an Origin header."
)

const versionRejected = Protocol.errorOf(
  "invalid_request",
  `The MCP-Protocol-Version is not supported. Use one of: ${Protocol.versions.join(", ")}.`
)

/** Returns why the headers of a message are rejected, or null. A browser sends `Origin` with every POST, also to a rebound name. */
const rejectionOf = ({ headers }: HttpServerRequest.HttpServerRequest) => {
  if (headers["origin"] !== undefined) return json(originRejected, 403)
  const version = headers["mcp-protocol-version"]
  return version === undefined || Protocol.versions.some((each) => each === version)
    ? null
    : json(versionRejected, 400)
}

/**
 * Makes the function that returns the client of a message's key. Its requests have the ID and the host of the message's request, so
 * that their records and links are as if the agent had sent them.
 */
const makeClients = Effect.fnUntraced(function*() {
  const fetchAs = yield* InProcessApi.make(yield* PublicUrl)
  return Effect.fnUntraced(function*({ headers: { host = "localhost" } }: HttpServerRequest.HttpServerRequest) {
    const request_id = yield* RequestId
    const fetchAsKey = fetchAs({ actor: yield* CurrentActor, default_country: yield* DefaultCountry })
    return new MessagingCrm({
      // The caller is authenticated already.
      apiKey: "none",
      // A retry here would not count toward the rate limit of the key. The agent repeats the call.
      maxRetries: 0,
      baseUrl: "http://localhost/v1",
      fetch: (url, init) => {
        const headers = new Headers(init.headers)
        headers.set("host", host)
        if (request_id !== null) headers.set("x-request-id", request_id)
        return fetchAsKey(url, { ...init, headers })
      }
    })
  })
})

const handlers = HttpApiBuilder.group(
  Api,
  "mcp",
  Effect.fnUntraced(function*(group) {
    const clientOf = yield* makeClients()
    const how_to_write = `Ask the user to connect to ${paths.write} instead of ${paths.read}.`
    const tools = makeTools()
    const respondWith = (write: boolean) => {
      const respond = Protocol.make({ how_to_write, tools, write })
      return Effect.fnUntraced(function*({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) {
        const rejection = rejectionOf(request)
        if (rejection !== null) return rejection
        const { flaw, json: message } = yield* RequestBody
        if (flaw !== null) return json(Protocol.errorOf("invalid_request", flaw.message), 400)
        const response = yield* respond(callWith(yield* clientOf(request), tools, call_time_max), message)
        return response === null ? HttpServerResponse.empty({ status: 202 }) : json(response, 200)
      })
    }
    return group.handleAll({ read: respondWith(false), write: respondWith(true) })
  })
)

/** The methods that get 405. A GET would open a stream and a DELETE would end a session, and the service has neither. */
const other_methods = ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"] as const

/** Layer for the routes of both paths. */
export const layer = Layer.merge(
  HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers), Layer.provide(Http.pipeline)),
  HttpRouter.addAll(
    Object.values(paths).flatMap((path) =>
      other_methods.map((method) => HttpRouter.route(method, path, Http.methodNotAllowed("POST")))
    )
  )
).pipe(Layer.provide([Ids.layer, Secrets.layer]))
