/** A request with an idempotency key: it takes effect once, and every retry gets the same response. */
import { assert, it } from "@effect/vitest"
import { Commit } from "@messaging-crm/core/Commit"
import type { Contact } from "@messaging-crm/core/Contacts"
import * as Crm from "@messaging-crm/core/Crm"
import { Idempotency, IdempotencyKey } from "@messaging-crm/core/Idempotency"
import { StorageBudget } from "@messaging-crm/core/StorageUse"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
import { conflicts, repetitions } from "./IdempotentRequests/Concurrency.ts"
import { everyWrite } from "./IdempotentRequests/EveryWrite.ts"
import {
  createTag,
  type Encoded,
  encoded,
  keyless,
  makeScene,
  request,
  respondToErrors
} from "./IdempotentRequests/RequestScene.ts"
import * as Scene from "./JourneyScene.ts"

const records = (it: Scene.It) => {
  it.effect("commits its record with the effect, and a retry returns the recorded response", () =>
    Effect.gen(function*() {
      const { as, storedRecord, tags } = yield* makeScene
      const first = yield* as(request(createTag()))
      const [tag] = yield* tags
      assert.deepStrictEqual(first, { ...encoded(201, tag), request_id: "r-1", replayed: false })
      const stored = Option.getOrThrow(yield* storedRecord)
      assert.deepStrictEqual([stored.body, stored.status, stored.sealed], [first.body, 201, false])
      // The name is in use by now, but a replay is not rejected for that.
      for (const again of [createTag(), respondToErrors(409)(createTag())]) {
        const second = yield* as(request(again, { request_id: "r-2" }))
        assert.deepStrictEqual(second, {
          status: 201,
          body: first.body,
          request_id: "r-1",
          replayed: true
        })
      }
      assert.lengthOf(yield* tags, 1)
    }))
}

/** Records of a request of several commits that has begun, and of a write that changed nothing, as earlier versions left it. */
const recordsWithoutResponse = (it: Scene.It) => {
  it.effect("whose record has no response is still processing, and changes nothing", () =>
    Effect.gen(function*() {
      const { as, organization_id, rename, storedRecord, get } = yield* makeScene
      yield* Fixtures.mustCommit(organization_id, {
        response: { ...Fixtures.idempotencyRecord, status: null, body: null }
      })
      assert.deepInclude(Option.getOrThrow(yield* storedRecord), { status: null, body: null })
      const rejected = yield* as(Effect.flip(request(rename("Ada"))))
      assert.strictEqual(rejected._tag, "RequestProcessing")
      assert.strictEqual((yield* get()).first_name, "Kim")
      const other = yield* as(Effect.flip(request(rename("Ada"), { fingerprint: "e".repeat(64) })))
      assert.strictEqual(other._tag, "IdempotencyConflict")
    }))
}

const rejections = (it: Scene.It) => {
  it.effect("that is rejected is rejected again, even if it could succeed by then", () =>
    Effect.gen(function*() {
      const { addNote, as, get, organization_id, storedRecord } = yield* makeScene
      const absent: Contact = yield* Fixtures.newContact
      const note = respondToErrors(404)(addNote(absent.id))
      const first = yield* as(request(note))
      assert.deepStrictEqual(first, {
        ...encoded(404, { code: "ContactNotFound" }),
        request_id: "r-1",
        replayed: false
      })
      assert.isTrue(Option.isSome(yield* storedRecord))
      yield* Fixtures.contact(organization_id, { ...absent })
      const second = yield* as(request(note, { request_id: "r-2" }))
      assert.deepStrictEqual([second.status, second.replayed, second.body], [404, true, first.body])
      assert.isNull((yield* get(absent.id)).notes)
      // Another key is another request.
      const other = IdempotencyKey.make("another-key")
      assert.strictEqual((yield* as(request(note, { key: other }))).status, 201)
      assert.strictEqual((yield* get(absent.id)).notes, "Called")
    }))

  it.effect("is rejected for a conflict of its own as often as it is repeated", () =>
    Effect.gen(function*() {
      const { as, tags } = yield* makeScene
      yield* as(createTag()(keyless))
      const create = respondToErrors(409)(createTag("VIP"))
      const [first, second] = [yield* as(request(create)), yield* as(request(create))]
      assert.deepStrictEqual([first.status, first.replayed], [409, false])
      assert.deepStrictEqual([second.status, second.replayed], [409, true])
      assert.lengthOf(yield* tags, 1)
    }))
}

