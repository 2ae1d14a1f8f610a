/** The records of a call: which calls are audited, and which responses are recorded. */
import { assert, describe, it } from "@effect/vitest"
import type { Decision } from "@messaging-crm/core/Changes"
import { type EncodedResponse, IdempotencyKey, type KeyedRequest } from "@messaging-crm/core/Idempotency"
import { ApiKeyId, MemberId, OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { Secrets } from "@messaging-crm/core/Secrets"
import { TagRows } from "@messaging-crm/core/Tags"
import { DateTime, Effect } from "effect"
import { type Call, makeReturnResponse, returnResult } from "../src/work/Decide.ts"

const tag = { id: TagId.make("01990000-0000-7000-8000-000000000004"), version: 1 }
const operator = { organization_id: OrganizationId.make("01990000-0000-7000-8000-000000000001"), member_id: null }
const client = {
  organization_id: operator.organization_id,
  member_id: MemberId.make("01990000-0000-7000-8000-000000000002"),
  key_id: ApiKeyId.make("01990000-0000-7000-8000-000000000003")
}

const context = { now: DateTime.makeUnsafe(7), uuid: () => "01990000-0000-7000-8000-000000000005" }
const changing: Decision<{ readonly id: string }> = { result: tag, changes: TagRows.update(tag, {}) }
const unchanging: Decision<{ readonly id: string }> = { result: tag, changes: TagRows.expect(tag) }

/** A call whose result shows no resource. */
const upsert = { name: "contacts.upsert" } as const

const call = (options: Partial<Call> = {}): Call => ({
  name: "tags.create",
  actor: client,
  request_id: "request",
  ...options
})

describe("an audit record", () => {
  it.effect("names the actor, the request, and the resource", () =>
    Effect.gen(function*() {
      const { records, returned } = yield* returnResult(call())(changing, context)
      assert.strictEqual(returned, tag)
      assert.deepInclude(records.audit, {
        operation: "tags.create",
        resource_id: tag.id,
        key_id: client.key_id,
        member_id: client.member_id,
        request_id: "request"
      })
    }))

  it.effect("exists for every change, and without a change for a key's call that shows the resource", () =>
    Effect.gen(function*() {
      const isAudited = (options: Partial<Call>, decision: typeof changing) =>
        Effect.map(returnResult(call(options))(decision, context), ({ records }) => records.audit !== undefined)
      for (const options of [{}, upsert, { actor: operator }]) {
        assert.isTrue(yield* isAudited(options, changing))
      }
      assert.isTrue(yield* isAudited({}, unchanging))
      assert.isFalse(yield* isAudited(upsert, unchanging))
      assert.isFalse(yield* isAudited({ actor: operator }, unchanging))
    }))
})

describe("a recorded response", () => {
  const response: EncodedResponse = { status: 201, body: "{}" }
  const record: KeyedRequest = {
    key: IdempotencyKey.make("key-00001"),
    fingerprint: "fingerprint",
    request_id: "request"
  }

  /** Returns the status in the record, and undefined without a record. */
  const recordedStatus = Effect.fnUntraced(function*(
    options: Partial<Call>,
    decision: typeof changing,
    recording: KeyedRequest | null = record
  ) {
    const returnResponse = yield* makeReturnResponse
    const respond = { encode: () => Effect.succeed(response), record: recording }
    const { records, returned } = yield* returnResponse(call(options), respond)(decision, context)
    assert.strictEqual(returned, response)
    return records.response?.status
  }, Effect.provide(Secrets.layer))

  it.effect("is that of every call with a key, whether it changes something or not, and whether it is audited or not", () =>
    Effect.gen(function*() {
      for (const options of [{}, upsert, { actor: operator }]) {
        for (const decision of [changing, unchanging]) {
          assert.strictEqual(yield* recordedStatus(options, decision), 201)
          assert.isUndefined(yield* recordedStatus(options, decision, null))
        }
      }
    }))
})
