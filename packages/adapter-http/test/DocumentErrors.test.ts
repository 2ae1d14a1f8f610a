/** Every status and error code that the document lists occurs. That no other one occurs, `judge` checks in every test. */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { RequestsPerMinute, Scope } from "@messaging-crm/core/ApiKeys"
import { Conflict, Unconfirmed } from "@messaging-crm/core/Commit"
import { SearchTimeout } from "@messaging-crm/core/Contacts"
import { ConflictBackoff } from "@messaging-crm/core/Decide"
import { StorageBudget } from "@messaging-crm/core/StorageUse"
import * as Mock from "@messaging-crm/provider-mock"
import { Context, Effect, Layer } from "effect"
import { afterAll } from "vitest"
import * as Examples from "../src/api/Examples.ts"
import { documented, type Media, resolve, type Response } from "../testing/Document.ts"
import { idempotency, start } from "../testing/Service.ts"
import { receive, settle } from "./DocumentScene.ts"

/** How the storage fails, by the name of a port's service and a function of it. */
type Fault = (service: string, name: string) => Effect.Effect<unknown, unknown> | null

let fault: Fault = () => null

const faulty = <A extends object>(service: string, port: A): A =>
  new Proxy(port, {
    get: (target, name, receiver) => {
      const value: unknown = Reflect.get(target, name, receiver)
      const failing = (real: Effect.Effect<unknown>) =>
        Effect.suspend((): Effect.Effect<unknown, unknown> => fault(service, String(name)) ?? real)
      if (Effect.isEffect(value)) return failing(value as Effect.Effect<unknown>)
      return typeof value === "function"
        ? (...args: ReadonlyArray<unknown>) => {
          const result: unknown = Reflect.apply(value, target, args)
          return Effect.isEffect(result) ? failing(result as Effect.Effect<unknown>) : result
        }
        : value
    }
  })

/** Storage in memory that fails as `fault` says. */
const storage = Layer.effectContext(
  Effect.map(
    Layer.build(Memory.layer),
    (ports) =>
      Context.makeUnsafe(
        new Map(
          Array.from(ports.mapUnsafe, ([service, port]) => [
            service,
            typeof port === "object" && port !== null ? faulty(service, port) : port
          ])
        )
      ) as typeof ports
  )
)

const tuning = Layer.mergeAll(
  Layer.succeed(RequestsPerMinute, 1_000_000_000),
  Layer.succeed(ConflictBackoff, { pauses: [] })
)

const service = start({ storage, tuning })
const limited = start({ tuning: Layer.succeed(RequestsPerMinute, 1) })
const full = start({
  tuning: Layer.mergeAll(Layer.succeed(StorageBudget, 0), Layer.succeed(RequestsPerMinute, 1_000_000))
})
const offline = start()
afterAll(() => Promise.all([service, limited, full, offline].map(({ stop }) => stop())))

const scene = await settle(service)
const [limitedKey, fullKey] = [(await limited.organization()).key, (await full.organization()).key]
await limited.request("GET", "/v1/tags", { key: limitedKey })
await full.request("POST", "/v1/tags", { key: fullKey, json: { name: "x", color: "red" }, ...idempotency() })

/** An organization with a conversation, whose templates were never read, so that no copy of them replaces the provider. */
const unread = await offline.organization()
await offline.runtime.runPromise(receive(unread.channel.id))
const conversations = await offline.request("GET", "/v1/conversations", { key: unread.key })
await offline.runtime.runPromise(Mock.MockProvider.use((mock) => mock.setDown(true)))
const namedOffline = (text: string) =>
  text.replaceAll(Examples.ids.channel_id, unread.channel.id).replaceAll(
    Examples.ids.conversation_id,
    conversations.body.data[0].id
  )

type Documented = typeof documented[number]
type Options = NonNullable<Parameters<typeof service.request>[2]>

const unknown = "0199abcd-0000-7000-8000-00000000000f"

interface Place {
  readonly by: typeof service
  readonly key: string
  readonly named: (text: string) => string
}

const place: Place = { by: service, key: scene.key, named: scene.named }

/** The request of an example. One that sends a message sends a template. */
const requestOf = ({ method, operation, path }: Documented, named = scene.named) => {
  const concrete = path.replace(/\{(\w+)\}/g, (_, name: keyof typeof Examples.ids) => Examples.ids[name])
  const { template, ...others } = operation.requestBody?.content["application/json"]?.examples ?? {}
  const example = template ?? Object.values(others)[0]
  const json: unknown = example === undefined ? undefined : JSON.parse(named(JSON.stringify(example.value)))
  return { method, target: named(`/v1${concrete}`), absent: `/v1${path.replace(/\{\w+\}/g, unknown)}`, json }
}

const send = (of: Documented, options: Options = {}, { by, key, named } = place) => {
  const { json, method, target } = requestOf(of, named)
  const keyed = method === "GET" ? {} : idempotency().headers
  return by.request(method, target, {
    key,
    ...(json === undefined || options.text !== undefined ? {} : { json }),
    ...options,
    headers: { ...keyed, ...options.headers }
  })
}

