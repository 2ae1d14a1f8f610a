/** Tests of authentication and rate limits, and of their order among the other checks. */
import { assert, describe, it } from "@effect/vitest"
import * as Memory from "@messaging-crm/adapter-memory"
import { CurrentActor } from "@messaging-crm/core/Actor"
import { ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import type { OrganizationId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { MessagingProvider } from "@messaging-crm/core/MessagingProvider"
import { Tags } from "@messaging-crm/core/Tags"
import { Templates } from "@messaging-crm/core/Templates"
import * as Mock from "@messaging-crm/provider-mock"
import { Deferred, Duration, Effect, Layer, Queue, Redacted } from "effect"
import { HttpApiEndpoint } from "effect/http-api"
import { TestClock } from "effect/testing"
import { afterAll } from "vitest"
import { operationOf, Runs, RunsNothing } from "../src/api/Pipeline.ts"
import { ReadDeadline } from "../src/middleware/RequestLifecycle.ts"
import { idempotency, start, type TestResponse } from "../testing/Service.ts"

const service = start()
afterAll(() => service.stop())

/** An organization, and what its admin's own key sees. */
const make = async () => {
  const ours = await service.organization()
  const actor = { organization_id: ours.organization.id, member_id: ours.owner.id }
  const as = Effect.provideService(CurrentActor, actor)
  const add = (role: "admin" | "owner") =>
    service.runtime.runPromise(
      Members.use((members) =>
        members.add(AddMember.make({ name: "Eve", email: `${globalThis.crypto.randomUUID()}@x.example`, role }))
      )
        .pipe(as)
    )
  const newKey = (created_by = ours.owner.id) =>
    ApiKeys.use((keys) =>
      keys.create(CreateApiKey.make({ created_by, name: "test", scopes: ["tags:read"], expires: "90d" }))
    ).pipe(as)
  const tags = (key: string) => service.request("GET", "/v1/tags", { key })
  const run = <A, E>(effect: Effect.Effect<A, E, ApiKeys | Members | CurrentActor>) =>
    service.runtime.runPromise(as(effect))
  return { ...ours, actor, add, newKey, run, tags }
}

it("an endpoint that does not say which operation it runs is rejected: a key would need no scope", () => {
  const endpoint = HttpApiEndpoint.post("x", "/x")
  assert.throws(() => operationOf(endpoint), /The endpoint x has no annotation Runs or RunsNothing/)
  assert.isNull(operationOf(endpoint.annotate(RunsNothing, true)))
  assert.strictEqual(operationOf(endpoint.annotate(Runs, "tags.create")), "tags.create")
})

describe("a key", () => {
  it("is listed without any part of it", async () => {
    const { newKey, run } = await make()
    const { key } = await run(newKey())
    const listed = JSON.stringify(await run(ApiKeys.use((keys) => keys.list)))
    assert.notInclude(listed, Redacted.value(key).slice(-4))
  })

  it("stops working when it is revoked or expires, and when its creator leaves or loses the role", async () => {
    const { add, newKey, run, tags } = await make()
    const [demoted, gone] = [await add("admin"), await add("owner")]
    const [revoked, ofDemoted, ofGone] = [
      await run(newKey()),
      await run(newKey(demoted.id)),
      await run(newKey(gone.id))
    ]
    const expired = await run(newKey().pipe(Effect.provide(TestClock.layer())))
    const working = [revoked, ofDemoted, ofGone].map(({ key }) => Redacted.value(key))
    for (const [index, key] of working.entries()) assert.strictEqual((await tags(key)).status, 200, `key ${index}`)
    await run(ApiKeys.use((keys) => keys.revoke(revoked.api_key.id)))
    await run(Members.use((members) => members.setRole(demoted.id, "member")))
    await run(Members.use((members) => members.remove(gone.id)))
    const rejections = await Promise.all([...working, Redacted.value(expired.key), "svc_live_unknown"].map(tags))
    for (const [index, { body, status }] of rejections.entries()) {
      assert.strictEqual(status, 401, `key ${index}`)
      assert.deepStrictEqual({ ...body.error, request_id: "" }, { ...rejections[0]?.body.error, request_id: "" })
    }
    await run(Members.use((members) => members.setRole(demoted.id, "admin")))
    assert.strictEqual((await tags(working[1] ?? "")).status, 401)
    const keys = await run(ApiKeys.use((all) => all.list))
    const ids = new Set([revoked, ofDemoted, ofGone].map(({ api_key }) => api_key.id))
    assert.isTrue(keys.every(({ id, revoked_at }) => (revoked_at !== null) === ids.has(id)))
  })

  it("counts rejected and replayed requests, and checks its limit before its scope", async () => {
    const { actor } = await make()
    const key = await service.keyWith(actor, ["contacts:write"])
    const remaining = ({ headers }: { readonly headers: Headers }) => headers.get("x-ratelimit-remaining")
    const create = (json: unknown, options = idempotency()) =>
      service.request("POST", "/v1/contacts", { key, json, ...options })
    const once = idempotency()
    assert.strictEqual(remaining(await create({ first_name: "A" }, once)), "119")
    assert.strictEqual(remaining(await create({ first_name: "A" }, once)), "118")
    assert.strictEqual(remaining(await create({})), "117")
    assert.strictEqual(remaining(await service.request("GET", "/v1/tags", { key })), "116")
    for (let left = 115; left >= 0; left--) assert.strictEqual(remaining(await create(null)), String(left))
    for (const method of ["GET", "POST"] as const) {
      const path = method === "GET" ? "/v1/tags" : "/v1/contacts"
      const response = await service.request(method, path, { key })
      assert.strictEqual(response.status, 429, method)
      assert.strictEqual(response.body.error.code, "rate_limited", method)
    }
  })
})

describe("an idempotency key", () => {
  it("that was used for another request is a conflict before the body is checked", async () => {
    const { key } = await make()
    const once = idempotency()
    const create = (json: unknown) => service.request("POST", "/v1/contacts", { key, json, ...once })
    assert.strictEqual((await create({ first_name: "A" })).status, 201)
    assert.strictEqual((await create({ no_such_field: 1 })).body.error.code, "idempotency_conflict")
  })

  it("replays a 404", async () => {
    const { key } = await make()
    const absent = "/v1/contacts/01990000-0000-7000-8000-000000000000"
    const once = idempotency()
    const patch = () => service.request("PATCH", absent, { key, json: { first_name: "A" }, ...once })
    const [first, again] = [await patch(), await patch()]
    assert.strictEqual(first.status, 404)
    assert.strictEqual(again.text, first.text)
    assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
    assert.strictEqual(again.body.error.request_id, first.headers.get("x-request-id"))
  })

  it("belongs to the organization, so a retry with another API key gets the recorded response", async () => {
    const { actor, key } = await make()
    const rotated = await service.keyWith(actor, ["contacts:write"])
    const once = idempotency()
    const create = (key: string) => service.request("POST", "/v1/contacts", { key, json: { first_name: "A" }, ...once })
    const [first, again] = [await create(key), await create(rotated)]
    assert.strictEqual(again.text, first.text)
    assert.strictEqual(again.headers.get("idempotent-replayed"), "true")
  })
})

describe("requests of one key at once", () => {
  /** Starts a service whose tags come once `open` is called. `arrived` waits for requests, and returns whose they are. */
  const busy = async (
    use: (
      service: ReturnType<typeof start>,
      arrived: (count: number) => Promise<ReadonlyArray<OrganizationId>>,
      open: () => void
    ) => Promise<void>
  ) => {
    const gate = Deferred.makeUnsafe<void>()
    const arrivals = Effect.runSync(Queue.unbounded<OrganizationId>())
    const list = CurrentActor.use(({ organization_id }) => {
      Queue.offerUnsafe(arrivals, organization_id)
      return Effect.as(Deferred.await(gate), [])
    })
    const arrived = (count: number) => Effect.runPromise(Queue.takeN(arrivals, count))
    const tags = Layer.effect(Tags, Effect.map(Tags, (tags) => Tags.of({ ...tags, list })))
    // What waits here waits for the test.
    const service = start({ instead: Layer.merge(tags, Layer.succeed(ReadDeadline, Duration.minutes(1))) })
    try {
      await use(service, arrived, () => Deferred.doneUnsafe(gate, Effect.void))
    } finally {
      await service.stop()
    }
  }

  const times = <A>(count: number, make: () => Promise<A>) => Array.from({ length: count }, make)
  const statuses = async (responses: ReadonlyArray<Promise<TestResponse>>) =>
    (await Promise.all(responses)).map(({ status }) => status)

  it("are 32; as many as the minute allows wait, and another key, also of the same member, has its own slots", () =>
    busy(async (service, arrived, open) => {
      const [one, two] = [await service.organization(), await service.organization()]
      const ask = (key: string) => () => service.request("GET", "/v1/tags", { key })
      const responses = times(120, ask(one.key))
      assert.deepStrictEqual(await arrived(32), Array(32).fill(one.organization.id))
      const { organization, owner } = one
      const actor = { organization_id: organization.id, member_id: owner.id }
      const others = [await service.keyWith(actor, ["tags:read"]), two.key].map((key) => ask(key)())
      assert.sameMembers([...await arrived(2)], [one.organization.id, two.organization.id])
      open()
      assert.deepStrictEqual(await statuses(others), [200, 200])
      assert.deepStrictEqual(await statuses(responses), Array(120).fill(200))
      assert.lengthOf(await arrived(88), 88)
      assert.strictEqual((await ask(one.key)()).status, 429)
    }))
})

it("100 concurrent reads of a key all get a response if the provider takes a second per call", async () => {
  const calls = Effect.runSync(Queue.unbounded<Deferred.Deferred<void>>())
  const provider = Layer.effect(
    MessagingProvider,
    Effect.map(MessagingProvider, (mock) =>
      MessagingProvider.of({
        ...mock,
        templates: (account) =>
          Effect.suspend(() => {
            const gate = Deferred.makeUnsafe<void>()
            Queue.offerUnsafe(calls, gate)
            return Effect.andThen(Deferred.await(gate), mock.templates(account))
          })
      }))
  ).pipe(Layer.provideMerge(Mock.layer))
  const begun = Effect.runSync(Queue.unbounded<void>())
  const templates = Layer.effect(
    Templates,
    Effect.map(Templates, (templates) =>
      Templates.of({
        ...templates,
        list: Effect.suspend(() => {
          Queue.offerUnsafe(begun, undefined)
          return templates.list
        })
      }))
  )
  // A database would delay some of the reads, so that they share a later call.
  const service = start({ instead: templates, provider, storage: Memory.layer })
  try {
    const { key } = await service.organization()
    const responses = Array.from({ length: 100 }, () => service.request("GET", "/v1/templates", { key }))
    let seconds = 0
    for (let left = 100; left > 0; left -= limits.requests_at_once) {
      await Effect.runPromise(Queue.takeN(begun, Math.min(left, limits.requests_at_once)))
      // The reads in progress share a call.
      Deferred.doneUnsafe(await Effect.runPromise(Queue.take(calls)), Effect.void)
      seconds++
    }
    assert.deepStrictEqual((await Promise.all(responses)).map(({ status }) => status), Array(100).fill(200))
    assert.strictEqual(Effect.runSync(Queue.size(calls)), 0)
    assert.isBelow(seconds, Duration.toSeconds(ReadDeadline.defaultValue()))
  } finally {
    await service.stop()
  }
})
