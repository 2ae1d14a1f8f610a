/** Tests of responses and logs while the service, its database, or its provider fails. */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { PostedWebhooks } from "@messaging-crm/adapter-memory/WebhookTransport"
import { Commit } from "@messaging-crm/core/Commit"
import { Contacts, SearchTimeout } from "@messaging-crm/core/Contacts"
import { ConcurrentChanges } from "@messaging-crm/core/Decide"
import { EventFollowers } from "@messaging-crm/core/EventFollowers"
import { Idempotency, RequestProcessing, type Respond } from "@messaging-crm/core/Idempotency"
import type { WebhookDeliveryId } from "@messaging-crm/core/Ids"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { StorageBudget } from "@messaging-crm/core/StorageUse"
import { type CreateTag, type Tag, Tags } from "@messaging-crm/core/Tags"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import * as Mock from "@messaging-crm/provider-mock"
import { Clock, Duration, Effect, Layer, Logger, Option, References, Stream } from "effect"
import { ReadDeadline } from "../src/middleware/RequestLifecycle.ts"
import { idempotency, orderReady, start } from "../testing/Service.ts"

const serving = async (
  options: Parameters<typeof start>[0],
  use: (service: ReturnType<typeof start>) => Promise<void>
): Promise<void> => {
  const service = start(options)
  try {
    await use(service)
  } finally {
    await service.stop()
  }
}