const failures = (it: Scene.It) => {
  it.effect("whose failure is not a response runs again", () =>
    Effect.gen(function*() {
      const { as, storedRecord, tags } = yield* makeScene
      yield* as(createTag()(keyless))
      assert.strictEqual((yield* as(Effect.flip(request(createTag()))))._tag, "TagNameTaken")
      assert.deepStrictEqual(yield* storedRecord, Option.none())
      assert.isFalse((yield* as(request(createTag("new")))).replayed)
      assert.lengthOf(yield* tags, 2)
    }))

  it.effect("leaves no record after a defect, and runs again", () =>
    Effect.gen(function*() {
      const { as, storedRecord, tags } = yield* makeScene
      const died = yield* Effect.exit(as(request(() => Effect.die("bug"))))
      assert.isTrue(Exit.hasDies(died))
      // If the response cannot be encoded, the operation's effect is not committed.
      const broken = yield* Effect.exit(as(Idempotency.use((idempotency) =>
        idempotency.once(
          Fixtures.keyedRequest,
          (record) => createTag()({ encode: () => Effect.die("bug"), record })
        )
      )))
      assert.isTrue(Exit.hasDies(broken))
      assert.deepStrictEqual(yield* storedRecord, Option.none())
      assert.deepStrictEqual(yield* tags, [])
      assert.isFalse((yield* as(request(createTag()))).replayed)
    }))
}

const storageLimit = (it: Scene.It) => {
  it.effect("is rejected when the organization's storage is used up, until it expires; replays and other organizations continue", () =>
    Effect.gen(function*() {
      const [ours, theirs] = [yield* makeScene, yield* makeScene]
      const crm = yield* Layer.build(
        Layer.fresh(Crm.layer).pipe(Layer.provide(Layer.succeed(StorageBudget, 3200)))
      )
      const create = (index: number) =>
        request(createTag(`tag ${index}`), { key: IdempotencyKey.make(`storage-key-${index}`) })
      const post = (index: number, { as } = ours) => Effect.provideContext(as(create(index)), crm)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 12 }, (_, index) => index),
        (index) => Effect.result(post(index))
      )
      const rejected = outcomes.flatMap((outcome) => Result.isFailure(outcome) ? [outcome.failure._tag] : [])
      assert.deepStrictEqual(new Set(rejected), new Set(["StorageExhausted"]))
      const { length } = yield* ours.tags
      // Each uses about 350 bytes. What is being added to the sum may be missing from it for a moment.
      assert.isTrue(length >= 8 && length <= 10, `${length}`)
      assert.lengthOf(rejected, 12 - length)
      assert.isTrue((yield* post(0)).replayed)
      assert.isFalse((yield* post(0, theirs)).replayed)
      yield* TestClock.adjust("74 hours")
      assert.isFalse((yield* post(20)).replayed)
    }).pipe(Effect.scoped))
}

const responses = (it: Scene.It) => {
  it.effect("whose response contains a secret is stored encrypted", () =>
    Effect.gen(function*() {
      const { as, storedRecord } = yield* makeScene
      const input = CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["message.sent"] })
      const create = (respond: Encoded) => Webhooks.use((webhooks) => webhooks.create(input, respond))
      const first = yield* as(request(create))
      assert.include(first.body, "whsec_")
      const stored = Option.getOrThrow(yield* storedRecord)
      assert.isTrue(stored.sealed)
      assert.notInclude(stored.body, "whsec_")
      const second = yield* as(request(create))
      assert.deepStrictEqual([second.replayed, second.body], [true, first.body])
    }))

  it.effect("continues after its client disconnects, and the retry returns its response", () =>
    Effect.gen(function*() {
      const { as, tags } = yield* makeScene
      const [started, may_end] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const slow = (respond: Encoded) =>
        Deferred.succeed(started, undefined).pipe(
          Effect.andThen(Deferred.await(may_end)),
          Effect.andThen(createTag()(respond))
        )
      const first = yield* Effect.forkChild(as(request(slow)))
      yield* Deferred.await(started)
      const disconnecting = yield* Effect.forkChild(Fiber.interrupt(first))
      yield* Effect.yieldNow
      yield* Deferred.succeed(may_end, undefined)
      yield* Fiber.join(disconnecting)
      assert.isTrue((yield* as(request(createTag()))).replayed)
      assert.lengthOf(yield* tags, 1)
    }))

  it.effect("whose commit returns no result responds from its record", () =>
    Effect.gen(function*() {
      const { as, tags } = yield* makeScene
      const port = yield* Commit
      // The connection is lost after the commit, and before its result arrives.
      const lossy = Layer.succeed(Commit, {
        commit: (organization_id, changes) =>
          Effect.andThen(port.commit(organization_id, changes), Effect.die(new Error("connection lost")))
      })
      const lost = Layer.fresh(Crm.layer).pipe(Layer.provide(lossy))
      const outcome = yield* as(request(createTag()).pipe(Effect.provide(lost)))
      assert.isTrue(outcome.replayed)
      assert.deepStrictEqual(outcome.body, JSON.stringify((yield* tags)[0]))
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  it.layer(Scene.crm(storage), { timeout: "5 minutes" })("a request with an idempotency key", (it) => {
    records(it)
    everyWrite(it)
    recordsWithoutResponse(it)
    conflicts(it)
    rejections(it)
    failures(it)
    repetitions(it)
    storageLimit(it)
    responses(it)
  })
}
