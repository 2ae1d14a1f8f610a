/** Rows that the tests of commits change. */
import { assert } from "@effect/vitest"
import * as Changes from "@messaging-crm/core/Changes"
import { ContactStore } from "@messaging-crm/core/Contacts"
import { ConversationStore } from "@messaging-crm/core/Conversations"
import { IdempotencyKey, IdempotencyStore } from "@messaging-crm/core/Idempotency"
import { type ConversationId, type OrganizationId, TagId } from "@messaging-crm/core/Ids"
import { type Tag, TagStore } from "@messaging-crm/core/Tags"
import { WebhookDeliveryStore } from "@messaging-crm/core/WebhookDeliveries"
import { type ClaimedWork, WorkKind, WorkQueue } from "@messaging-crm/core/WorkQueue"
import { DateTime, Effect, Option } from "effect"
import * as Fixtures from "../Fixtures.ts"
import { after } from "../Fixtures.ts"

/** A tag that is not stored yet. */
export const newTag = (name: string) =>
  Effect.map(Fixtures.uuid, (id): Tag & { readonly name_key: string } => ({
    id: TagId.make(id),
    name,
    color: "red",
    name_key: name
  }))

/** Returns the names of the tags, in the order of the list. */
export const tagNames = (organization_id: OrganizationId) =>
  TagStore.use((store) => Effect.map(store.list(organization_id), (tags) => tags.map(({ name }) => name)))

/** Returns the contact of a thread, with its version. */
export const contactOf = (organization_id: OrganizationId, { contact_id }: Pick<Changes.Activity, "contact_id">) =>
  ContactStore.use((store) => Effect.map(store.load(organization_id, contact_id), Option.getOrThrow))

/** Returns the conversation of a thread, with its version. */
export const conversationOf = (
  organization_id: OrganizationId,
  { conversation_id }: { conversation_id: ConversationId }
) => ConversationStore.use((store) => Effect.map(store.find(organization_id, conversation_id), Option.getOrThrow))

/** Returns the deliveries to a webhook. */
export const deliveriesOf = (
  organization_id: OrganizationId,
  { id }: { readonly id: Parameters<typeof Changes.deliveryIdOf>[1] }
) => WebhookDeliveryStore.use((store) => store.list(organization_id, id, 99))

/** A touch of a thread. */
export const activity = (
  { contact_id, conversation_id }: Pick<Changes.Activity, "contact_id" | "conversation_id">,
  fields: Partial<Changes.Activity> = {}
) => Changes.touch({ conversation_id, contact_id, at: after(1), preview: "x", last_inbound_at: null, ...fields })

/** The record of a request that has an idempotency key. */
export const idempotencyRecord = {
  key: IdempotencyKey.make("a-key-of-ours"),
  fingerprint: "f".repeat(64),
  status: 201,
  body: Uint8Array.of(1, 2),
  sealed: false,
  request_id: "r-1",
  created_at: Fixtures.noon
} satisfies Changes.RecordedResponse

/** Finds the record that was stored under the key of `idempotencyRecord`. */
export const findRecord = (organization_id: OrganizationId) =>
  IdempotencyStore.use((store) => store.find(organization_id, IdempotencyKey.make(idempotencyRecord.key)))

/** Claims work of every kind, and returns what belongs to this organization. */
export const claim = Effect.fnUntraced(function*(organization_id: OrganizationId, now = after(9)) {
  const queue = yield* WorkQueue
  const all: Array<ClaimedWork> = []
  for (const kind of WorkKind.literals) {
    for (;;) {
      const token = yield* Fixtures.uuid
      const lease_until = DateTime.add(now, { seconds: 60 })
      const some = yield* queue.claim({ kind, limit: 100, now, lease_until, token })
      if (some.length === 0) break
      all.push(...some)
    }
  }
  return all.filter((claimed) => claimed.organization_id === organization_id)
})

/** Work of a lane that is not enqueued yet. */
export const newWork = (lane: string, kind: WorkKind = "send") =>
  Effect.map(Fixtures.uuid, (ref) => ({ kind, lane, ref, due_at: Fixtures.noon }))

/** A claimed item in a lane of its own. */
export const claimed = Effect.fnUntraced(function*(organization_id: OrganizationId) {
  const work = yield* newWork(yield* Fixtures.uuid)
  yield* Fixtures.write(organization_id, Changes.enqueue(work))
  const [one] = yield* claim(organization_id)
  return one ?? assert.fail("The item was not given out.")
})

/** The sorted outcomes of concurrent commits of which one succeeds and the other `count` conflict. */
export const oneCommitted = (count: number) => [...Array<string>(count).fill("Conflict"), "committed"]