/** Collects the lines of the JSON log, at every level. */
const logged = () => {
  const lines: Array<string> = []
  const logger = Logger.map(Logger.formatJson, (line) => void lines.push(line))
  return { lines, layer: Layer.mergeAll(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Debug")) }
}

const tagsThat = (tags: Partial<Tags["Service"]>) =>
  Layer.succeed(Tags, Tags.of({ create: () => Effect.die("unused"), list: Effect.die("unused"), ...tags }))

const red = { name: "x", color: "red" }

describe("a wait for events that fails", () => {
  const dies = () => Effect.die("no database")
  const part = { events: [], cursor: "cursor" }
  const broken = Stream.concat(Stream.make(part), Stream.die("no database"))
  const instead = Layer.effect(
    EventFollowers,
    Effect.map(EventFollowers, (followers) =>
      EventFollowers.of({
        ...followers,
        open: Effect.succeed({ next: dies, stream: () => Effect.succeed(broken) })
      }))
  )

  it("ends a stream after the events that it has sent", async () => {
    const service = start({ instead })
    const { key } = await service.organization()
    const headers = { accept: "text/event-stream", authorization: `Bearer ${key}` }
    const response = await service.fetch("http://localhost/v1/events", { headers })
    assert.strictEqual(await response.text(), "retry: 1000\nid: cursor\n\n: end\nretry: 1000\n\n")
    await service.stop()
  })

  it("ends with the empty page that the request has", async () => {
    const service = start({ instead })
    const { key } = await service.organization()
    const { body, status } = await service.request("GET", "/v1/events?after=now&wait=30", { key })
    assert.deepStrictEqual([status, body.data], [200, []])
    const next = await service.request("GET", `/v1/events?after=${body.next_cursor}`, { key })
    assert.strictEqual(next.status, 200)
    await service.stop()
  })
})

describe("a search that takes too long", () => {
  it("gets 503 with `search_timeout` and `Retry-After`", async () => {
    const instead = Layer.effect(
      Contacts,
      Effect.map(Contacts, (contacts) => Contacts.of({ ...contacts, list: () => Effect.fail(new SearchTimeout()) }))
    )
    await serving({ instead }, async (service) => {
      const { key } = await service.organization()
      const response = await service.request("GET", "/v1/contacts?query=kim", { key })
      assert.strictEqual(response.status, 503)
      assert.deepInclude(response.body.error, { code: "search_timeout", param: null })
      assert.strictEqual(response.headers.get("retry-after"), "1")
    })
  })
})

describe("a defect", () => {
  it("gets 500 with only the request ID, under which the cause is logged", async () => {
    const { layer, lines } = logged()
    const dies = Effect.die(new Error("disk on fire"))
    await serving({ instead: Layer.merge(layer, tagsThat({ list: dies, create: () => dies })) }, async (service) => {
      const { key } = await service.organization()
      for (const [method, json] of [["GET", undefined], ["POST", red]] as const) {
        const response = await service.request(method, "/v1/tags", { key, json, headers: { "x-request-id": method } })
        assert.strictEqual(response.status, 500, method)
        assert.deepInclude(response.body.error, { code: "internal_error", param: null, request_id: method })
        assert.notInclude(response.text, "fire")
        assert.strictEqual(response.headers.get("x-ratelimit-limit"), "120")
        assert.strictEqual(response.headers.get("x-request-id"), method)
        assert.lengthOf(lines.filter((line) => line.includes("disk on fire") && line.includes(`"${method}"`)), 1)
      }
    })
  })

  it("leaves the idempotency key free", async () => {
    let isBroken = true
    const instead = Layer.effect(
      Tags,
      Effect.map(
        Tags,
        (tags) =>
          Tags.of({
            ...tags,
            create: (<Out>(input: CreateTag, respond?: Respond<Tag, Out>) =>
              Effect.suspend(() => isBroken ? Effect.die("broken") : tags.create(input, respond))) as typeof tags.create
          })
      )
    )
    await serving({ instead }, async (service) => {
      const { key } = await service.organization()
      const post = () => service.request("POST", "/v1/tags", { key, json: red, ...idempotency("one-and-the-same") })
      assert.strictEqual((await post()).status, 500)
      isBroken = false
      const second = await post()
      assert.strictEqual(second.status, 200)
      assert.isFalse(second.headers.has("idempotent-replayed"))
      assert.strictEqual((await post()).text, second.text)
    })
  })

  it("includes a result that cannot be encoded, whose values are not logged", async () => {
    const { layer, lines } = logged()
    const list = () => Effect.succeed({ data: "canary-1", next_cursor: "canary-2" }) as unknown
    const contacts = Layer.effect(
      Contacts,
      Effect.map(Contacts, (real) => ({ ...real, list: list as Contacts["Service"]["list"] }))
    )
    await serving({ instead: Layer.merge(layer, contacts) }, async (service) => {
      const { key } = await service.organization()
      const response = await service.request("GET", "/v1/contacts", { key })
      assert.strictEqual(response.status, 500)
      assert.include(lines.join("\n"), "data")
      assert.notInclude(lines.join("\n"), "canary")
    })
  })
})

it("ends a read that takes too long with 500", async () => {
  const instead = Layer.merge(tagsThat({ list: Effect.never }), Layer.succeed(ReadDeadline, Duration.millis(500)))
  await serving({ instead }, async (service) => {
    const { key } = await service.organization()
    const response = await service.request("GET", "/v1/tags", { key })
    assert.strictEqual(response.status, 500)
    assert.strictEqual(response.body.error.code, "internal_error")
    assert.strictEqual(response.headers.get("x-ratelimit-limit"), "120")
  })
})

it("responds at once with `request_processing` and `Retry-After` while the first request runs", async () => {
  const instead = Layer.effect(
    Idempotency,
    Effect.map(Idempotency, (real) => ({ ...real, once: () => Effect.fail(new RequestProcessing()) }))
  )
  await serving({ instead }, async (service) => {
    const { key } = await service.organization()
    const json = { first_name: "A" }
    const response = await service.request("POST", "/v1/contacts", { key, json, ...idempotency() })
    assert.strictEqual(response.status, 409)
    assert.deepInclude(response.body.error, { code: "request_processing", param: null })
    assert.strictEqual(response.headers.get("retry-after"), "1")
  })
})

it("responds with an unrecorded 409 `conflict` if others keep changing the resource", async () => {
  let isContended = true
  const instead = Layer.effect(
    Tags,
    Effect.map(Tags, (tags) =>
      Tags.of({
        ...tags,
        create: (<Out>(input: CreateTag, respond?: Respond<Tag, Out>) =>
          Effect.suspend(() =>
            isContended ? Effect.fail(new ConcurrentChanges()) : tags.create(input, respond)
          )) as typeof tags.create
      }))
  )
  await serving({ instead }, async (service) => {
    const { key } = await service.organization()
    const post = (headers = {}) => service.request("POST", "/v1/tags", { key, json: red, ...headers })
    for (const headers of [{}, idempotency("contended-key")]) {
      const response = await post(headers)
      assert.strictEqual(response.status, 409, JSON.stringify(headers))
      assert.deepInclude(response.body.error, { code: "conflict", param: null })
      assert.strictEqual(response.headers.get("retry-after"), "1")
    }
    isContended = false
    const later = await post(idempotency("contended-key"))
    assert.strictEqual(later.status, 200)
    assert.isFalse(later.headers.has("idempotent-replayed"))
  })
})

describe("a write whose time is over", () => {
  /** Effects that do not end: when one begins, the time of every write is over. */
  const stuck = () => {
    const ends = new Set<() => void>()
    const real = Clock.Clock.defaultValue()
    const sleep: Clock.Clock["sleep"] = (duration) =>
      Duration.toSeconds(duration) === 10
        ? Effect.callback((resume) => {
          const end = () => resume(Effect.void)
          ends.add(end)
          return Effect.sync(() => ends.delete(end))
        })
        : real.sleep(duration)
    const clock: Clock.Clock = Object.assign(Object.create(real), { sleep })
    const never = Effect.suspend(() => {
      setImmediate(() => ends.forEach((end) => end()))
      return Effect.never
    })
    return { never, layer: Layer.succeed(Clock.Clock, clock) }
  }

  /** Memory with commits that do not end while `isStuck` says so. */
  const memoryWith = (never: Effect.Effect<never>, isStuck: () => boolean) =>
    Layer.effect(
      Commit,
      Effect.map(Commit, ({ commit }) => ({
        commit: (...given: Parameters<typeof commit>) => Effect.suspend(() => isStuck() ? never : commit(...given))
      }))
    ).pipe(Layer.provideMerge(Memory.layer))

  it("gets 409 `conflict` with `Retry-After` if it has changed nothing", async () => {
    const { layer, never } = stuck()
    await serving({ instead: Layer.merge(layer, tagsThat({ create: () => never })) }, async (service) => {
      const { key } = await service.organization()
      for (const headers of [{}, idempotency("too-late-key")]) {
        const response = await service.request("POST", "/v1/tags", { key, json: red, ...headers })
        assert.strictEqual(response.status, 409)
        assert.deepInclude(response.body.error, { code: "conflict", param: null })
        assert.strictEqual(response.headers.get("retry-after"), "1")
        assert.strictEqual(response.headers.get("x-ratelimit-limit"), "120")
      }
    })
  })

  it("gets 409 `request_processing` if its commit has no result, and without a key 500", async () => {
    let isStuck = false
    const { layer, never } = stuck()
    await serving({ instead: layer, storage: memoryWith(never, () => isStuck) }, async (service) => {
      const { key } = await service.organization()
      isStuck = true
      const post = (headers = {}) => service.request("POST", "/v1/tags", { key, json: red, ...headers })
      const keyed = await post(idempotency("stuck-key"))
      assert.strictEqual(keyed.status, 409)
      assert.deepInclude(keyed.body.error, { code: "request_processing", param: null })
      assert.strictEqual(keyed.headers.get("retry-after"), "1")
      assert.strictEqual((await post()).body.error.code, "internal_error")
      isStuck = false
      assert.strictEqual((await post(idempotency("stuck-key"))).status, 200)
    })
  })

  it("continues with its retry if it upserts contacts, of which some are committed", async () => {
    // The commits of the key's record and of 40 contacts end.
    let left = Number.POSITIVE_INFINITY
    const { layer, never } = stuck()
    await serving({ instead: layer, storage: memoryWith(never, () => left-- <= 0) }, async (service) => {
      const { key } = await service.organization()
      const contacts = Array.from({ length: 100 }, (_, index) => ({
        primary_email: `${index}@shop.example`,
        first_name: `Kim ${index}`
      }))
      const upsert = () =>
        service.request("POST", "/v1/contacts/upsert", {
          key,
          json: { match: "primary_email", contacts },
          ...idempotency("stuck-upsert")
        })
      left = 41
      const first = await upsert()
      assert.strictEqual(first.status, 409)
      assert.strictEqual(first.body.error.code, "request_processing")
      left = Number.POSITIVE_INFINITY
      const second = await upsert()
      assert.strictEqual(second.status, 200)
      const outcomes = second.body.data.results.map(({ outcome }: { readonly outcome: string }) => outcome)
      assert.deepStrictEqual(outcomes, contacts.map(() => "created"))
      const listed = await service.request("GET", "/v1/contacts?page_size=100", { key })
      assert.lengthOf(listed.body.data, 100)
      assert.isNull(listed.body.next_cursor)
    })
  })
})

it("responds with 507 and `Retry-After` if the organization's storage is used up; reads and replays still work", async () => {
  await serving({ tuning: Layer.succeed(StorageBudget, 20_000) }, async (service) => {
    const { key } = await service.organization()
    const post = (index: number) =>
      service.request("POST", "/v1/contacts", {
        key,
        json: { first_name: "Kim", notes: "n".repeat(5000) },
        ...idempotency(`storage-${index}`)
      })
    const responses = [await post(0), await post(1), await post(2), await post(3), await post(4), await post(5)]
    const rejected = responses.filter(({ status }) => status !== 201)
    assert.isAbove(rejected.length, 0)
    for (const { body, headers, status } of rejected) {
      assert.strictEqual(status, 507)
      assert.deepInclude(body.error, { code: "storage_exhausted", param: null })
      assert.strictEqual(headers.get("retry-after"), "3600")
    }
    const contacts = await service.request("GET", "/v1/contacts", { key })
    assert.lengthOf(contacts.body.data, responses.length - rejected.length)
    const again = await post(0)
    assert.strictEqual(again.text, responses[0]?.text)
    assert.isTrue(again.headers.has("idempotent-replayed"))
  })
})

it("completes an upsert that begins before the organization's storage is used up, and replays it", async () => {
  await serving({ tuning: Layer.succeed(StorageBudget, 20_000) }, async (service) => {
    const { key } = await service.organization()
    const upsert = (request: string) =>
      service.request("POST", "/v1/contacts/upsert", {
        key,
        json: {
          match: "primary_email",
          // Updates of one contact run one after the other, so the first ones use the storage up.
          contacts: Array.from({ length: 60 }, (_, index) => ({
            primary_email: `${request}@shop.example`,
            first_name: `Kim ${index}`
          }))
        },
        ...idempotency(`storage-${request}`)
      })
    const [first, second, again] = [await upsert("first"), await upsert("second"), await upsert("first")]
    assert.deepStrictEqual([first.status, second.status, again.status], [200, 507, 200])
    assert.strictEqual(again.text, first.text)
    const contacts = await service.request("GET", "/v1/contacts", { key })
    assert.deepStrictEqual(contacts.body.data.map(({ first_name }: { first_name: string }) => first_name), ["Kim 59"])
  })
})

it("delivers events if the organization's storage is used up, and stores no endpoint responses", async () => {
  await serving({ tuning: Layer.succeed(StorageBudget, 19_000) }, async (service) => {
    const { channel, key } = await service.organization()
    const post = async (path: string, json?: unknown) =>
      (await service.request("POST", `/v1${path}`, { key, ...(json === undefined ? {} : { json }), ...idempotency() }))
        .body.data
    const long = { status: 200, body: "x".repeat(4096), retry_after: null }
    await service.runtime.runPromise(PostedWebhooks.use(({ respond }) => respond(() => Effect.succeed(long))))
    const webhooks: Array<string> = []
    for (const name of ["a", "b", "c"]) {
      const subscription = { url: `https://${name}.example/crm`, event_types: ["conversation.closed"] }
      webhooks.push((await post("/webhooks", subscription)).id)
    }
    const template = orderReady(channel)
    const send = await post("/conversations", { channel_id: channel.id, phone: "+4915112345678", template })
    await post(`/conversations/${send.conversation_id}/close`)
    const deliveries = async () =>
      (await Promise.all(webhooks.map((id) => service.request("GET", `/v1/webhooks/${id}/deliveries`, { key }))))
        .flatMap(({ body }) => body.data)
    await service.until(async () => (await deliveries()).filter(({ status }) => status === "succeeded").length === 3)
    const stored = (await deliveries()).map(({ response_body }) => response_body?.length ?? 0)
    assert.deepStrictEqual(stored.toSorted((a, b) => a - b), [0, 4096, 4096])
  })
})

it("responds with 507 to a write without an idempotency key, before events with resources exceed the storage budget", async () => {
  await serving({ tuning: Layer.succeed(StorageBudget, 300_000) }, async (service) => {
    const { key, organization } = await service.organization()
    const post = async (path: string, json: unknown, headers: object = idempotency()) =>
      service.request("POST", `/v1${path}`, { key, json, ...headers })
    const asks = { url: "https://shop.example/crm", event_types: ["contact.updated"], include_resource: true }
    const webhook = (await post("/webhooks", asks)).body.data.id
    const { id } = (await post("/contacts", { first_name: "Kim", notes: "\u4e00".repeat(20_000) })).body.data
    const statuses: Array<number> = []
    for (let note = 0; note < 10; note++) {
      statuses.push((await post(`/contacts/${id}/notes`, { text: "n".repeat(1000) }, {})).status)
    }
    const accepted = statuses.filter((status) => status === 200).length
    assert.deepStrictEqual(statuses, statuses.map((_, index) => index < accepted ? 200 : 507))
    assert.isBelow(accepted, 10)
    const deliveries = async () =>
      (await service.request("GET", `/v1/webhooks/${webhook}/deliveries`, { key })).body.data
    await service.until(async () => (await deliveries()).length === accepted)
    const data = await deliveries()
    const ids: ReadonlyArray<WebhookDeliveryId> = data.map(({ id }: { readonly id: WebhookDeliveryId }) => id)
    const loaded = await service.runtime.runPromise(
      WebhookDeliveryStore.use((store) => Effect.forEach(ids, (one) => store.load(organization.id, one)))
    )
    const bytes = Buffer.byteLength(loaded.map((one) => Option.getOrThrow(one).full_body ?? "").join(""))
    assert.isAbove(bytes, 100_000)
    assert.isBelow(bytes, 300_000 + 70_000)
  })
})

it("requests the provider's templates only to send a template, and once", async () => {
  let asked = 0
  const provider = Layer.effect(
    MessagingProvider,
    Effect.map(MessagingProvider, (mock) =>
      MessagingProvider.of({
        ...mock,
        templates: (account) =>
          Effect.suspend(() => {
            asked += 1
            return mock.templates(account)
          })
      }))
  ).pipe(Layer.provideMerge(Mock.layer))
  await serving({ provider }, async (service) => {
    const { channel, key } = await service.organization()
    await service.runtime.runPromise(Mock.MockProvider.use((mock) => mock.setDown(true)))
    const template = { id: "x", components: [] }
    const json = { channel_id: channel.id, phone: "+4915112345678", template }
    const started = await service.request("POST", "/v1/conversations", { key, json, ...idempotency() })
    assert.strictEqual(started.status, 503)
    assert.strictEqual(asked, 1)
    const path = "/v1/conversations/01990000-0000-7000-8000-000000000000/messages"
    const text = { type: "text", text: "Hello" }
    assert.strictEqual((await service.request("POST", path, { key, json: text, ...idempotency() })).status, 404)
    assert.strictEqual(asked, 1)
  })
})

it("logs a request's method, route, status, code, duration, and caller, and no content", async () => {
  const { layer, lines } = logged()
  await serving({ instead: layer }, async (service) => {
    const { key, organization, owner } = await service.organization()
    const actor = { organization_id: organization.id, member_id: owner.id }
    const canary = "canary-0123456789"
    const id = "01990000-0000-7000-8000-00000000c0de"
    const json = { first_name: canary, primary_phone: "+4915100000042", notes: canary }
    for (
      const [method, path, options] of [
        ["POST", "/v1/contacts", { json }],
        ["POST", "/v1/contacts", { json: { ...json, [canary]: canary } }],
        ["POST", "/v1/contacts", { text: `{"${canary}` }],
        ["GET", `/v1/contacts?query=${canary}`, {}],
        ["GET", `/v1/contacts/${id}`, {}],
        ["GET", `/v1/${canary}`, {}]
      ] as const
    ) {
      const headers = { "idempotency-key": `${canary}-${lines.length}` }
      await service.request(method, path, { key, ...options, headers })
    }
    await service.request("GET", "/v1/contacts", { key: await service.keyWith(actor, ["tags:read"]) })
    const all = lines.join("\n")
    for (const secret of ["canary", "4915100000042", "svc_live_", key, id]) assert.notInclude(all, secret)
    const received = lines.flatMap((line) => {
      const { annotations, message } = JSON.parse(line)
      return message === "Request completed" ? [annotations] : []
    })
    for (const { duration_ms, key_id, organization_id, request_id, route } of received) {
      assert.isNumber(duration_ms)
      // What has no route is not authenticated.
      assert.strictEqual(organization_id, route === null ? undefined : organization.id)
      assert.strictEqual(key_id === undefined, route === null)
      assert.match(request_id, /^[0-9a-f-]{36}$/)
    }
    assert.deepStrictEqual(
      received.map(({ code, method, route, status }) => [method, route, status, code]),
      [
        ["POST", "/v1/contacts", 201, null],
        ["POST", "/v1/contacts", 400, "invalid_input"],
        ["POST", "/v1/contacts", 400, "invalid_json"],
        ["GET", "/v1/contacts", 200, null],
        ["GET", "/v1/contacts/:contact_id", 404, "not_found"],
        ["GET", null, 404, "not_found"],
        ["GET", "/v1/contacts", 403, "insufficient_scope"]
      ]
    )
  })
})
