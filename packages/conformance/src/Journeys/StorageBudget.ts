/** An organization that has used up its storage budget: requests are rejected before they store anything, and the rest continues. */
import { assert, it } from "@effect/vitest"
import { ApiKeys, CreateApiKey } from "@messaging-crm/core/ApiKeys"
import { Contacts } from "@messaging-crm/core/Contacts"
import { ContactUpserts, UpsertContacts } from "@messaging-crm/core/ContactUpserts"
import { Conversations } from "@messaging-crm/core/Conversations"
import { type EncodedResponse, IdempotencyKey, type KeyedRequest } from "@messaging-crm/core/Idempotency"
import { ContactId } from "@messaging-crm/core/Ids"
import { limits } from "@messaging-crm/core/Limits"
import { AddMember, Members } from "@messaging-crm/core/Members"
import { PersonalData } from "@messaging-crm/core/PersonalData"
import { StorageBudget } from "@messaging-crm/core/StorageUse"
import { CreateWebhook, Webhooks } from "@messaging-crm/core/Webhooks"
import { DateTime, Effect, Layer, Result, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Fixtures from "../Fixtures.ts"
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
import { makeWebhookScene } from "./WebhookScene.ts"

const budget = 20_000

const keyed = (key: string, fields: Partial<KeyedRequest> = {}) => ({ ...fields, key: IdempotencyKey.make(key) })

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.result(effect), (result) => Result.isFailure(result) ? result.failure._tag : "done")

/** Uses the budget of an organization up. Bytes that are being added to the sum can be missing from it for a moment. */
const useUp = Effect.fnUntraced(function*({ as }: Pick<Effect.Success<typeof makeScene>, "as">) {
  for (let index = 0; index < 100; index++) {
    const outcome = yield* tagOf(as(request(createTag(`tag ${index}`), keyed(`use-up-${index}`))))
    if (outcome !== "done") return assert.strictEqual(outcome, "StorageExhausted")
  }
  return assert.fail("The budget is not used up by 100 requests.")
})

const full = Effect.tap(makeScene, useUp)

const upserting = (contacts: ReadonlyArray<object>) => (respond: Encoded) =>
  ContactUpserts.use((upserts) =>
    upserts.upsertAndRespond(
      Schema.decodeUnknownSync(UpsertContacts)({ match: "primary_email", contacts }),
      { ...respond, encode: (results) => Effect.succeed(encoded(200, results.map(Result.isSuccess))) }
    )
  )

const refused = (it: Scene.It) => {
  it.effect("gets no response to a write with or without a key, which changes nothing", () =>
    Effect.gen(function*() {
      const scene = yield* full
      const { addNote, as, get, rename, tags } = scene
      const before = [yield* get(), yield* tags]
      const webhook = CreateWebhook.make({ url: "https://shop.example/crm", event_types: ["contact.updated"] })
      const absent = yield* Fixtures.newContact
      const outcomesOf = <E extends { readonly _tag: string }, R>(
        write: (respond: Encoded) => Effect.Effect<EncodedResponse, E, R>
      ) => Effect.all([tagOf(as(write(keyless))), tagOf(as(request(write, keyed("refused-key"))))])
      const outcomes = [
        yield* outcomesOf(addNote()),
        yield* outcomesOf(rename("Ada")),
        yield* outcomesOf(createTag()),
        yield* outcomesOf((respond) => Webhooks.use((webhooks) => webhooks.create(webhook, respond))),
        // Even a rejection would store its record.
        yield* outcomesOf(addNote(absent.id))
      ]
      assert.deepStrictEqual(new Set(outcomes.flat()), new Set(["StorageExhausted"]))
      assert.deepStrictEqual([yield* get(), yield* tags], before)
      assert.deepStrictEqual(yield* as(Webhooks.use((webhooks) => webhooks.list({ status: null }))), [])
    }))

  it.effect("gets replays, and conflicts of a key; a rejected key can be used later", () =>
    Effect.gen(function*() {
      const scene = yield* makeScene
      const { as, rename } = scene
      const rejected = respondToErrors(404)(scene.addNote((yield* Fixtures.newContact).id))
      const [first, rejection] = [yield* as(request(rename("Ada"), keyed("first-key"))), yield* as(request(rejected))]
      yield* useUp(scene)
      const again = yield* as(request(rename("Ada"), keyed("first-key", { request_id: "r-2" })))
      assert.deepStrictEqual(again, { ...first, replayed: true })
      assert.deepStrictEqual(yield* as(request(rejected)), { ...rejection, replayed: true })
      const other = request(rename("Eve"), keyed("first-key", { fingerprint: "e".repeat(64) }))
      assert.strictEqual(yield* tagOf(as(other)), "IdempotencyConflict")
      const late = as(request(rename("Eve"), keyed("late-key")))
      assert.strictEqual(yield* tagOf(late), "StorageExhausted")
      yield* TestClock.adjust("31 days")
      assert.isFalse((yield* late).replayed)
    }))
}