const sendTo = (of: Documented, target: string) => {
  const { json, method } = requestOf(of)
  return service.request(method, target, {
    key: scene.key,
    ...(json === undefined ? {} : { json }),
    ...(method === "GET" ? {} : idempotency())
  })
}

const during = async <A>(failing: Fault, use: () => Promise<A>): Promise<A> => {
  fault = failing
  try {
    return await use()
  } finally {
    fault = () => null
  }
}

/** A failure of the storage, before or after the API key is found. */
const failing = (isBefore: boolean): Fault => (name) =>
  name.endsWith("/ApiKeyStore") === isBefore ? Effect.die(new Error("The storage fails.")) : null

const commitFails = (error: unknown): Fault => (name) => name.endsWith("/Commit") ? Effect.fail(error) : null

/** How to provoke each error code, for any operation that lists it. */
const provocations: Readonly<Record<string, (of: Documented) => ReturnType<typeof send>>> = {
  invalid_input: (of) => sendTo(of, `${requestOf(of).target}?no_such=1`),
  invalid_json: (of) => send(of, { text: "{" }),
  missing_idempotency_key: (of) => send(of, { headers: { "idempotency-key": "short" } }),
  unauthorized: (of) => send(of, { key: "svc_live_unknown" }),
  insufficient_scope: async (of) => {
    const others = Scope.literals.filter((scope) => scope !== of.operation["x-required-scope"])
    return send(of, { key: await service.keyWith(scene.actor, others) })
  },
  not_found: (of) => sendTo(of, requestOf(of).absent),
  conflict: (of) => during(commitFails(new Conflict()), () => send(of)),
  precondition_failed: (of) => send(of, { headers: { "if-match": `"other"` } }),
  request_processing: (of) => during(commitFails(new Unconfirmed()), () => send(of)),
  idempotency_conflict: async (of) => {
    const { headers } = idempotency()
    await service.request("POST", "/v1/tags", { key: scene.key, json: {}, headers })
    await service.request("POST", "/v1/contacts", { key: scene.key, json: { first_name: "Kim" }, headers })
    // The request of another example differs from both.
    return send(of, { headers, ...(of.path === "/contacts" ? { json: { first_name: "Other" } } : {}) })
  },
  body_too_large: (of) => send(of, { text: "x".repeat(65_537) }),
  unsupported_media_type: (of) => send(of, { text: "x", headers: { "content-type": "text/plain" } }),
  rate_limited: (of) => send(of, {}, { ...place, by: limited, key: limitedKey }),
  storage_exhausted: (of) => send(of, {}, { ...place, by: full, key: fullKey }),
  internal_error: (of) => during(failing(false), () => send(of)),
  search_timeout: (of) =>
    during(
      (name, port) => name.endsWith("/ContactStore") && port === "list" ? Effect.fail(new SearchTimeout()) : null,
      () => send(of)
    ),
  cursor_expired: async (of) => {
    const { body } = await sendTo(of, "/v1/events?after=start")
    return during(
      (name, port) => name.endsWith("/EventStore") && port === "committed" ? Effect.succeed([]) : null,
      () => sendTo(of, `/v1/events?after=${body.next_cursor}`)
    )
  },
  provider_unavailable: (of) => send(of, {}, { by: offline, key: unread.key, named: namedOffline })
}

/** Returns the error codes that an operation lists, with their statuses. */
const listedBy = ({ operation }: Documented): ReadonlyArray<readonly [status: number, code: string]> =>
  Object.entries(operation.responses).filter(([status]) => /^[45]/.test(status)).flatMap(([status, response]) => {
    const media = resolve<Response>(response).content["application/json"] as Media
    const { properties } = resolve<{ readonly properties: { readonly error: { readonly properties: object } } }>(
      media.schema
    )
    const { code } = properties.error.properties as { readonly code: { readonly enum: ReadonlyArray<string> } }
    assert.sameMembers(Object.keys(media.examples), [...code.enum], `${operation.operationId} ${status}`)
    return code.enum.map((each) => [Number(status), each] as const)
  })

describe("every error that the document lists occurs", () => {
  for (const of of documented) {
    const listed = listedBy(of)
    it(`${of.method} ${of.path}: ${listed.map(([, code]) => code).join(", ")}`, async () => {
      assert.isAtLeast(listed.length, 4)
      for (const [status, code] of listed) {
        const response = await provocations[code]?.(of)
        assert.deepStrictEqual([response?.status, response?.body.error?.code], [status, code], response?.text)
      }
    })
  }
})

it("a failure has rate headers if and only if the API key is found first", async () => {
  for (const isBefore of [true, false]) {
    const { headers, status } = await during(
      failing(isBefore),
      () => service.request("GET", "/v1/tags", { key: scene.key })
    )
    assert.deepStrictEqual([status, headers.has("x-ratelimit-limit")], [500, !isBefore])
  }
})
