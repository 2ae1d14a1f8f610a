/** The maximum of items in progress: slow sends and deliveries delay no work of another kind, organization, or host. */
import { assert, it } from "@effect/vitest"
import { ok, ScriptedEndpoints } from "@messaging-crm/conformance/Endpoints"
import { ScriptedProvider } from "@messaging-crm/conformance/Provider"
import { UpdateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { in_progress_max } from "@messaging-crm/core/Worker"
import { WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Deferred, Effect, Queue, Ref } from "effect"
import { TestClock } from "effect/testing"
import { background, close, pass, passUntil, queued, raise, startMany, subscribe, world } from "./WorkerScene.ts"

/** Makes an endpoint accept events, and returns a queue with an element for each of them. */
const arrivalsAt = Effect.fnUntraced(function*(url: string) {
  const arrivals = yield* Queue.unbounded<void>()
  yield* ScriptedEndpoints.use(({ respond }) => respond(url, () => Effect.as(Queue.offer(arrivals, undefined), ok)))
  return arrivals
})

/** The maximum number of items in progress of a kind of one organization: as many as slots stay free. */
const organization_max = in_progress_max / 2

it.effect("posts events while the maximum of sends waits for the provider", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const provider = yield* ScriptedProvider
    const [full, posted] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const receivedAll = Effect.map(provider.received, ({ length }) => length === organization_max)
    const whenFull = Effect.when(Deferred.succeed(full, undefined), receivedAll)
    yield* provider.respond(() => Effect.andThen(whenFull, Effect.never))
    const url = "https://shop.example/webhook"
    yield* ScriptedEndpoints.use(({ respond }) =>
      respond(url, () => Effect.as(Deferred.succeed(posted, undefined), ok))
    )
    yield* subscribe(ours, url)
    const { conversation_id } = yield* ours.start("+4915112345678")
    yield* startMany(ours, 300)
    yield* background
    yield* Deferred.await(full)
    yield* close(ours, conversation_id)
    yield* Deferred.await(posted)
    assert.lengthOf(yield* provider.received, organization_max)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("sends while the maximum of deliveries waits for endpoints that do not respond", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const endpoints = yield* ScriptedEndpoints
    const provider = yield* ScriptedProvider
    const endpoints_at_once = 40
    const [full, called] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const waiting = yield* Ref.make(0)
    const hang = Effect.gen(function*() {
      const count = yield* Ref.updateAndGet(waiting, (count) => count + 1)
      if (count === 3 * endpoints_at_once) yield* Deferred.succeed(full, undefined)
      return yield* Effect.never
    })
    for (let index = 0; index < endpoints_at_once; index++) {
      const url = `https://shop-${index}.example/webhook`
      yield* endpoints.respond(url, () => hang)
      yield* subscribe(ours, url)
    }
    yield* raise(ours, 8)
    yield* background
    yield* Deferred.await(full)
    yield* provider.respond(({ reference }) =>
      Effect.as(Deferred.succeed(called, undefined), { provider_message_id: `p.${reference}` })
    )
    yield* ours.start("+4915112345678")
    yield* Deferred.await(called)
    assert.isAtMost(yield* Ref.get(waiting), organization_max)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("delivers within 5 s while a hundred webhooks of another organization respond after 14 s", () =>
  Effect.gen(function*() {
    const [slow, other] = [yield* queued, yield* queued]
    const endpoints = yield* ScriptedEndpoints
    for (let index = 0; index < 100; index++) {
      const url = `https://slow-${index}.example/webhook`
      yield* endpoints.respond(url, () => Effect.as(Effect.sleep("14 seconds"), ok))
      yield* subscribe(slow, url)
    }
    const url = "https://shop.example/webhook"
    const arrivals = yield* arrivalsAt(url)
    yield* subscribe(other, url)
    yield* raise(slow, 9)
    yield* background
    for (const seconds of [1, 9, 30]) {
      yield* TestClock.adjust(`${seconds} seconds`)
      yield* raise(other, 11)
      yield* TestClock.adjust("5 seconds")
      yield* Queue.takeN(arrivals, 11)
    }
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("sends while the network does not respond to the sends of three other organizations", () =>
  Effect.gen(function*() {
    const silent = yield* Effect.replicateEffect(queued, 3)
    const other = yield* queued
    const provider = yield* ScriptedProvider
    const called = yield* Deferred.make<void>()
    yield* provider.respond(({ recipient }) =>
      recipient === "+4915112345678" ? Effect.andThen(Deferred.succeed(called, undefined), Effect.never) : Effect.never
    )
    for (const organization of silent) yield* startMany(organization, 300)
    yield* background
    yield* TestClock.adjust("5 seconds")
    yield* other.start("+4915112345678")
    yield* TestClock.adjust("5 seconds")
    yield* Deferred.await(called)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("makes at most 64 attempts to one host at once, and fails none that waits", () =>
  Effect.gen(function*() {
    const [slow, other] = [yield* queued, yield* queued]
    const endpoints = yield* ScriptedEndpoints
    const [running, most] = [yield* Ref.make(0), yield* Ref.make(0)]
    const hang = Effect.gen(function*() {
      const count = yield* Ref.updateAndGet(running, (count) => count + 1)
      yield* Ref.update(most, (before) => Math.max(before, count))
      yield* Effect.sleep("14 seconds")
      yield* Ref.update(running, (count) => count - 1)
      return ok
    })
    for (let index = 0; index < 10; index++) {
      const url = `https://victim.example:${2000 + index}/webhook`
      yield* endpoints.respond(url, () => hang)
      yield* subscribe(slow, url)
    }
    const url = "https://victim.example/webhook"
    const arrivals = yield* arrivalsAt(url)
    yield* subscribe(other, url)
    yield* raise(slow, 16)
    yield* background
    yield* TestClock.adjust("10 seconds")
    yield* raise(other, 3)
    yield* TestClock.adjust("2 seconds")
    yield* Queue.takeN(arrivals, 3)
    const isDone = Effect.gen(function*() {
      const counts = yield* WorkQueue.use((queue) => Effect.flatMap(DateTime.now, queue.backlog))
      const found = counts.find(({ kind }) => kind === "webhook_delivery")
      return found === undefined || found.due + found.leased + found.later === 0
    })
    while (!(yield* isDone)) yield* pass("5 seconds")
    const posted = yield* endpoints.posted("https://victim.example:2000/webhook")
    assert.lengthOf(posted, 16)
    // Ten webhooks have five each, and five of them one more: then no webhook has fewer than are free.
    assert.strictEqual(yield* Ref.get(most), 59)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("makes an attempt for each webhook at one host, however many do not respond", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const endpoints = yield* ScriptedEndpoints
    const begun = yield* Queue.unbounded<string>()
    const urls = Array.from({ length: 100 }, (_, index) => `https://victim.example:${2000 + index}/webhook`)
    for (const url of urls) {
      yield* endpoints.respond(url, () => Effect.andThen(Queue.offer(begun, url), Effect.never))
      yield* subscribe(ours, url)
    }
    yield* raise(ours, 3)
    yield* background
    yield* TestClock.adjust("10 seconds")
    assert.sameMembers(Array.from(new Set(yield* Queue.takeAll(begun))), urls)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("delivers while another webhook of the same organization and host does not respond", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const endpoints = yield* ScriptedEndpoints
    const silent = "https://shop.example/silent"
    yield* endpoints.respond(silent, () => Effect.as(Effect.sleep("14 seconds"), ok))
    yield* subscribe(ours, silent)
    const url = "https://shop.example/webhook"
    yield* subscribe(ours, url)
    yield* raise(ours, 40)
    yield* background
    for (let tenth = 0; tenth < 40; tenth++) yield* pass("100 millis")
    const isAll = Effect.map(endpoints.posted(url), ({ length }) => length === 40)
    yield* passUntil(isAll)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("makes no attempt to a host for a webhook that was disabled, or moved, before it was its turn", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const endpoints = yield* ScriptedEndpoints
    const { disable, update } = yield* Webhooks
    const begun = yield* Queue.unbounded<void>()
    const hang = Effect.andThen(Queue.offer(begun, undefined), Effect.as(Effect.sleep("14 seconds"), ok))
    const urls = [0, 1, 2, 3, 4, 5].map((index) => `https://victim.example:${2000 + index}/webhook`)
    for (const url of urls) yield* endpoints.respond(url, () => hang)
    const webhooks = yield* Effect.forEach(urls, (url) => subscribe(ours, url))
    yield* raise(ours, 16)
    yield* background
    yield* TestClock.adjust("1 seconds")
    // Of the 96 attempts, 41 wait: six webhooks have nine each, and one of them one more.
    yield* Queue.takeN(begun, 55)
    const count = Effect.map(Effect.forEach(urls, endpoints.posted), (posted) => posted.flat().length)
    for (const [index, { id }] of webhooks.entries()) {
      const url = "https://shop.example/webhook"
      yield* ours.as(index === 0 ? Effect.asVoid(update(id, UpdateWebhook.make({ url }))) : Effect.asVoid(disable(id)))
    }
    for (let second = 0; second < 60; second++) yield* pass("1 seconds")
    assert.strictEqual(yield* count, 55)
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("signs an attempt with the secrets that its webhook has when it is its turn, and sends the resource only if it is asked", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const endpoints = yield* ScriptedEndpoints
    const { rotateSecret, update } = yield* Webhooks
    const begun = yield* Queue.unbounded<void>()
    const hang = Effect.andThen(Queue.offer(begun, undefined), Effect.as(Effect.sleep("14 seconds"), ok))
    const urls = [0, 1, 2, 3, 4, 5].map((index) => `https://victim.example:${2000 + index}/webhook`)
    for (const url of urls) yield* endpoints.respond(url, () => hang)
    const [rotated, bare] = yield* Effect.forEach(urls, (url) => subscribe(ours, url, { include_resource: true }))
    if (rotated === undefined || bare === undefined) return assert.fail("There is no webhook.")
    yield* raise(ours, 16)
    yield* background
    yield* TestClock.adjust("1 seconds")
    yield* Queue.takeN(begun, 55)
    const counts = Effect.forEach(urls, (url) => Effect.map(endpoints.posted(url), ({ length }) => length))
    const [rotated_before = 0, bare_before = 0] = yield* counts
    yield* ours.as(rotateSecret(rotated.id))
    yield* ours.as(update(bare.id, UpdateWebhook.make({ include_resource: false })))
    for (let second = 0; second < 60; second++) yield* pass("1 seconds")
    const [ofRotated = [], ofBare = []] = yield* Effect.forEach(urls, endpoints.posted)
    assert.isAbove(ofRotated.length, rotated_before)
    assert.isAbove(ofBare.length, bare_before)
    for (const [index, { headers }] of ofRotated.entries()) {
      assert.lengthOf(headers["webhook-signature"]?.split(" ") ?? [], index < rotated_before ? 1 : 2)
    }
    for (const [index, { body }] of ofBare.entries()) {
      assert.strictEqual("conversation" in JSON.parse(body).data, index < bare_before)
    }
  }).pipe(Effect.scoped, Effect.provide(world)))

it.effect("posts 16 events to a webhook at a time, and each next one once another has ended", () =>
  Effect.gen(function*() {
    const ours = yield* queued
    const endpoints = yield* ScriptedEndpoints
    const url = "https://shop.example/webhook"
    const [posts, running, most] = [yield* Ref.make(0), yield* Ref.make(0), yield* Ref.make(0)]
    const [full, done] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    yield* endpoints.respond(url, () =>
      Effect.gen(function*() {
        const count = yield* Ref.updateAndGet(running, (count) => count + 1)
        yield* Ref.update(most, (before) => Math.max(before, count))
        if (count === 16) yield* Deferred.succeed(full, undefined)
        yield* Deferred.await(full)
        yield* Effect.yieldNow
        yield* Ref.update(running, (count) => count - 1)
        if ((yield* Ref.updateAndGet(posts, (count) => count + 1)) === 30) yield* Deferred.succeed(done, undefined)
        return ok
      }))
    yield* subscribe(ours, url)
    yield* raise(ours, 30)
    yield* background
    yield* Deferred.await(done)
    assert.strictEqual(yield* Ref.get(most), 16)
  }).pipe(Effect.scoped, Effect.provide(world)))

for (
  const { name, hostOf } of [
    { name: "at one host", hostOf: () => "flows.example" },
    { name: "at thirty hosts", hostOf: (index: number) => `flows-${index}.example` }
  ]
) {
  for (const hanging of [3, 30]) {
    it.effect(
      `${hanging} endpoints of an organization that hang ${name} do not delay its other one`,
      () =>
        Effect.gen(function*() {
          const ours = yield* queued
          const endpoints = yield* ScriptedEndpoints
          for (let index = 0; index < hanging; index++) {
            const url = `https://${hostOf(index)}/hangs/${index}`
            yield* endpoints.respond(url, () => Effect.never)
            yield* subscribe(ours, url)
          }
          yield* raise(ours, 50)
          yield* background
          // Most attempts of the endpoints that hang are in progress, and the rest waits.
          yield* pass("5 seconds")
          const url = `https://${hostOf(0)}/healthy`
          const arrivals = yield* arrivalsAt(url)
          yield* subscribe(ours, url)
          for (let times = 0; times < 3; times++) {
            yield* raise(ours, 50)
            yield* Effect.replicateEffect(pass("100 millis"), 20)
            const isNearlyAll = Effect.map(Queue.size(arrivals), (size) => size >= 48)
            yield* passUntil(isNearlyAll)
            yield* pass("1 second")
            yield* Queue.takeN(arrivals, 50)
          }
        }).pipe(Effect.scoped, Effect.provide(world)),
      30_000
    )
  }
}