const upserts = (it: Scene.It) => {
  it.effect("gets no upsert that has not begun, and each contact of one that has", () =>
    Effect.gen(function*() {
      const { as, organization_id } = yield* full
      const people = ["a@shop.example", "b@shop.example"].map((primary_email) => ({ primary_email, first_name: "Kim" }))
      const names = as(Effect.map(
        Contacts.use((contacts) => contacts.list({ cursor: null, page_size: 100 })),
        ({ data }) => data.flatMap(({ primary_email }) => primary_email ?? []).toSorted()
      ))
      const upsert = as(request(upserting(people), keyed("upsert-key")))
      assert.strictEqual(yield* tagOf(upsert), "StorageExhausted")
      assert.deepStrictEqual(yield* names, [])
      yield* Fixtures.mustCommit(organization_id, {
        response: { ...Fixtures.idempotencyRecord, key: IdempotencyKey.make("upsert-key"), status: null, body: null }
      })
      const { replayed, status } = yield* upsert
      assert.deepStrictEqual([status, replayed], [200, true])
      assert.deepStrictEqual(yield* names, ["a@shop.example", "b@shop.example"])
    }))
}

/** Returns whether one of three writes is rejected: bytes that are being added to the sum can be missing from it for a moment. */
const isSoonRefused = <A, E extends { readonly _tag: string }, R>(write: Effect.Effect<A, E, R>) =>
  Effect.map(
    Effect.forEach([1, 2, 3], () => tagOf(write)),
    (outcomes) => outcomes.includes("StorageExhausted")
  )

const deliveries = (it: Scene.It) => {
  it.effect("has used it up by deliveries as soon as they are stored, before any attempt", () =>
    Effect.gen(function*() {
      const { addNote, as, organization_id } = yield* makeScene
      const write = as(addNote()(keyless))
      assert.isFalse(yield* isSoonRefused(write))
      for (let index = 0; index < limits.webhooks_active_max; index++) {
        yield* Fixtures.webhook(organization_id, {
          event_types: ["contact.updated"],
          created_at: yield* DateTime.now
        })
      }
      assert.isFalse(yield* isSoonRefused(write))
      // The worker attempts none of them, because their secrets cannot be decrypted.
      yield* Scene.work
      assert.isTrue(yield* isSoonRefused(write))
    }))
}

const continued = (it: Scene.It) => {
  it.effect("still receives and delivers, reads, exports, and erases, and its operators can still act", () =>
    Effect.gen(function*() {
      const scene = yield* makeWebhookScene
      const { as, number, receiveText } = scene
      const webhook = yield* scene.subscribeWith({ event_types: ["message.received"], include_resource: true })
      yield* useUp(scene)
      yield* receiveText(`m.${number}`, "Hello")
      yield* Scene.work
      const [{ body } = { body: "" }] = yield* webhook.posted
      assert.include(body, "message_id")
      assert.notInclude(body, "Hello")
      const [delivery] = yield* webhook.deliveries
      assert.deepInclude(delivery, { status: "succeeded", response_body: null })
      const { data: [conversation] } = yield* as(
        Conversations.use((conversations) => conversations.list({ cursor: null, page_size: 9 }))
      )
      const id = ContactId.make(conversation?.contact.id ?? "")
      const exported = as(PersonalData.use((data) => Stream.mkString(data.export(id))))
      assert.include(yield* exported, "Hello")
      yield* as(PersonalData.use((data) => data.erase(id)))
      assert.notInclude(yield* exported, "Hello")
      const member = AddMember.make({ name: "Kim", email: "kim@shop.example", role: "owner" })
      const { id: created_by } = yield* as(Members.use((members) => members.add(member)))
      const key = CreateApiKey.make({ created_by, name: "key", scopes: ["tags:read"], expires: "90d" })
      const { api_key } = yield* as(ApiKeys.use((keys) => keys.create(key)))
      yield* as(ApiKeys.use((keys) => keys.revoke(api_key.id)))
      assert.isTrue(yield* isSoonRefused(as(createTag("other")(keyless))))
    }))
}

export const journeyTests = (storage: Scene.Storage) => {
  const withBudget = Layer.provide(Scene.crm(storage), Layer.succeed(StorageBudget, budget))
  it.layer(withBudget, { timeout: "5 minutes" })("an organization that has used up its storage budget", (it) => {
    refused(it)
    upserts(it)
    deliveries(it)
    continued(it)
  })
}
